#!/usr/bin/env bash
# Runs docker-compose.yml for real: everything up, a row changed with psql and
# seen through the cache, one container of each kind killed and back, the nodes
# replaced one by one under load, Debezium in the relay's place, and what users
# do wrong. It ends with an error at the first thing that is not as it should be.
#
#     testdata/compose/verify.sh | tee testdata/compose/transcript.txt
#
#     --quick   make the image of a binary that is built here, in seconds; without,
#               cmd/freshet/Dockerfile builds it, in minutes
#     --there   only where an engine runs already and has the images; else say so
#               and end without an error
#     CHAPTER…  only these of seen_to_change, crashes, killed, under_load, debezium
#               and mistakes; without, all of them, in this order
#
# It runs as root on Linux, and needs redis-cli, Python and Go. See engine.sh for
# what it starts and builds. The ports of docker-compose.yml have to be free.
set -euo pipefail
cd "$(dirname "$0")/../.."
quick= only_there= chapters= ours= work=$(mktemp -d)
for flag; do
	case $flag in
	--quick) quick=1 ;;
	--there) only_there=1 ;;
	seen_to_change | crashes | killed | under_load | debezium | mistakes) chapters="$chapters $flag" ;;
	*) echo "verify.sh: no such flag or chapter: $flag" >&2; exit 2 ;;
	esac
done
# A project of its own: the volumes of whoever tries the stack here stay.
export COMPOSE_PROJECT_NAME=freshet-verify COMPOSE_FILE=docker-compose.yml COMPOSE_PROGRESS=quiet COMPOSE_ANSI=never
. testdata/compose/engine.sh

finish() {
	local status=$?
	exec 9>&- # the readers end
	if [ -n "$ours" ]; then
		[ $status = 0 ] || docker compose --profile load --profile debezium logs --tail 10 2>&1 | tail -100 || true
		docker compose --profile load --profile debezium down --volumes --timeout 5 >/dev/null 2>&1 || true
	fi
	kill $(jobs -p) 2>/dev/null || true # the engine, if it is ours, and what a chapter left
	wait
	rm -rf "$work"
	exit $status
}
trap finish EXIT

# title WORDS begins a chapter.
title() { printf '\n## %s\n' "$*"; }

# told COMMAND… shows a command, and what it prints without the folders of this
# machine and the colours of this terminal.
told() {
	printf '\n$ %s\n' "$*"
	"$@" 2>&1 | sed "s|$work|…|g; s|$PWD|.|g"
}

# refused COMMAND… is told, of a command that has to fail.
refused() { ! told "$@" || { echo 'it should have failed'; return 1; }; }

# within SECONDS WHAT COMMAND… repeats a command until it succeeds.
within() {
	local deadline=$((SECONDS + $1)) start=$SECONDS what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || { printf 'not in time: %s\n' "$what"; "$@" || true; return 1; }
		sleep 0.2
	done
	printf '# %s, after %d s\n' "$what" $((SECONDS - start))
}

not_run() {
	printf '\nNOT RUN: docker-compose.yml was not run: %s\n' "$1"
}

# all_there reports whether an engine runs and has what is needed.
all_there() {
	local i
	docker info >/dev/null 2>&1 || { not_run 'no container engine runs here; testdata/compose/verify.sh starts one where it can'; return 1; }
	docker compose version >/dev/null 2>&1 || { not_run 'docker compose is missing; testdata/compose/verify.sh builds it'; return 1; }
	for i in "${images[@]}"; do
		there "$i" || { not_run "the image $i is missing; testdata/compose/verify.sh fetches or builds it"; return 1; }
	done
}

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
	within 5 "the nodes answer $1" seen "$@"
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

# crashed SERVICE VALUE kills the process of a container, as a crash would, and
# waits until the engine has started it again and all is well.
crashed() {
	printf '\n# kill -9 of %s\n' "$1"
	was=$(state "$1" Pid)
	kill -9 "$was"
	within 120 "$1 was started again, and is well" healthy "$1"
	within 60 'the nodes and the relay miss nothing' sound
	changed "$2" 6400 6401 6402
}

# replaced N has a new container take a node's place.
replaced() {
	docker compose up --detach --force-recreate --no-deps --wait "node-$1"
	printf '# node-%s is a new one, and well\n' "$1"
}

# with YAML has compose use a part of a file besides.
with() { printf '%s\n' "$1" >"$work/changed.yml"; COMPOSE_FILE=$COMPOSE_FILE:$work/changed.yml; }

seen_to_change() {
	title 'Up, a row changed, the change seen'
	start=$SECONDS
	told docker compose up --detach --wait
	printf '# up and well after %d s\n' $((SECONDS - start))
	told docker compose ps --format '{{.Service}} {{.Status}}'
	told redis-cli -p 6400 GET users:42
	told redis-cli -p 6400 HGET users:42 city
	told docker compose exec -T postgres psql -U postgres shop -c "UPDATE users SET city = 'Evora' WHERE id = 42"
	within 2 'each node shows it' seen Evora 6400 6401 6402
	told redis-cli -p 6401 HGET users:42 city
	told redis-cli -p 6402 HSET users:42 city Braga
	within 2 'a write through one node is seen at each' seen Braga 6400 6401 6402
	told docker compose exec -T node-1 /freshet healthcheck
}

crashes() {
	title 'One of each kind crashes: the engine starts it again'
	docker compose up --detach --wait
	crashed node-1 Lagos
	crashed relay Tomar
	crashed kafka Sines
	crashed postgres Lousa
	crashed prometheus Obidos
}

killed() {
	title 'What docker kill ended stays down until the next up'
	docker compose up --detach --wait
	told docker kill freshet-verify-node-2-1
	told docker compose up --detach --wait node-2
	told docker compose ps --format '{{.Service}} {{.Status}}' node-2
	changed Viseu 6400 6401 6402
}

under_load() {
	title 'Under load, each node replaced by a new one'
	docker compose up --detach --wait
	told docker compose --profile load up --detach --wait
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
	within 60 'the dashboard has what it asks for' python3 testdata/compose/dashboard.py
	python3 testdata/compose/dashboard.py
	docker compose --profile load rm --stop --force writers readers >/dev/null
}

debezium() {
	title 'Debezium in the place of the relay'
	docker compose down --timeout 15
	start=$SECONDS
	told docker compose --profile debezium up --detach --wait node-debezium
	printf '# up and well after %d s\n' $((SECONDS - start))
	told docker compose --profile debezium ps --all --format '{{.Service}} {{.Status}}'
	changed Faro 6403
	was=$(state connect Pid)
	printf '\n# kill -9 of connect\n'
	kill -9 "$was"
	within 120 'connect was started again, and is well' healthy connect
	within 60 'the node misses nothing' follows
	changed Loule 6403
	told docker compose run --rm --no-deps -T node-debezium doctor --config /etc/freshet/freshet.yaml \
		--connect http://connect:8083 --node node-debezium:6480 >"$work/doctor" || [ $? = 3 ] # warnings
	grep -E '^(\$|ERROR|WARNING|bound|it works)' "$work/doctor"
	docker compose --profile debezium down --timeout 15
}

mistakes() {
	title 'What goes wrong, and what is said'
	docker compose up --detach --wait
	docker compose stop node-1
	python3 -m http.server --bind 127.0.0.1 6400 >/dev/null 2>&1 &
	taken=$!
	within 5 'something else has port 6400' bash -c '</dev/tcp/127.0.0.1/6400'
	refused docker compose up --detach --wait node-1
	told env PORT_6400=16400 docker compose up --detach --wait node-1
	told redis-cli -p 16400 PING
	kill $taken
	before=$COMPOSE_FILE
	sed 's/bound: 500ms/bounds: 500ms/' testdata/compose/freshet.yaml >"$work/wrong.yaml"
	with "services: {node-3: {volumes: ['$work/wrong.yaml:/etc/freshet/freshet.yaml:ro']}}"
	printf '\n# a configuration with "bounds" in it is mounted into node-3\n'
	refused docker compose up --detach --wait node-3
	told docker compose logs --no-log-prefix --tail 1 node-3
	COMPOSE_FILE=$before
	with "services: {node-3: {mem_limit: 24m}}"
	printf '\n# node-3 may have 24 MB, whether it is well or not\n'
	docker compose up --detach --wait node-3 || true
	told docker compose logs --no-log-prefix node-3 >"$work/said"
	grep -m 2 -E '^\$|memory.budget' "$work/said"
	grep -q 'raise the container' "$work/said"
	COMPOSE_FILE=$before
	told docker compose up --detach --wait node-3
}

[ -z "$only_there" ] || all_there || exit 0
need_engine
need_compose
need_images
need_grafana
[ -z "$(docker compose ps --all --quiet)" ] || {
	echo "the project $COMPOSE_PROJECT_NAME is there: this runs elsewhere, or was killed; in that case: docker compose -p $COMPOSE_PROJECT_NAME down --volumes" >&2
	exit 1
}
ours=1
start=$SECONDS
built
how=${quick:+of a binary built here}
how=${how:-by its Dockerfile}
size=$(docker save freshet | gzip -9 | wc -c)
printf '# the image of freshet was built %s in %d s; it has %d.%d MB compressed\n' \
	"$how" $((SECONDS - start)) $((size / 1000000)) $((size / 100000 % 10))
[ "$size" -le 40000000 ]
printf '# load of this machine: %s on %s cores\n' "$(cut -d' ' -f1-3 /proc/loadavg)" "$(nproc)"

for chapter in ${chapters:-seen_to_change crashes killed under_load debezium mistakes}; do
	$chapter
done
printf '\n# all of it held, in %d s\n' $SECONDS
