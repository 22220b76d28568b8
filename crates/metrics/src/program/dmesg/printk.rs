//! Messages of level error and above that are no oops, and what sanitizers print. Messages that
//! say nothing about a kernel are left out; [`ParseOptions::ignored_kmsg`] takes further ones.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::message_id::regex;
use crate::options::ParseOptions;

use super::{Finding, noise, oops};

/// Distinct messages that are kept of one log.
const MAX_FINDINGS: usize = 4096;

pub(super) fn find(lines: &[String], options: &ParseOptions) -> Vec<Finding> {
    let physical = || lines.iter().flat_map(|line| line.split('\n'));
    let mut findings = Findings::default();
    for line in physical() {
        if let Some(message) = error_message(line)
            && !oops::is_oops(&message)
            && !noise::is_noise(&message)
            && !options.ignored_kmsg.iter().any(|noise| message.contains(noise.as_str()))
        {
            findings.add(message);
        }
    }
    for line in physical().filter(|line| line.contains("Kernel tests: Boot OK")) {
        findings.add(line.to_owned());
    }
    for message in physical().filter_map(runtime_error) {
        findings.add(message);
    }
    for message in leaks(physical()) {
        findings.add(message);
    }
    findings.found
}

#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    known: HashSet<String>,
}

impl Findings {
    fn add(&mut self, line: String) {
        if self.found.len() < MAX_FINDINGS && self.known.insert(line.clone()) {
            self.found.push(Finding { what: line.clone(), line });
        }
    }
}

/// The line without colours, if its level is error or above, or a process was killed.
fn error_message(line: &str) -> Option<String> {
    static LEVEL: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:<[0123]>|kern  :(?:err   |crit  |alert |emerg ): )"));
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| regex("\x1b\\[(?:[0-9;]+m|[mK])"));
    let wanted = line.contains("segfault at") || LEVEL.is_match(line);
    wanted.then(|| COLOUR.replace_all(line, "").into_owned())
}

/// `util/cpumap.c:48:22: runtime error: member access ...` of the undefined behaviour sanitizer
fn runtime_error(line: &str) -> Option<String> {
    let at = line.find(" runtime error:")?;
    let start = line[..at].rfind(' ').map_or(0, |blank| blank + 1);
    Some(format!("sanitizer.{}", &line[start..]))
}

/// Reports of the leak sanitizer, each with the innermost functions of its call trace.
fn leaks<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| regex(r"#[0-5] 0x[0-9a-z]{12} in ([^ ]*)"));
    let mut leaks: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    for line in lines {
        if let Some(kind) = leak_kind(line) {
            leaks.extend(open.replace(format!("sanitizer.{kind}")));
        } else if let Some(open) = &mut open
            && let Some(function) = FRAME.captures(line).and_then(|frame| frame.get(1))
            && open.len() < 4096
        {
            open.push('/');
            open.push_str(function.as_str());
        }
    }
    leaks.extend(open);
    leaks
}

fn leak_kind(line: &str) -> Option<&'static str> {
    let kinds = [("Direct leak of ", "direct_leak"), ("Indirect leak of ", "indirect_leak")];
    kinds.into_iter().find_map(|(head, kind)| {
        line.split_once(head).filter(|(_, rest)| rest.contains("allocated from:")).map(|_| kind)
    })
}
