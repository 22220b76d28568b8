//! The log of FxMark: a heading `## ssd:f2fs:MWUL:2:bufferedio`, column heads `# ncpu secs ...`
//! and a row of values. The last row of a heading counts.

use std::collections::HashMap;

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut heading = "";
    let mut order: Vec<String> = Vec::new();
    let mut values: HashMap<String, f64> = HashMap::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let medium = ["## hdd", "## ssd", "## nvme", "## mem"];
        if medium.iter().any(|medium| line.text.starts_with(medium)) {
            heading = line.text.get(3..).unwrap_or_default().trim_end();
            continue;
        }
        let Some(heads) = line.text.strip_prefix("# ncpu") else { continue };
        let row = lines.next().filter(|row| !row.text.trim().is_empty()).or_else(|| lines.next());
        let row: Vec<&str> = row.map_or("", |row| row.text).split_ascii_whitespace().collect();
        if row.first().copied() != heading.rsplit(':').nth(1) {
            continue;
        }
        let heads = std::iter::once("ncpu").chain(heads.split_ascii_whitespace());
        for (head, value) in heads.zip(row) {
            // A test that was too short has a rate of `-nan`.
            let Some(value) = number::parse(value) else { continue };
            let name = format!("{}.{}", heading.replace(':', "_"), head.replace('.', "_"));
            if values.insert(name.clone(), value).is_none() {
                order.push(name);
            }
        }
    }
    for name in &order {
        if let Some(value) = values.get(name) {
            out.push(name, *value);
        }
    }
}
