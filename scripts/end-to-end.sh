#!/bin/sh
# One real comparison of two kernels in VMs, short, and what must be true of its answer.
set -eu
cd "$(dirname "$0")/.."

cargo build --release --locked
patchmark=$PWD/target/x86_64-unknown-linux-gnu/release/patchmark
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATCHMARK_STORE="$work/store"

fail() {
    echo "end-to-end: $*" >&2
    exit 1
}

"$patchmark" doctor || [ $? -le 3 ]
"$patchmark" kernel fetch deb:6.1-cloud deb:7.3-cloud

# Every way a guest can end: panic, out of memory, no init, a failing workload, a serial line only.
image=$("$patchmark" kernel fetch deb:6.1-cloud --json --quiet |
    python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["image"])')
PATCHMARK_TEST_KERNEL="$image" cargo test --quiet --locked -p patchmark-testbox --test real_vm

# Killed in the middle it leaves no machine behind, and the next start goes on.
"$patchmark" compare deb:6.1-cloud deb:7.3-cloud --job jobs/stress-ng-sockfd.yaml \
    --clock icount --runs 2 --json > /dev/null 2> "$work/killed.txt" &
victim=$!
sleep 8
kill -KILL "$victim"
wait "$victim" 2> /dev/null || true
sleep 1
! pgrep -f "qemu.*$work" > /dev/null || fail "a virtual machine outlives its killed parent"

# A host that reads nothing for a while loses no run.
"$patchmark" run jobs/stress-ng-sockfd.yaml --set testtime=3s --kernel deb:6.1-cloud --clock icount \
    > /dev/null 2> "$work/stopped.txt" &
busy=$!
sleep 5
kill -STOP "$busy"
sleep 15
kill -CONT "$busy"
wait "$busy" || fail "a run was lost while the host did not read: $(tail -n 1 "$work/stopped.txt")"

# The two kernels differ truly in the path length of passing descriptors: about +6% operations.
"$patchmark" compare deb:6.1-cloud deb:7.3-cloud --job jobs/stress-ng-sockfd.yaml \
    --clock icount --runs 2 --json > "$work/report.json"
python3 - "$work/report.json" <<'PY' || fail "the comparison is not what it should be"
import json, sys
report = json.load(open(sys.argv[1]))[0]
columns = report["columns"]
assert [column["complete_runs"] for column in columns] == [2, 2], columns
metrics = {metric["name"]: metric for metric in report["metrics"]}
ops = metrics["stress-ng.sockfd.ops_per_sec"]
effect = ops["verdicts"][0]["effect"]
assert effect["unit"] == "percent" and 3 < effect["estimate"] < 10, effect
assert len(metrics) > 300, len(metrics)
print(f"end-to-end: {len(metrics)} metrics, ops_per_sec {effect['estimate']:+.2f}%")
PY

# The second time nothing is run: the runs are taken from the store.
"$patchmark" compare deb:6.1-cloud deb:7.3-cloud --job jobs/stress-ng-sockfd.yaml \
    --clock icount --runs 2 --format lkp > "$work/table.txt"
grep -q 'stress-ng.sockfd.ops_per_sec' "$work/table.txt" || fail "the table lacks the headline metric"
runs=$("$patchmark" results list | grep -c finished)
[ "$runs" -eq 5 ] || fail "$runs runs in the store, not 5"

# A kernel that panics fails with a reason, in a bounded time.
code=0
"$patchmark" testbox check deb:6.1-cloud --clock icount --cmdline 'rdinit=/nowhere init=/nowhere' \
    > "$work/panic.txt" || code=$?
[ "$code" -eq 4 ] || fail "a panic ended with exit code $code"
grep -q 'kernel_panic' "$work/panic.txt" || fail "a panic was not called one"
echo "end-to-end: ok"
