#!/bin/bash
# Seconds from the start of the command to the first instruction of the workload, side by side
# with virtme-ng: same kernel, same QEMU, plain emulation on both sides, one CPU, 1 GiB.
# The two take turns, so that a busy host disturbs both alike. Installs nothing.
#
#   boot-versus-virtme-ng.sh KERNEL [RUNS]
#
# KERNEL   .../boot/vmlinuz-RELEASE with .../lib/modules/RELEASE beside it. virtme-ng needs 9p
#          or virtiofs in it; it may write modules.dep there.
# VNG      virtme-ng's program: pip install virtme-ng, in an environment of its own
# BUSYBOX  a static busybox, which virtme-ng packs where 9p is a module
# BOOT     this crate's `boot` example; built (release) when it is not given
set -euo pipefail

kernel=${1:?usage: boot-versus-virtme-ng.sh KERNEL [RUNS]}
runs=${2:-5}
vng=${VNG:-vng}
release=${kernel##*/vmlinuz-}
modules=$(dirname "$kernel")/../lib/modules/$release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${BOOT:-}" ]; then
    cargo build --quiet --release -p patchmark-testbox --example boot
    target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    BOOT=$(ls "$target"/*/release/examples/boot "$target"/release/examples/boot 2>/dev/null | head -n 1)
fi
PATH=$(dirname "$vng"):$PATH # virtme-ng calls its other programs by name

now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.2f", $1 - $2 }'; }
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

ours() {
    local start dir=$work/run seconds=
    rm -rf "$dir"
    start=$(now)
    TMPDIR=$work "$BOOT" tcg "$kernel" "$modules" "$dir" \
        sh -c 'echo first-instruction > /dev/ttyS0' > /dev/null 2> "$work/ours.log" &
    while kill -0 $! 2> /dev/null; do
        if [ -z "$seconds" ] && grep -qs first-instruction "$dir/console.log"; then
            seconds=$(since "$start")
        fi
        sleep 0.02
    done
    wait $!
    echo "${seconds:?$(cat "$work/ours.log")}"
}

# Verbose, as without udev in the guest virtme-ng gives a script the console and nothing else;
# `quiet` keeps the kernel from writing to that, as ours does.
theirs() {
    local start seconds line
    start=$(now)
    seconds=$(
        "$vng" --verbose --run "$kernel" --disable-kvm --force-9p ${BUSYBOX:+--busybox "$BUSYBOX"} \
            --append quiet --cpus 1 --memory 1G --exec 'echo first-instruction' 2>&1 < /dev/null |
            tee "$work/theirs.log" | while IFS= read -r line; do
                case $line in *first-instruction*) since "$start" ;; esac
            done
    ) || true # a virtme-ng that failed has said why in its log
    echo "${seconds:?$(cat "$work/theirs.log")}"
}

# Once each unmeasured: ours packs and unpacks, virtme-ng indexes the modules.
ours > /dev/null
theirs > /dev/null
for run in $(seq "$runs"); do
    a=$(ours)
    b=$(theirs)
    echo "$a" >> "$work/ours"
    echo "$b" >> "$work/theirs"
    echo "run $run: patchmark $a s, virtme-ng $b s"
done
a=$(median "$work/ours")
b=$(median "$work/theirs")
echo "$release, $(qemu-system-x86_64 --version | head -n 1), $("$vng" --version)"
echo "$a $b" | awk '{ printf "median: patchmark %.2f s, virtme-ng %.2f s, ratio %.2f\n", $1, $2, $1 / $2 }'
