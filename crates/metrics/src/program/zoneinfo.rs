//! `/proc/zoneinfo`, in blocks that begin with `time: <epoch>`: per node (`node0.nr_mapped`), zone
//! (`node0.DMA.pages.free`) and CPU (`node0.DMA.pagesets.cpu0.count`).

use super::block_time;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::{Line, Source};

/// Lines of a CPU's page set.
const PAGESET_LINES: usize = 4;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut place = Place::default();
    let mut name = Name::default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let text = line.text;
        if let Some(time) = block_time(text) {
            out.push_word(line.number, "time", time);
        } else if let Some((node, zone)) = node_and_zone(text) {
            place.node = node;
            place.zone = zone;
        } else if let Some((_, rest)) = text.split_once("protection:") {
            let values = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            for (at, value) in values.unwrap_or_default().split(',').enumerate() {
                let at = at.to_string();
                let name = name.of(&["node", place.node, ".", place.zone, ".protection.", &at]);
                out.push_word(line.number, name, value.trim());
            }
        } else if let Some((_, cpu)) = text.split_once("cpu:") {
            let pageset = format!("pagesets.cpu{}.", cpu.trim());
            for line in lines.by_ref().take(PAGESET_LINES) {
                place.push_labelled(line, &pageset, &mut name, out);
            }
            place.table = Table::Other;
        } else if let Some((_, free)) = text.split_once("pages free") {
            place.table = Table::Pages;
            let name = name.of(&["node", place.node, ".", place.zone, ".pages.free"]);
            out.push_word(line.number, name, free.trim());
        } else if text.contains("per-node") {
            place.table = Table::Node;
        } else {
            place.push_row(line, &mut name, out);
        }
    }
}

#[derive(Default)]
enum Table {
    Node,
    Pages,
    #[default]
    Other,
}

/// Where in the file a line stands.
#[derive(Default)]
struct Place<'s> {
    node: &'s str,
    zone: &'s str,
    table: Table,
}

impl Place<'_> {
    fn push_row(&self, line: Line<'_>, name: &mut Name, out: &mut Parsed) {
        let mut words = line.text.split_ascii_whitespace().rev();
        match (&self.table, words.next(), words.next()) {
            (Table::Pages, Some(value), Some(metric)) => {
                let name = name.of(&["node", self.node, ".", self.zone, ".pages.", metric]);
                out.push_word(line.number, name, value);
            }
            (Table::Node, Some(value), Some(metric)) => {
                out.push_word(line.number, name.of(&["node", self.node, ".", metric]), value);
            }
            _ => self.push_labelled(line, "", name, out),
        }
    }

    /// `  vm stats threshold: 8`
    fn push_labelled(&self, line: Line<'_>, table: &str, name: &mut Name, out: &mut Parsed) {
        let Some((label, value)) = line.text.rsplit_once(':') else { return };
        let label = label.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let value = value.trim_ascii_start();
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        if !label.is_empty() && digits > 0 {
            let label = label.replace(' ', "_");
            let name = name.of(&["node", self.node, ".", self.zone, ".", table, &label]);
            out.push_word(line.number, name, &value[..digits]);
        }
    }
}

/// `Node 0, zone      DMA`
fn node_and_zone(line: &str) -> Option<(&str, &str)> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone")?;
    let zone = rest.trim_ascii();
    let end = zone.bytes().take_while(u8::is_ascii_alphanumeric).count();
    (end > 0).then_some((node, &zone[..end]))
}
