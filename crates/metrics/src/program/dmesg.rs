//! Kernel logs: `dmesg` (the console, outside of the kernel) and `kmsg` (`/dev/kmsg` or
//! `dmesg -r`, inside of it).
//!
//! `dmesg` reports oopses: warnings, lock-ups, panics, call traces of old kernels. `kmsg` reports
//! every message of level error and above that is no oops, and what sanitizers print. Each kind of
//! message is one metric `<id>: 1`; the message itself and a pattern to find it by are the
//! strings `message:<id>` and `pattern:<id>`; `timestamp:<id>` is when it came first,
//! `timestamp:last` when the log ended, in seconds since boot.

mod boot_test;
mod known;
mod noise;
mod oops;
mod printk;

use std::sync::LazyLock;

use regex::Regex;

use crate::message_id::{self, regex};
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse_dmesg(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let lines: Vec<String> = source.lines().map(|line| oops::clean_line(line.text)).collect();
    report(&lines, oops::find(&lines), Log::Console, options, out);
}

pub(super) fn parse_kmsg(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let lines: Vec<String> = source.lines().map(|line| oops::clean_line(line.text)).collect();
    if options.boot_tests {
        boot_test::parse(&lines, out);
    }
    report(&lines, printk::find(&lines, options), Log::Kernel, options, out);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    Console,
    Kernel,
}

/// Something the kernel complained about.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// The part of the line that says what it is.
    what: String,
    /// The line as it stands in the log.
    line: String,
}

static STAMP: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)^(?:<[0-9]+>|....  :......: )?\[ *([0-9]{1,6}\.[0-9]{6})\][ \[]"));

fn stamp(line: &str) -> Option<&str> {
    STAMP.captures(line).and_then(|found| found.get(1)).map(|stamp| stamp.as_str())
}

fn report(
    lines: &[String],
    findings: Vec<Finding>,
    log: Log,
    options: &ParseOptions,
    out: &mut Parsed,
) {
    let mut reported = Reported::default();
    for finding in &findings {
        let line = &finding.line;
        if options.lkp_compatible && line.contains("cpu clock throttled") {
            out.notes.add(0, || "log left out: `cpu clock throttled`".to_owned());
            return;
        }
        if line.contains("trinity") && is_fuzzer_noise(line) {
            break;
        }
        if !is_hex_dump(line) && is_printable(line) {
            reported.add(finding);
        }
    }
    if log == Log::Console && !reported.by_id.is_empty() {
        out.push("boot_failures", 1.0);
    }
    reported.push(lines, options.lkp_compatible, out);
}

/// The fuzzer provokes these, and what follows them is its doing.
fn is_fuzzer_noise(line: &str) -> bool {
    ["invoked oom-killer:", "page allocation stalls for", "tried to map"]
        .iter()
        .any(|noise| line.contains(noise))
}

fn is_hex_dump(line: &str) -> bool {
    static DUMPS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?x) (?:[\ \t][0-9a-f]{2}){16}
            | \[\ *[0-9]{1,6}\.[0-9]{6}\][\ \t]*(?:[\ \t][0-9a-f]{4}){8}$
            | \[\ *[0-9]{1,6}\.[0-9]{6}\][\ \t]*(?:[\ \t][0-9a-f]{8}){4}$",
        )
    });
    DUMPS.is_match(line)
}

fn is_printable(line: &str) -> bool {
    line.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n'))
}

fn is_notice(line: &str) -> bool {
    line.get(4..).is_some_and(|rest| rest.starts_with("  :notice: "))
}

#[derive(Default)]
struct Reported {
    ids: Vec<String>,
    by_id: std::collections::HashMap<String, Message>,
}

struct Message {
    line: String,
    pattern: String,
    stamp: Option<f64>,
}

impl Reported {
    fn add(&mut self, finding: &Finding) {
        let named = known::name(&finding.what);
        let id = message_id::of_kernel_message(&named.message);
        if id.chars().count() <= 3 || named.pattern.is_empty() {
            return;
        }
        let stamp = stamp(&finding.line).and_then(crate::number::parse);
        match self.by_id.get_mut(&id) {
            Some(message) => message.stamp = message.stamp.or(stamp),
            None => {
                let message = Message { line: finding.line.clone(), pattern: named.pattern, stamp };
                self.ids.push(id.clone());
                self.by_id.insert(id, message);
            }
        }
    }

    fn push(&self, lines: &[String], lkp_compatible: bool, out: &mut Parsed) {
        let mut name = Name::default();
        let messages = || self.ids.iter().filter_map(|id| Some((id, self.by_id.get(id)?)));
        for (id, message) in messages() {
            if !id.starts_with('#') {
                out.push(id, 1.0);
            }
            out.push_string(name.of(&["message:", id]), &message.line);
            out.push_string(name.of(&["pattern:", id]), &message.pattern);
        }
        let last = lines.iter().rev().find_map(|line| {
            // lkp-tests overlooks levels of six letters here: `notice`.
            stamp(line).filter(|_| !(lkp_compatible && is_notice(line)))
        });
        if let Some(last) = last.and_then(crate::number::parse) {
            out.push("timestamp:last", last);
        }
        for (id, message) in messages() {
            if let Some(stamp) = message.stamp {
                out.push(name.of(&["timestamp:", id]), stamp);
            }
        }
    }
}
