//! The rows of AIM9 (`number name seconds count loops/s ops/s unit`).

use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut name = Name::default();
    for line in source.lines() {
        let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
        let [number, test, ..] = words.as_slice() else { continue };
        if !line.text.starts_with(' ') || !number.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        if words.iter().skip(1).any(|word| word.starts_with("Skipping")) {
            out.push(name.of(&[test, ".skip"]), 1.0);
            return;
        }
        if let Some(rate) = words.get(5) {
            out.push_word(line.number, name.of(&[test, ".ops_per_sec"]), rate);
        }
    }
}
