#!/usr/bin/env bash
# Runs docker-compose.yml for real: everything up and a row changed by the
# commands of README.md, one container of each kind killed and back, the nodes
# replaced one by one under load, Debezium in the relay's place, the image, and
# what users do wrong. It ends with an error at the first thing that is not as it
# should be.
#
#     testdata/compose/verify.sh | tee testdata/compose/transcript.txt
#
#     --quick     make the image of a binary that is built here, in seconds;
#                 without, cmd/freshet/Dockerfile builds it, in minutes
#     --within S  take about S seconds: what cannot be had or begun in that time
#                 is said loudly, and is no error; what runs has to be right
#     --images    only have the images
#     CHAPTER…    only these; without, all of them
#
# It runs as root on Linux, and needs redis-cli, Python and Go. See engine.sh for
# what it starts and builds. The ports of docker-compose.yml have to be free.
set -euo pipefail
cd "$(dirname "$0")/../.."
all='as_the_readme_says what_is_in_it crashes how_it_runs stopped under_load mistakes debezium reproduced'
quick= limit= images= chapters= ours= work=$(mktemp -d)
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 ;;
	--within) limit=$2 && shift ;;
	--images) images=1 ;;
	*)
		[[ " $all " = *" $1 "* ]] || { echo "verify.sh: no such flag or chapter: $1; chapters: $all" >&2; exit 2; }
		chapters="$chapters $1"
		;;
	esac
	shift
done
stack='docker-compose.yml was not run'
patience=300 # seconds, for what takes few unless the machine is busy
# A project of its own: the volumes of whoever tries the stack here stay.
export COMPOSE_PROJECT_NAME=freshet-verify COMPOSE_FILE=docker-compose.yml COMPOSE_PROGRESS=quiet COMPOSE_ANSI=never
for part in engine image stack mistakes; do
	. testdata/compose/$part.sh
done

finish() {
	local status=$?
	exec 8>&- 9>&- # those that read and wait end
	if [ -n "$ours" ]; then
		[ $status = 0 ] || docker compose --profile load --profile debezium logs --tail 10 2>&1 | tail -100 || true
		docker compose --profile load --profile debezium down --volumes --timeout 5 >/dev/null 2>&1 || true
	fi
	kill $(jobs -p) 2>/dev/null || true # the engine, if it is ours, and what a chapter left
	wait
	grep -o " $work/[^ ]*" /proc/mounts | sort -r | xargs -r umount --lazy || true # of a debootstrap that was ended
	rm -rf "$work"
	exit $status
}
trap finish EXIT

# title WORDS begins a chapter.
title() { printf '\n## %s\n' "$*"; }

# not_run WHAT WHY is loud.
not_run() { printf '\nNOT RUN: %s: %s\n' "$1" "$2"; }

# plain leaves out the folders of this machine.
plain() { sed "s|$work|…|g; s|$PWD|.|g"; }

# told COMMAND… shows a command, and what it prints; said LINE is of one line for
# a shell.
told() {
	printf '\n$ %s\n' "$*" | plain
	"$@" 2>&1 | plain
}
said() {
	printf '\n$ %s\n' "$1" | plain
	bash -c "$1" 2>&1 | plain
}

# refused LINE is said, of a line that has to fail.
refused() { ! said "$1" || { echo 'it should have failed'; return 1; }; }

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

# with YAML has compose use a part of a file besides, until COMPOSE_FILE is what
# is whole again.
with() { printf '%s\n' "$1" >"$work/changed.yml"; COMPOSE_FILE=$whole:$work/changed.yml; }

# prepared has compose and the images. Within a limit they are had by a process
# of its own, which can be ended.
prepared() {
	local left status=0
	[ -n "$limit" ] || { need_compose; need_images; return; }
	left=$((limit * 6 / 10 - SECONDS))
	timeout --kill-after=10 $((left > 1 ? left : 1)) "$0" --images ${quick:+--quick} || status=$?
	[ $status != 0 ] || return 0
	[ $status = 124 ] && not_run "$stack" "docker compose and the images were not there within $((limit * 6 / 10)) s; testdata/compose/verify.sh --images builds them" ||
		not_run "$stack" 'its images cannot be had here, and above is why'
	exit 0
}

need_engine || { [ -n "$limit" ] && exit 0; exit 1; }
prepared
[ -z "$images" ] || exit 0
need_grafana
whole=$COMPOSE_FILE
[ -z "$(docker compose ps --all --quiet)" ] || {
	echo "the project $COMPOSE_PROJECT_NAME is there: this runs elsewhere, or was killed; in that case: docker compose -p $COMPOSE_PROJECT_NAME down --volumes" >&2
	exit 1
}
ours=1
start=$SECONDS
built
how=${quick:+of a binary built here}
printf '# the image of freshet was built %s in %d s\n' "${how:-by its Dockerfile}" $((SECONDS - start))

for chapter in ${chapters:-$all}; do
	if [ -n "$limit" ] && [ $SECONDS -gt $((limit - 90)) ]; then
		not_run "$chapter" "$SECONDS of $limit s are over"
	elif [ -n "$quick" ] && [ $chapter = reproduced ]; then
		not_run "$chapter" 'it takes two builds from nothing; testdata/compose/verify.sh without --quick does it'
	else
		$chapter
	fi
done
printf '\n# all that ran held, in %d s\n' $SECONDS
