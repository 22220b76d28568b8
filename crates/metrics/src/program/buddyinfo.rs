//! `/proc/buddyinfo`, in blocks that begin with `time: <epoch>`: free blocks per node, zone and
//! order (`Node.0.zone.DMA.3`).

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            out.push_word(line.number, "time", time);
            continue;
        }
        let mut words = line.text.split_ascii_whitespace();
        let (Some(head), Some(node), Some(kind), Some(zone)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let node = node.strip_suffix(',').map_or(String::new(), |number| format!("{number}."));
        for (order, count) in words.enumerate() {
            let order = order.to_string();
            let name = name.of(&[head, ".", &node, kind, ".", zone, ".", &order]);
            out.push_word(line.number, name, count);
        }
    }
}
