//! The table of fs_mark (`FSUse% Count Size Files/sec App-Overhead`): means over its rows.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;
use crate::spread::Spread;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let rows = source.lines().skip_while(|line| !line.text.starts_with("FSUse")).skip(1);
    let mut rates = Vec::new();
    let mut overheads = Vec::new();
    for row in rows {
        let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
        let [_, _, _, rate, overhead] = words.as_slice() else { break };
        rates.push(number::leading_float(rate));
        overheads.push(number::leading_float(overhead));
    }
    if let (Some(rates), Some(overheads)) = (Spread::of(&rates), Spread::of(&overheads)) {
        out.push("files_per_sec", rates.mean);
        out.push("app_overhead", overheads.mean);
    }
}
