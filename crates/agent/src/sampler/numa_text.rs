//! Monitors that copy one file of each NUMA node: a `time:` line, then for each node a `node:`
//! line and the text. A machine with one node has one.

use std::io::{self, Write};

use super::file_text::{RepeatedKeys, Stamp};
use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

/// A monitor of `/sys/devices/system/node/node*/<file>`.
pub(crate) struct NumaText {
    nodes: Vec<(u32, FileId)>,
    repeated: Option<RepeatedKeys>,
}

impl NumaText {
    /// Opens the file of every node.
    pub(crate) fn open(
        place: &Place,
        files: &mut ProcFiles,
        file: &str,
    ) -> Result<NumaText, String> {
        const NODES: &str = "/sys/devices/system/node";
        let mut nodes = Vec::new();
        for node in numbered(place, NODES, "node") {
            nodes.push((node, files.open(place, &format!("{NODES}/node{node}/{file}"))?));
        }
        if nodes.is_empty() {
            return Err(format!("this kernel has no NUMA nodes: no {NODES}/node0/{file}"));
        }
        Ok(NumaText { nodes, repeated: (file == "vmstat").then(RepeatedKeys::default) })
    }
}

impl Source for NumaText {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        Stamp::Nanoseconds.write(moment, out)?;
        for (node, file) in &self.nodes {
            writeln!(out, "node: {node}")?;
            let text = files.read(*file, moment.round)?;
            match &mut self.repeated {
                None => out.extend_from_slice(text),
                Some(repeated) => repeated.copy(text, out),
            }
        }
        Ok(())
    }
}

/// The numbers of the entries `<prefix><number>` of a folder, ascending.
pub(crate) fn numbered(place: &Place, folder: &str, prefix: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(place.path(folder)).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(prefix)?.parse().ok();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers
}
