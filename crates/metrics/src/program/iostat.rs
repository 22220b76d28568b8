//! `iostat -tkx` with ISO time stamps: shares of CPU time and one table of devices per sample.
//!
//! lkp-tests knows the devices' head as `Device:` only, hence no device of sysstat 12, whose head
//! is `Device`; so do we when asked to be compatible.

use crate::calendar;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut name = Name::default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let mut heads = line.text.split_ascii_whitespace();
        match heads.next() {
            Some(stamp) if stamp.len() == 24 && heads.next().is_none() => {
                if let Some(time) = calendar::epoch_with_offset(stamp) {
                    out.push("time", time);
                }
            }
            Some("avg-cpu:") => {
                let Some(row) = lines.next() else { return };
                for (head, value) in heads.zip(row.text.split_ascii_whitespace()) {
                    out.push_word(row.number, name.of(&["cpu.", &plain(head)]), value);
                }
            }
            Some(device)
                if device == "Device:" || device == "Device" && !options.lkp_compatible =>
            {
                let heads: Vec<String> = heads.map(plain).collect();
                for row in lines.by_ref() {
                    let words: Vec<&str> = row.text.split_ascii_whitespace().collect();
                    let [device, values @ ..] = words.as_slice() else { break };
                    if values.len() != heads.len() {
                        break;
                    }
                    for (head, value) in heads.iter().zip(values) {
                        out.push_word(row.number, name.of(&[device, ".", head]), value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// `%util` -> `util`
fn plain(head: &str) -> String {
    head.replacen('%', "", 1)
}
