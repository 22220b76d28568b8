//! What the programs of a run wrote to standard error: each kind of line is one metric
//! `<id>: 1`, and `has_stderr` says that there was any. Lines that tools print when nothing is
//! wrong are left out; [`ParseOptions::ignored_stderr`] takes further ones.

mod harmless;

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::message_id;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

/// Distinct lines that are kept.
const MAX_IDS: usize = 4096;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let ignored = ignored(options, out);
    let mut ids: Vec<String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for line in source.lines() {
        if line.text.is_empty() || ignored.iter().any(|lines| lines.is_match(line.text)) {
            continue;
        }
        let text: String = line.text.chars().filter(|c| !c.is_control()).collect();
        let mut id = message_id::of_line(&text);
        if id.chars().count() < 3 {
            continue;
        }
        if id.starts_with('#') && !text.starts_with('#') {
            id.insert(0, '_');
        }
        if ids.len() < MAX_IDS && known.insert(id.clone()) {
            ids.push(id);
        }
    }
    for id in ids.iter().filter(|id| !id.starts_with('#')) {
        out.push(id, 1.0);
    }
    if !ids.is_empty() {
        out.push("has_stderr", 1.0);
    }
}

fn ignored(options: &ParseOptions, out: &mut Parsed) -> [RegexSet; 2] {
    static OWN: LazyLock<RegexSet> = LazyLock::new(|| {
        #[allow(clippy::expect_used)] // Constants; a test compiles them.
        RegexSet::new(harmless::LINES.iter().map(|line| whole(line))).expect("constant patterns")
    });
    let given = options.ignored_stderr.iter().map(|line| whole(line));
    let given: Vec<String> = given
        .filter(|pattern| {
            let usable = Regex::new(pattern).is_ok();
            if !usable {
                out.notes.add(0, || format!("not a regular expression: `{pattern}`"));
            }
            usable
        })
        .collect();
    [OWN.clone(), RegexSet::new(given).unwrap_or_default()]
}

fn whole(pattern: &str) -> String {
    format!("^(?:{pattern})$")
}
