//! The cases of vm-scalability: what each of many processes did, added up per run of a case
//! (`./case-<name>` begins one). `throughput` (KB/s of all processes), `median` (of one),
//! their relative standard deviations in percent, `workload` (KiB).

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::message_id::regex;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;
use crate::spread::Spread;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut bytes = 0.0;
    let mut moved = Rates::default();
    let mut faulted = Rates::default();
    let mut free_seconds = Vec::new();
    for line in source.lines() {
        match Fact::read(line.text) {
            Some(Fact::Moved { bytes: of, kbps }) => {
                bytes += of;
                moved.processes.push(kbps);
            }
            Some(Fact::Faulted { kbps }) => faulted.processes.push(kbps),
            Some(Fact::Migrated { mbps }) => {
                bytes += mbps;
                out.push("migrate_mbps", mbps);
            }
            Some(Fact::Freed { seconds }) => free_seconds.push(seconds),
            Some(Fact::NextCase) => {
                moved.end_run();
                faulted.end_run();
                moved.processes.clear();
                faulted.processes.clear();
            }
            None => {}
        }
    }
    moved.end_run();
    faulted.end_run();
    let Some(throughput) = Spread::of(&moved.runs) else { return };
    if moved.processes.is_empty() {
        // The last run of the case is missing.
        out.push("throughput", throughput.mean.trunc());
        return;
    }
    moved.push("", out);
    if let Some(free) = Spread::of(&free_seconds) {
        out.push("free_time", six_digits(free.mean));
    }
    out.push("workload", number::rounded(bytes / 1024.0, 2));
    faulted.push("_fault", out);
}

/// One thing that a process of a case says.
enum Fact {
    Moved { bytes: f64, kbps: f64 },
    Faulted { kbps: f64 },
    Migrated { mbps: f64 },
    Freed { seconds: f64 },
    NextCase,
}

struct Patterns {
    timed: Regex,
    copied: Regex,
    between: Regex,
    migrated: Regex,
    remapped: Regex,
    case: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    timed: regex(r"^\.*([0-9]+) bytes / ([0-9]+) usecs = ([0-9]+) KB.s"),
    copied: regex(
        r"([0-9]+) bytes \([0-9.]+ .B(?:, [0-9.]+ .iB)?\) copied, ([0-9.]+) s, ([0-9.]+) .B.s",
    ),
    between: regex(r"([0-9]+) bytes (truncated|faulted) in ([0-9.]+)-([0-9.]+) seconds"),
    migrated: regex(r"[0-9]+ \* [0-9]+ bytes migrated, [0-9]+ usecs, ([0-9]+) MB.s"),
    remapped: regex(r"([0-9]+) bytes remapped, ([0-9]+) usecs, ([0-9]+) MB.s"),
    case: regex(r"\./case-[a-z-]+"),
});

impl Fact {
    fn read(line: &str) -> Option<Fact> {
        if line.contains(" bytes ") {
            return Fact::read_bytes(line);
        }
        if let Some(at) = line.find(" usecs to free memory") {
            let digits = &line[line[..at].trim_end_matches(|c: char| c.is_ascii_digit()).len()..at];
            return number::parse(digits).map(|usecs| Fact::Freed { seconds: usecs / 1e6 });
        }
        PATTERNS.case.is_match(line).then_some(Fact::NextCase)
    }

    fn read_bytes(line: &str) -> Option<Fact> {
        let kib = |found: &Captures<'_>| (group(found, 1) / 1024.0).floor();
        if let Some(found) = PATTERNS.timed.captures(line) {
            return Some(Fact::Moved { bytes: group(&found, 1), kbps: group(&found, 3) });
        }
        if let Some(found) = PATTERNS.copied.captures(line) {
            let kbps = kib(&found) / group(&found, 2);
            return Some(Fact::Moved { bytes: group(&found, 1), kbps });
        }
        if let Some(found) = PATTERNS.between.captures(line) {
            let kbps = kib(&found) / (group(&found, 3) - group(&found, 4));
            return Some(match found.get(2).map(|what| what.as_str()) {
                Some("faulted") => Fact::Faulted { kbps },
                _ => Fact::Moved { bytes: group(&found, 1), kbps },
            });
        }
        if let Some(found) = PATTERNS.migrated.captures(line) {
            return Some(Fact::Migrated { mbps: group(&found, 1) });
        }
        let found = PATTERNS.remapped.captures(line)?;
        let milliseconds = (group(&found, 2) / 1024.0).floor();
        let kbps = (group(&found, 1) / milliseconds).floor();
        Some(Fact::Moved { bytes: group(&found, 1), kbps })
    }
}

fn group(found: &Captures<'_>, at: usize) -> f64 {
    found.get(at).map_or(0.0, |text| number::leading_float(text.as_str()))
}

/// Rates in KB/s.
#[derive(Default)]
struct Rates {
    /// Of each process of the present run.
    processes: Vec<f64>,
    /// Of all processes together, by run.
    runs: Vec<f64>,
    /// Of the median process, by run.
    medians: Vec<f64>,
}

impl Rates {
    fn end_run(&mut self) {
        self.processes.retain(|rate| rate.is_finite());
        if self.processes.is_empty() {
            return;
        }
        self.runs.push(number::sum(self.processes.iter().copied()));
        self.processes.sort_unstable_by(f64::total_cmp);
        self.medians.extend(self.processes.get(self.processes.len() / 2));
    }

    fn push(&self, suffix: &str, out: &mut Parsed) {
        let (Some(runs), Some(medians)) = (Spread::of(&self.runs), Spread::of(&self.medians))
        else {
            return;
        };
        let within = Spread::of(&self.processes);
        let deviation = match (self.runs.len(), within) {
            (1, Some(within)) => within.stddev * self.processes.len() as f64 / within.mean,
            _ => runs.stddev / runs.mean,
        };
        let of_medians = if self.medians.len() > 1 { medians.stddev / medians.mean } else { 0.0 };
        let mut name = Name::default();
        out.push(name.of(&["throughput", suffix]), runs.mean.trunc());
        out.push(name.of(&["stddev", suffix, "%"]), six_digits(deviation * 100.0));
        out.push(name.of(&["median", suffix]), medians.mean.trunc());
        out.push(name.of(&["median", suffix, "_stddev%"]), six_digits(of_medians * 100.0));
    }
}

/// A value with six significant digits.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
