//! How fast raw files are read. Run by hand:
//! `cargo test --release -p patchmark-metrics --test throughput -- --ignored --nocapture`

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use patchmark_metrics::{ParseOptions, parse, programs};

#[test]
#[ignore = "a measurement, not a test"]
fn megabytes_per_second_of_each_program() {
    const SIZE: usize = 16 << 20;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for program in programs() {
        let piece = std::fs::read(folder.join(format!("{program}.txt"))).unwrap();
        let bytes = piece.repeat(SIZE / piece.len() + 1);
        let start = Instant::now();
        let parsed = parse(program, &bytes, &ParseOptions::default()).unwrap();
        let speed = bytes.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
        println!("{program:28} {speed:7.0} MB/s, {} metrics", parsed.samples.len());
    }
}
