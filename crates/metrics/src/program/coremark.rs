//! CoreMark: `Iterations/Sec   : 12173.471976`.

use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    for line in source.lines().filter(|line| line.text.starts_with("Iterations/Sec")) {
        if let Some((_, rate)) = line.text.split_once(':') {
            out.push_word(line.number, "iterations_per_sec", rate.trim());
        }
    }
}
