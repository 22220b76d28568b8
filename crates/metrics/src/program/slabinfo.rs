//! `/proc/slabinfo` version 2.1, in blocks that begin with `time: <epoch>`: objects and slabs of
//! each cache.

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

/// The columns worth a metric; the others are constants of the cache.
const TAKEN: [&str; 4] = ["active_objs", "num_objs", "active_slabs", "num_slabs"];

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut columns: Option<Vec<&str>> = None;
    let mut values: Vec<&str> = Vec::new();
    let mut name = Name::default();
    for line in source.lines() {
        if line.text.contains("slabinfo - version:") {
            if !line.text.contains("2.1") {
                out.notes.add(line.number, || "not slabinfo version 2.1".to_owned());
                return;
            }
        } else if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
        } else if line.text.starts_with("# name") {
            columns = Some(line.text.split_ascii_whitespace().skip(2).collect());
        } else if let Some(columns) = &columns {
            let mut words = line.text.split_ascii_whitespace();
            let Some(cache) = words.next() else { continue };
            values.clear();
            values.extend(words);
            if values.len() != columns.len() {
                out.unexpected(line.number, line.text);
                continue;
            }
            for (column, value) in columns.iter().zip(&values) {
                let column = column.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
                if let Some(column) = column.filter(|column| TAKEN.contains(column)) {
                    out.push_word(line.number, name.of(&[cache, ".", column]), value);
                }
            }
        } else if !line.text.trim().is_empty() {
            out.unexpected(line.number, line.text);
            return;
        }
    }
}
