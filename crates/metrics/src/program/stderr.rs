//! What the programs of a run wrote to standard error: each kind of line is one metric
//! `<id>: 1`, and `has_stderr` says that there was any. Lines that tools print when nothing is
//! wrong are left out; [`ParseOptions::ignored_stderr`] takes further ones.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::message_id;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

/// Distinct lines that are kept.
const MAX_IDS: usize = 4096;

/// Whole lines that say nothing is wrong.
const HARMLESS: &[&str] = &[
    // coreutils dd
    r".* records in",
    r".* records out",
    r".* bytes \(.*\) copied, .* s, .*/s",
    // perf record, stat and report
    r"Events (?:en|dis)abled",
    r"\[ perf record: Woken up .* times to write data \]",
    r"\[ perf record: Captured and wrote .* MB .*perf.*\.data \(.* samples\) \]",
    r"Processed .* events and lost .* chunks!",
    r"Check IO/CPU overload!",
    r".* out of order events recorded\.",
    r"corrupted callchain\. skipping\.\.\.",
    r"no symbols found in .*, maybe install a debug package\?",
    r".* with build id .* not found, continuing without symbols",
    r"couldn't get COMM and pgid, malformed /proc/.*/status",
    r"The /tmp/.*/perf\.data file has no samples!",
    r"Reading /proc/.*/maps time out\. You may want to increase the time limit by --proc-map-timeout",
    r"(?:Error|Warning):",
    r"perf_event_attr:",
    r"-{60}",
    r"  [a-z_0-9]+ +(?:0x)?[0-9A-Fa-fID|TMEXPNRAULC_]+",
    r"  \{ [a-z_]+, [a-z_]+ \} +[0-9]+",
    // Kernel modules and file systems
    r"modprobe: FATAL: Module nfs not found in directory /lib/modules/.*",
    r"mke2fs [0-9]+.* .*",
    r"cp: preserving permissions for .*: Operation not supported",
    // Shells
    r"Terminated",
];

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
        RegexSet::new(HARMLESS.iter().map(|line| whole(line))).expect("constant patterns")
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
