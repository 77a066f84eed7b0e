#!/usr/bin/env bash
# Checks what is here without a cluster: each overlay is built by kustomize and
# compared with the schemas of Kubernetes' API by kubectl-validate, each unit is
# checked by systemd-analyze. What each of them must refuse is tried too. A tool
# that is missing, and cannot be built, is said loudly; what is wrong is an error.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
api=1.30 # the oldest that has all that is used: sleep before a stop

# need NAME MODULE@VERSION builds a tool with Go, unless it is there, in ten
# minutes at most.
need() {
	! command -v "$1" >/dev/null || return 0
	GOFLAGS= GOBIN= timeout 600 go install "$2" >"$work/install" 2>&1 || {
		tail -3 "$work/install"
		printf '\nNOT RUN: %s is missing, and cannot be built: the manifests were not checked\n' "$1"
		return 1
	}
}

# kustomized OVERLAY prints an overlay's manifests. kubectl has kustomize in it.
kustomized() {
	if command -v kustomize >/dev/null; then kustomize build "$1"; else kubectl kustomize "$1"; fi
}

# valid FILE compares manifests with the schemas.
valid() { kubectl-validate --version "$api" "$1" >"$work/said" 2>&1; }

overlays() {
	local o
	for o in overlays/*; do
		kustomized "$o" >"$work/manifests.yaml"
		valid "$work/manifests.yaml" || { echo "$o:"; cat "$work/said"; return 1; }
		printf '%s: %s are valid in Kubernetes %s\n' "$o" "$(grep -c '^kind:' "$work/manifests.yaml") manifests" "$api"
	done
	sed 's/maxUnavailable: 1/maxUnavailabel: 1/' "$work/manifests.yaml" >"$work/wrong.yaml"
	! valid "$work/wrong.yaml" || { echo 'kubectl-validate accepts a budget with maxUnavailabel'; return 1; }
}

# units are checked with a program that is there in the place of freshet. Above
# 2.0 of 10 systemd calls a service exposed more than these are.
units() {
	local u
	for u in systemd/*.service; do
		sed 's|^ExecStart=/usr/local/bin/freshet|ExecStart=/bin/true|' "$u" >"$work/${u##*/}"
		systemd-analyze verify --man=no "$work/${u##*/}" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
		[ ! -s "$work/said" ] || { cat "$work/said"; return 1; }
		systemd-analyze security --offline=true --threshold=20 "$u" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
		printf '%s: %s\n' "$u" "$(grep -o 'exposure level.*[0-9] [A-Z]*' "$work/said")"
	done
	sed 's/^ProtectSystem=strict$/ProtectSystem=strictly/; s|^ExecStart=.*|ExecStart=/bin/true|' "$u" >"$work/wrong.service"
	[ -n "$(systemd-analyze verify --man=no "$work/wrong.service" 2>&1)" ] || { echo 'systemd-analyze accepts ProtectSystem=strictly'; return 1; }
}

PATH=$PATH:$(go env GOPATH 2>/dev/null || true)/bin
if { command -v kubectl >/dev/null || need kustomize sigs.k8s.io/kustomize/kustomize/v5@v5.8.0; } &&
	need kubectl-validate sigs.k8s.io/kubectl-validate@v0.0.4; then
	overlays
fi
if command -v systemd-analyze >/dev/null; then
	units
else
	printf '\nNOT RUN: systemd-analyze is missing: the units were not checked\n'
fi
