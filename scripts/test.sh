#!/bin/sh
# Everything that is checked before a change lands: format, lints, unit, conformance and golden
# tests, documentation, and one real comparison of two kernels in VMs.
set -eu
cd "$(dirname "$0")/.."

scripts/setup.sh
cargo fmt --all --check
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo test --workspace --locked
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
scripts/end-to-end.sh
