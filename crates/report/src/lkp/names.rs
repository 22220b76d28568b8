//! What a metric's name says about it: test or monitor, failure counter, hidden, sensitive.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

const PROGRAMS: &str = include_str!("../../data/programs.txt");
const HIDDEN: &str = include_str!("../../data/hidden.txt");
const SHOWN: &str = include_str!("../../data/shown.txt");
const FAILURES: &str = include_str!("../../data/failures.txt");
const SENSITIVE: &str = include_str!("../../data/sensitive.txt");

/// The part of a name before the first dot.
pub(crate) fn program(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Whether a program is a test or serves one, as opposed to a monitor.
pub(crate) fn is_test(program: &str) -> bool {
    PROGRAM_LISTS.measuring.contains(program) || PROGRAM_LISTS.checking.contains(program)
}

/// Whether a metric is a headline candidate by name: it comes from a test, and is not the
/// accounting around it.
pub(crate) fn is_kpi(name: &str) -> bool {
    const NOT: [&str; 2] = ["vm-scalability.stddev", "unixbench.incomplete_result"];
    let (program, rest) = name.split_once('.').unwrap_or((name, ""));
    is_test(program) && !rest.starts_with("time.") && !NOT.contains(&name)
}

/// Whether a metric counts failures or passes.
pub(crate) fn is_counter(name: &str) -> bool {
    const TIMES: [&str; 3] = [".time.", ".timestamp:", ".bootstage:"];
    !TIMES.iter().any(|time| name.contains(time)) && FAILURE_NAMES.is_match(name)
}

/// Whether a metric counts failures of the kernel or the run, as opposed to those of a test.
pub(crate) fn is_kernel_counter(name: &str) -> bool {
    name.starts_with("kmsg.") || is_log_counter(name)
}

/// Whether a metric is kept for runs that ended badly too.
pub(crate) fn is_log_counter(name: &str) -> bool {
    ["dmesg.", "last_state.", "stderr."].iter().any(|log| name.starts_with(log))
}

/// Whether the default selection leaves a metric out whatever it did.
pub(crate) fn is_hidden(name: &str) -> bool {
    HIDDEN_NAMES.is_match(name) && !SHOWN_NAMES.is_match(name)
}

/// Whether a change of 1% counts, and not just one of 5%.
pub(crate) fn is_sensitive(name: &str) -> bool {
    is_accounting(name)
        || SENSITIVE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.split_once('.').is_some_and(|(first, _)| PROGRAM_LISTS.measuring.contains(first))
}

/// Metrics of the `time` program, alone or within a test, and contentions of `lock_stat`.
fn is_accounting(name: &str) -> bool {
    let follows = |rest: &str| !rest.is_empty();
    name.strip_prefix("time").is_some_and(follows)
        || name.match_indices(".time").any(|(at, _)| name.len() > at + ".time".len())
        || LOCK_CONTENTIONS.is_match(name)
}

struct ProgramLists {
    measuring: BTreeSet<&'static str>,
    checking: BTreeSet<&'static str>,
}

static PROGRAM_LISTS: LazyLock<ProgramLists> = LazyLock::new(|| {
    let mut lists = ProgramLists { measuring: BTreeSet::new(), checking: BTreeSet::new() };
    let mut section = "";
    for line in lines(PROGRAMS) {
        match line {
            "[measuring]" | "[checking]" => section = line,
            names if section == "[measuring]" => lists.measuring.extend(names.split(' ')),
            names => lists.checking.extend(names.split(' ')),
        }
    }
    lists
});

static FAILURE_NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(FAILURES, "^(?:", ")"));
static HIDDEN_NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(HIDDEN, "", ""));
static SHOWN_NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(SHOWN, "", ""));
static LOCK_CONTENTIONS: LazyLock<Names> =
    LazyLock::new(|| Names::new("^lock_stat..*..contentions", "", ""));
static SENSITIVE_PREFIXES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| lines(SENSITIVE).flat_map(|line| line.split(' ')).collect());

/// Names that match any of the expressions of a data file.
struct Names(Option<RegexSet>);

impl Names {
    /// The expressions are the crate's own, and a test compiles all of them.
    fn new(text: &str, before: &str, after: &str) -> Self {
        Names(RegexSet::new(lines(text).map(|line| format!("{before}{line}{after}"))).ok())
    }

    fn is_match(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|set| set.is_match(name))
    }
}

/// The lines of a data file that are neither empty nor comments.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// An expression of a data file that must match a whole name.
pub(super) fn whole(expression: &str) -> Option<Regex> {
    Regex::new(&format!("^{expression}$")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        for names in [&FAILURE_NAMES, &HIDDEN_NAMES, &SHOWN_NAMES, &LOCK_CONTENTIONS] {
            assert!(names.0.is_some());
        }
    }

    #[test]
    fn failure_counters() {
        for name in [
            "dmesg.BUG:x",
            "kmsg.foo",
            "last_state.soft_timeout",
            "stderr.x",
            "kselftests.net.tls.fail",
            "xfstests.btrfs.172.fail",
            "ltp.a.pass",
            "x.y.killed_by_signal",
            "perf-profile.calltrace.cycles-pp.asm_exc_page_fault.error-code",
        ] {
            assert!(is_counter(name), "{name}");
        }
        for name in [
            "stress-ng.sockfd.ops",
            "perf-profile.self.cycles-pp.error_entry",
            "perf-profile.self.cycles-pp.x.fail_page",
            "dmesg.timestamp:last",
            "dmesg.bootstage:initramfs",
            "stress-ng.time.fail",
            "fail",
        ] {
            assert!(!is_counter(name), "{name}");
        }
    }

    #[test]
    fn hidden_and_shown() {
        for name in
            ["slabinfo.dentry", "interrupts.CPU0.LOC", "softirqs.RCU", "dmesg.boot_failures"]
        {
            assert!(is_hidden(name), "{name}");
        }
        for name in
            ["meminfo.Slab", "perf-stat.i.ipc", "stress-ng.x.ops", "dmesg.BUG:new", "kmsg.foo"]
        {
            assert!(!is_hidden(name), "{name}");
        }
    }

    #[test]
    fn sensitive_metrics() {
        for name in
            ["stress-ng.a.ops", "time.user_time", "x.time.user", "perf-stat.i.ipc", "vmstat.io.bi"]
        {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["meminfo.Slab", "kselftests.x", "stress-ng", "x.time", "sched_debug.x"] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn headline_candidates() {
        assert!(is_kpi("stress-ng.sockfd.ops_per_sec"));
        for name in ["stress-ng.time.elapsed_time", "vmstat.cpu.us", "vm-scalability.stddev"] {
            assert!(!is_kpi(name), "{name}");
        }
    }
}
