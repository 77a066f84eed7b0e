# For verify.sh: the chapters about the image of Freshet.

# of NAME prints a metric of node-1.
of() { docker compose exec -T prometheus wget -q -O - http://node-1:6480/metrics | sed -n "s/^$1 //p" | head -1; }

# whole NUMBER… prints numbers such as 2.34881024e+08 as whole ones.
whole() { printf '%.0f\n' "$@"; }

# log_of SERVICE
log_of() { docker compose logs --no-log-prefix "$1" 2>&1; }

# what_is_in_it looks at the layers, without running them.
what_is_in_it() {
	title 'The image: what is in it'
	local size files
	size=$(docker save freshet | gzip -9 | wc -c)
	printf '# %d.%d MB compressed\n' $((size / 1000000)) $((size / 100000 % 10))
	[ "$size" -le 40000000 ]
	docker create --name freshet-verify-image freshet >/dev/null
	docker export freshet-verify-image | tar -C "$work" --one-top-level=image -x
	docker rm freshet-verify-image >/dev/null
	# What Docker puts into each container itself is not of the image.
	files=$(cd "$work/image" && find . -type f -size +0 | sort)
	printf '# its files: %s\n' "$(echo $files)"
	[ "$(printf '%s\n' "$files" | grep -vcE '^\./(freshet|etc/ssl/certs/ca-certificates\.crt|usr/share/doc/freshet/sbom\.cdx\.json)$')" = 0 ]
	printf '# the binary is static: %s\n' "$(ldd "$work/image/freshet" 2>&1 | sed 's/^[[:space:]]*//')"
	! ldd "$work/image/freshet" >/dev/null 2>&1
	printf '# %d certificates of authorities\n' "$(grep -c BEGIN "$work/image/etc/ssl/certs/ca-certificates.crt")"
	[ "$(grep -c BEGIN "$work/image/etc/ssl/certs/ca-certificates.crt")" -ge 50 ]
	if [ -z "$quick" ]; then
		python3 testdata/compose/sbom.py "$work/image/usr/share/doc/freshet/sbom.cdx.json" <(go version -m "$work/image/freshet")
	else
		echo '# the list of what it is made of: not of a binary built here'
	fi
	[ -z "$(find "$work/image" -newermt 1970-01-02 -type f -size +0)" ] || [ -n "$quick" ] # they have no time of their own
	docker save freshet | testdata/compose/timeless.py --digests
	told docker image inspect freshet --format 'user {{.Config.User}}, stopped by {{.Config.StopSignal}}, asked by {{.Config.Healthcheck.Test}}'
	[ "$(docker image inspect freshet --format '{{.Config.User}} {{.Config.StopSignal}}')" = '65532:65532 SIGTERM' ]
	rm -rf "$work/image"
}

# how_it_runs looks at a node of the stack.
how_it_runs() {
	title 'The image: how it runs'
	docker compose up --detach --wait
	printf '# node-1 runs as user %s; its health is asked by the binary: %s\n' \
		"$(awk '/^Uid/ { print $2 }' "/proc/$(state node-1 Pid)/status")" "$(state node-1 Health.Status)"
	[ "$(awk '/^Uid/ { print $2 }' "/proc/$(state node-1 Pid)/status")" = 65532 ]
	printf '# with 256 MB the collector keeps to %s bytes\n' "$(whole "$(of go_gc_gomemlimit_bytes)")"
	[ "$(whole "$(of go_gc_gomemlimit_bytes)")" -lt $((256 * 1024 * 1024)) ]

	local before=$COMPOSE_FILE cores
	with "services: {node-1: {mem_limit: 160m, cpus: 2, environment: {TZ: Europe/Berlin}}}"
	docker compose up --detach --wait node-1
	printf '# with 160 MB to %s bytes, nine tenths\n' "$(whole "$(of go_gc_gomemlimit_bytes)")"
	[ "$(whole "$(of go_gc_gomemlimit_bytes)")" = $((160 * 1024 * 1024 / 10 * 9)) ]
	cores=$(whole "$(of go_sched_gomaxprocs_threads)")
	printf '# with two CPUs, on %s cores, it runs on %s\n' "$(nproc)" "$cores"
	[ "$cores" -le 2 ]
	printf '# with TZ=Europe/Berlin its log says: %s\n' "$(log_of node-1 | tail -1)"
	log_of node-1 | grep -E '^time=[^ ]*\+0[12]:00 ' >/dev/null # -q would end what writes to it

	# A client holds a connection when the node is told to end.
	start=$SECONDS
	mkfifo "$work/idle"
	redis-cli -p 6400 <"$work/idle" >/dev/null 2>&1 &
	exec 8>"$work/idle"
	echo PING >&8
	said 'docker compose stop node-1'
	printf '# it ended with status %s after %d s, and said: %s\n' "$(state node-1 ExitCode)" $((SECONDS - start)) \
		"$(log_of node-1 | grep -m 1 'node drains')"
	[ "$(state node-1 ExitCode)" = 0 ]
	log_of node-1 | grep 'node drains' >/dev/null
	exec 8>&-
	wait $!
	COMPOSE_FILE=$before
	docker compose up --detach --wait node-1
}

# reproduced builds the image twice from nothing, in folders of their own, and
# compares what timeless.py makes of each.
reproduced() {
	title 'The image, built twice from nothing'
	local n start
	for n in 1 2; do
		start=$SECONDS
		git clone -q . "$work/source$n"
		build ${GO_IMAGE:+--build-arg GO_IMAGE} --no-cache -f "$work/source$n/cmd/freshet/Dockerfile" -t "freshet-verify:$n" "$work/source$n"
		rm -rf "$work/source$n"
		docker save "freshet-verify:$n" | testdata/compose/timeless.py --digests | tee "$work/digests$n"
		printf '# built in %d s\n' $((SECONDS - start))
	done
	cmp "$work/digests1" "$work/digests2"
	docker save freshet-verify:1 | testdata/compose/timeless.py | docker load >/dev/null
	[ "# image $(docker image inspect freshet-verify:1 --format '{{.Id}}')" = "$(head -1 "$work/digests2")" ]
	echo '# both are the same image, also to the engine'
	docker image rm freshet-verify:1 freshet-verify:2 >/dev/null
}
