//! `/sys/devices/system/node/node*/meminfo` (`Node 0 MemTotal: 8612044 kB`), in blocks that begin
//! with `time: <epoch>`.

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
        let (Some(node), Some(number), Some(metric), Some(value)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Some(metric) = metric.strip_suffix(':') else {
            out.unexpected(line.number, line.text);
            continue;
        };
        let node = node.to_ascii_lowercase();
        out.push_word(line.number, name.of(&[&node, number, ".", metric]), value);
    }
}
