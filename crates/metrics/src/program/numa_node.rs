//! `/sys/devices/system/node/node*/{vmstat,numastat}`: blocks that begin with `time: <epoch>`, in
//! each a `node: <number>` line before the lines of that node.

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut node = "0";
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some(head), Some(value)) if head.starts_with("node:") => node = value,
            (Some(metric), Some(value)) => {
                out.push_word(line.number, name.of(&["node", node, ".", metric]), value);
            }
            (Some(word), None) if is_lone_number(line.text) => {
                out.push_word(line.number, name.of(&["node", node]), word);
            }
            (Some(_), None) => out.unexpected(line.number, line.text),
            (None, _) => {}
        }
    }
}

/// A blank and digits only: the node's total.
fn is_lone_number(line: &str) -> bool {
    line.strip_prefix(' ').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}
