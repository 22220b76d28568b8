//! `/proc/vmstat`, in blocks that begin with `time: <epoch>`.

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        match words.next() {
            Some(value) => {
                out.push_word(line.number, name.strip_suffix(':').unwrap_or(name), value)
            }
            None => out.unexpected(line.number, line.text),
        }
    }
}
