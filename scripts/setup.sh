#!/bin/sh
# Installs the Debian packages that Patchmark's build, its VMs and its benchmarks need.
# Packages that are there already are left alone.
set -eu

packages="gcc libc6-dev procps python3 kmod make git ca-certificates qemu-system-x86 seabios stress-ng rt-tests linux-perf"

missing=""
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: these packages are missing; install them as root, then start again:" >&2
        echo "    apt-get install --no-install-recommends$missing" >&2
        exit 2
    fi
    echo "setup: installing$missing" >&2
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words is meant
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: cargo is missing; install Rust 1.89 or newer from https://rustup.rs, then start again" >&2
    exit 2
fi
