//! Raw files of this crate's own (`tests/fixtures/<program>.txt`, recorded with the tools and
//! kernel files they are named after, or written by hand in their form) and the metrics made of
//! them. The snapshots were checked against the files by hand.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;

use patchmark_metrics::{ParseOptions, parse, programs, reduce};

/// One line per metric, then strings and notes.
fn summary(program: &str, bytes: &[u8]) -> String {
    let options = ParseOptions::default();
    let parsed = parse(program, bytes, &options).unwrap();
    let mut text = String::new();
    for (metric, number) in reduce(program, &parsed.samples, &options) {
        writeln!(text, "{metric} = {number}").unwrap();
    }
    for (name, values) in &parsed.strings {
        writeln!(text, "string {name} = {values:?}").unwrap();
    }
    for note in parsed.notes.kept() {
        writeln!(text, "note on line {}: {}", note.line, note.text).unwrap();
    }
    text
}

#[test]
fn each_program_makes_the_metrics_of_its_fixture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for program in programs() {
        let bytes = std::fs::read(folder.join(format!("{program}.txt"))).unwrap();
        insta::assert_snapshot!(program, summary(program, &bytes));
    }
}
