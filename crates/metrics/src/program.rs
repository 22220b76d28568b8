//! The programs whose raw files are understood: one small module each, one table of all.

mod buddyinfo;
mod cpuidle;
mod diskstats;
mod dmesg;
mod hackbench;
mod interrupts;
mod meminfo;
mod mpstat;
mod numa_meminfo;
mod numa_node;
mod perf_bench;
mod perf_profile;
mod perf_stat;
mod proc_vmstat;
mod sched_debug;
mod slabinfo;
mod softirqs;
mod stderr;
mod stress_ng;
mod time;
mod uptime;
mod vmstat;
mod will_it_scale;

use memchr::memchr;

use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::{Nul, Source};

/// Reads one raw file into samples.
type Parse = fn(&Source<'_>, &ParseOptions, &mut Parsed);

/// A program and how its raw file is read.
pub(crate) struct Program {
    /// The name of the raw file and the prefix of its metrics.
    pub(crate) name: &'static str,
    /// What a NUL byte in the raw file means.
    pub(crate) nul: Nul,
    pub(crate) parse: Parse,
}

const fn program(name: &'static str, parse: Parse) -> Program {
    Program { name, nul: Nul::DropLine, parse }
}

const fn log(name: &'static str, parse: Parse) -> Program {
    Program { name, nul: Nul::Strip, parse }
}

/// Sorted by name.
static PROGRAMS: &[Program] = &[
    program("buddyinfo", buddyinfo::parse),
    program("cpuidle", cpuidle::parse),
    program("diskstats", diskstats::parse),
    log("dmesg", dmesg::parse_dmesg),
    program("hackbench", hackbench::parse),
    program("interrupts", interrupts::parse),
    log("kmsg", dmesg::parse_kmsg),
    program("meminfo", meminfo::parse),
    program("mpstat", mpstat::parse),
    program("numa-meminfo", numa_meminfo::parse),
    program("numa-numastat", numa_node::parse),
    program("numa-vmstat", numa_node::parse),
    program("perf-bench-futex", perf_bench::parse_futex),
    program("perf-bench-mem", perf_bench::parse_mem),
    program("perf-bench-numa-mem", perf_bench::parse_numa_mem),
    program("perf-bench-sched-messaging", perf_bench::parse_sched_messaging),
    program("perf-bench-sched-pipe", perf_bench::parse_sched_pipe),
    program("perf-bench-syscall", perf_bench::parse_syscall),
    program("perf-profile", perf_profile::parse),
    program("perf-stat", perf_stat::parse),
    program("proc-vmstat", proc_vmstat::parse),
    program("sched_debug", sched_debug::parse),
    program("slabinfo", slabinfo::parse),
    program("softirqs", softirqs::parse),
    log("stderr", stderr::parse),
    program("stress-ng", stress_ng::parse),
    program("time", time::parse),
    program("uptime", uptime::parse),
    program("vmstat", vmstat::parse),
    program("will-it-scale", will_it_scale::parse),
];

impl Program {
    /// Whether lkp-tests reads a file with NUL bytes of this program.
    pub(crate) fn takes_nul(&self, input: &[u8]) -> bool {
        matches!(self.name, "mpstat" | "iostat") || memchr(0, input).is_none()
    }
}

/// The program of a raw file's name. `<test>.time` is read as `time`.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    let name = match name.strip_suffix(".time") {
        Some(test) if !test.is_empty() => "time",
        _ => name,
    };
    let at = PROGRAMS.binary_search_by(|program| program.name.cmp(name)).ok()?;
    PROGRAMS.get(at)
}

/// Names of all programs whose raw files are understood, sorted.
pub fn programs() -> impl ExactSizeIterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}

/// The value of a `time:` line, which begins a block of a periodic file.
fn block_time(line: &str) -> Option<&str> {
    line.strip_prefix("time:").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_are_found() {
        assert!(PROGRAMS.is_sorted_by(|a, b| a.name < b.name));
        assert!(programs().all(|name| find(name).is_some_and(|program| program.name == name)));
        assert!(find("stress-ng.time").is_some_and(|program| program.name == "time"));
        assert!(find(".time").is_none() && find("nothing").is_none());
    }
}
