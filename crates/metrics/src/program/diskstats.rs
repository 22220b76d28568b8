//! `/proc/diskstats` (Documentation/admin-guide/iostats.rst), in blocks that begin with
//! `time: <epoch>`: 11 fields per device, 15 since Linux 4.18, 17 since 5.5.
//!
//! lkp-tests takes lines of 11 fields only, hence nothing from a kernel newer than 4.17; so do
//! we when asked to be compatible.

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

const FIELDS: [&str; 17] = [
    "read_ios",
    "read_merges",
    "read_sectors",
    "read_ticks",
    "write_ios",
    "write_merges",
    "write_sectors",
    "write_ticks",
    "in_flight",
    "io_ticks",
    "time_in_queue",
    "discard_ios",
    "discard_merges",
    "discard_sectors",
    "discard_ticks",
    "flush_ios",
    "flush_ticks",
];

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut name = Name::default();
    let mut words: Vec<&str> = Vec::new();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        words.clear();
        words.extend(line.text.split_ascii_whitespace());
        let [_major, _minor, device, values @ ..] = words.as_slice() else {
            if !words.is_empty() {
                out.unexpected(line.number, line.text);
            }
            continue;
        };
        let known = if options.lkp_compatible { values.len() == 11 } else { values.len() >= 11 };
        if !known {
            out.notes.add(line.number, || format!("{} fields for {device}", values.len()));
            continue;
        }
        for (field, value) in FIELDS.iter().zip(values) {
            out.push_word(line.number, name.of(&[field, ".", device]), value);
        }
    }
}
