#!/bin/sh
# The main job on real input: builds Patchmark and compares two Debian kernels in VMs.
set -eu
cd "$(dirname "$0")/.."

now() { date +%s; }
began=$(now)
scripts/setup.sh
ready=$(now)
cargo build --release --locked
built=$(now)

patchmark=target/x86_64-unknown-linux-gnu/release/patchmark
"$patchmark" kernel fetch deb:6.1-cloud deb:7.3-cloud
fetched=$(now)
"$patchmark" compare deb:6.1-cloud deb:7.3-cloud --job jobs/stress-ng-sockfd.yaml --runs 5
measured=$(now)

echo "seconds: packages $((ready - began)), build $((built - ready)), fetch $((fetched - built))," \
    "measure $((measured - fetched)), in all $((measured - began))" >&2
