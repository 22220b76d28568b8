//! The table of AIM7 (`Tasks jobs/min jti jobs/min/task real cpu`): its first row.

use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let is_head = line.text.split_once("Tasks").is_some_and(|(_, rest)| {
            rest.split_once("jobs/min").is_some_and(|(_, rest)| rest.contains("jti"))
        });
        let Some(row) = is_head.then(|| lines.next()).flatten() else { continue };
        let names = ["jobs-per-min", "jti", "jobs-per-min-per-task", "real", "cpu"];
        for (name, value) in names.iter().zip(row.text.split_ascii_whitespace().skip(1)) {
            out.push_word(row.number, name, value);
        }
    }
}
