//! `/proc/meminfo`, in blocks that begin with `time: <epoch>`.
//!
//! Two metrics are added to what the kernel counts: `Memused` (total minus free) and
//! `max_used_kB`, its maximum so far.

use super::block_time;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut total = None;
    let mut max_used = f64::NEG_INFINITY;
    let mut max_used_name = None;
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        if line.text.starts_with("test_klp_atomic_replace:") || line.text.starts_with("entries") {
            // Live patching self tests replace the file's content for a moment.
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        let Some(metric) = words.next() else { continue };
        let Some(value) = words.next() else {
            out.unexpected(line.number, line.text);
            continue;
        };
        let metric = metric.strip_suffix(':').unwrap_or(metric);
        out.push_word(line.number, metric, value);
        match metric {
            "MemTotal" if total.is_none() => total = number::parse(value),
            "MemFree" => {
                let (Some(total), Some(free)) = (total, number::parse(value)) else {
                    out.notes.add(line.number, || "no used memory: MemTotal is missing".to_owned());
                    continue;
                };
                let unit = words.next().unwrap_or_default();
                let used_name =
                    max_used_name.get_or_insert_with(|| name.of(&["max_used_", unit]).to_owned());
                max_used = max_used.max(total - free);
                out.push("Memused", total - free);
                out.push(used_name, max_used);
            }
            _ => {}
        }
    }
}
