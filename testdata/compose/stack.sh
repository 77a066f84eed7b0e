# For verify.sh: the chapters about the stack while all is as it should be, but
# for what crashes.

sql() { docker compose exec -T postgres psql --username=postgres --dbname=shop --quiet --command "$1"; }

# seen VALUE PORT… reports whether nodes answer with a value.
seen() {
	local value=$1 port
	shift
	for port; do
		[ "$(redis-cli -p "$port" HGET users:42 city)" = "$value" ] || return 1
	done
}

# changed VALUE PORT… changes a row in the database, and waits until nodes show it.
changed() {
	sql "UPDATE users SET city = '$1' WHERE id = 42"
	within $patience "the nodes answer $1" seen "$@"
}

state() { docker inspect --format "{{.State.$2}}" "freshet-verify-$1-1"; }
started() { [ "$(state "$1" Pid)" -gt 1 ] && [ "$(state "$1" Pid)" != "$was" ]; }
healthy() { started "$1" && { ! state "$1" Health.Status >/dev/null 2>&1 || [ "$(state "$1" Health.Status)" = healthy ]; }; }

# sound reports whether nodes and the relay are ready and miss nothing.
sound() {
	local n
	for n in node-1 node-2 node-3; do
		[ "$(docker compose exec -T $n /freshet healthcheck)" = ready ] || return 1
	done
	[ "$(docker compose exec -T relay /freshet healthcheck --admin 127.0.0.1:6481)" = ready ]
}

# follows reports likewise of the node that follows Debezium.
follows() { [ "$(docker compose exec -T node-debezium /freshet healthcheck)" = ready ]; }

# killed SERVICE kills the process of a container, as a crash would, and waits
# until the engine has started it again.
killed() {
	printf '\n# kill -9 of %s\n' "$1"
	was=$(state "$1" Pid)
	kill -9 "$was"
	within $patience "$1 was started again, and is well" healthy "$1"
}

# crashed SERVICE VALUE is killed, and waits until all is well.
crashed() {
	killed "$1"
	within $patience 'the nodes and the relay miss nothing' sound
	changed "$2" 6400 6401 6402
}

# replaced N has a new container take a node's place.
replaced() {
	docker compose up --detach --force-recreate --no-deps --wait "node-$1"
	printf '# node-%s is a new one, and well\n' "$1"
}

# up is the stack, up and well, and how long that took.
up() {
	start=$SECONDS
	said 'docker compose up --detach --wait'
	printf '# up and well after %d s; load of this machine: %s on %s cores\n' $((SECONDS - start)) "$(cut -d' ' -f1-3 /proc/loadavg)" "$(nproc)"
}

# as_the_readme_says runs the commands of README.md, as they stand there.
as_the_readme_says() {
	title 'Up, a row changed, the change seen: the commands are those of README.md'
	local command psql=
	python3 testdata/compose/written.py README.md >"$work/commands"
	while read -r command <&7; do
		case $command in
		'docker compose up '*)
			up
			[ "$command" = 'docker compose up --detach --wait' ]
			told docker compose ps --format '{{.Service}} {{.Status}}'
			;;
		*psql*)
			psql=1
			printf '\n# on its input: %s\n' "$update"
			said "$command" <<<"$update"
			;;
		*) said "$command" </dev/null ;;
		esac
	done 7<"$work/commands"
	[ -n "$psql" ] || { echo 'README.md has no psql any more'; return 1; }
	within $patience 'each node shows it' seen Evora 6400 6401 6402
	told redis-cli -p 6401 HGET users:42 city
	told redis-cli -p 6402 HSET users:42 city Braga
	within $patience 'a write through one node is seen at each' seen Braga 6400 6401 6402
	told docker compose exec -T node-1 /freshet healthcheck
	printf '\n# down, and up again with what is in its volumes\n'
	docker compose down --timeout 15
	up
	within $patience 'what was written is there' seen Braga 6400 6401 6402
}
update="UPDATE users SET city = 'Evora' WHERE id = 42;"

crashes() {
	title 'One of each kind crashes: the engine starts it again'
	docker compose up --detach --wait
	crashed node-1 Lagos
	crashed relay Tomar
	crashed kafka Sines
	crashed postgres Lousa
	crashed prometheus Obidos
}

stopped() {
	title 'What docker kill ended stays down until the next up'
	docker compose up --detach --wait
	told docker kill freshet-verify-node-2-1
	said 'docker compose up --detach --wait node-2'
	told docker compose ps --format '{{.Service}} {{.Status}}' node-2
	changed Viseu 6400 6401 6402
}

under_load() {
	title 'Under load, each node replaced by a new one'
	docker compose up --detach --wait
	said 'docker compose --profile load up --detach --wait'
	killed writers
	killed readers
	mkfifo "$work/hold"
	python3 testdata/compose/readers.py 6400 6401 6402 <"$work/hold" &
	readers=$!
	exec 9>"$work/hold"
	for n in 1 2 3; do
		replaced $n
	done
	changed Silves 6400 6401 6402
	exec 9>&-
	wait $readers
	rm "$work/hold"
	within $patience 'the dashboard has what it asks for' python3 testdata/compose/dashboard.py
	python3 testdata/compose/dashboard.py
	docker compose --profile load rm --stop --force writers readers >/dev/null
}

debezium() {
	title 'Debezium in the place of the relay'
	docker compose --profile load down --timeout 15
	start=$SECONDS
	said 'docker compose --profile debezium up --detach --wait node-debezium'
	printf '# up and well after %d s; load of this machine: %s\n' $((SECONDS - start)) "$(cut -d' ' -f1-3 /proc/loadavg)"
	told docker compose --profile debezium ps --all --format '{{.Service}} {{.Status}}'
	changed Faro 6403
	killed connect
	within $patience 'the node misses nothing' follows
	changed Loule 6403
	told docker compose run --rm --no-deps -T node-debezium doctor --config /etc/freshet/freshet.yaml \
		--connect http://connect:8083 --node node-debezium:6480 >"$work/doctor" || [ $? = 3 ] # warnings
	grep -E '^(\$|ERROR|WARNING|bound|it works)' "$work/doctor"
	docker compose --profile debezium down --timeout 15
}
