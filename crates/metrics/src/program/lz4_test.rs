//! The benchmark of lz4 (`-1 2082551303 (1.000) 9264.88 MB/s 9674.3 MB/s`): means over its rows.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::spread::Spread;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut level = None;
    let mut compression = Vec::new();
    let mut decompression = Vec::new();
    for line in source.lines().filter(|line| line.text.starts_with('-')) {
        let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
        let [of, _, ratio, there, _, back, ..] = words.as_slice() else { continue };
        if ratio.starts_with('(') {
            level = number::parse(of.trim_start_matches('-'));
            compression.push(number::leading_float(there));
            decompression.push(number::leading_float(back));
        }
    }
    if let Some(level) = level {
        out.push("compression_level", level);
    }
    let rates =
        [("compression_MB_per_sec", compression), ("decompression_MB_per_sec", decompression)];
    for (name, rates) in rates {
        if let Some(rates) = Spread::of(&rates) {
            out.push(name, number::rounded_to_cents(rates.mean));
        }
    }
}
