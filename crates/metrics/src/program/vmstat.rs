//! The rows of `vmstat -n --timestamp` (procps): 17 columns, 18 with the guest time of newer
//! ones, then date and time. Header lines may come as often as they like.

use crate::calendar;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

const COLUMNS: [&str; 18] = [
    "procs.r",
    "procs.b",
    "memory.swpd",
    "memory.free",
    "memory.buff",
    "memory.cache",
    "swap.si",
    "swap.so",
    "io.bi",
    "io.bo",
    "system.in",
    "system.cs",
    "cpu.us",
    "cpu.sy",
    "cpu.id",
    "cpu.wa",
    "cpu.st",
    "cpu.gu",
];

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut words: Vec<&str> = Vec::new();
    for line in source.lines() {
        if !line.text.bytes().any(|byte| byte.is_ascii_digit()) {
            continue;
        }
        words.clear();
        words.extend(line.text.split_ascii_whitespace());
        let mut values = words.as_slice();
        if let [rest @ .., date, time] = values
            && time.contains(':')
        {
            values = rest;
            match calendar::epoch(date, time) {
                Some(epoch) => out.push("time", epoch),
                None => out.notes.add(line.number, || format!("no time: `{date} {time}`")),
            }
        }
        if values.len() > COLUMNS.len() {
            out.unexpected(line.number, line.text);
            continue;
        }
        for (column, value) in COLUMNS.iter().zip(values) {
            out.push_word(line.number, column, value);
        }
    }
}
