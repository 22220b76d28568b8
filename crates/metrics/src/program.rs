//! The programs whose raw files are understood: one small module each, one table of all.

mod aim7;
mod aim9;
mod buddyinfo;
mod coremark;
mod cpuidle;
mod dbench;
mod diskstats;
mod dmesg;
mod ebizzy;
mod fsmark;
mod fxmark;
mod hackbench;
mod interrupts;
mod iostat;
mod kbuild;
mod kernbench;
mod lz4_test;
mod meminfo;
mod mpstat;
mod netperf;
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
mod stream;
mod stress_ng;
mod time;
mod turbostat;
mod unixbench;
mod uptime;
mod vm_scalability;
mod vmstat;
mod will_it_scale;
mod zoneinfo;

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
    program("aim7", aim7::parse),
    program("aim9", aim9::parse),
    program("buddyinfo", buddyinfo::parse),
    program("coremark", coremark::parse),
    program("cpuidle", cpuidle::parse),
    program("dbench", dbench::parse),
    program("diskstats", diskstats::parse),
    log("dmesg", dmesg::parse_dmesg),
    program("ebizzy", ebizzy::parse),
    program("fsmark", fsmark::parse),
    program("fxmark", fxmark::parse),
    program("hackbench", hackbench::parse),
    program("interrupts", interrupts::parse),
    program("iostat", iostat::parse),
    program("kbuild", kbuild::parse),
    program("kernbench", kernbench::parse),
    log("kmsg", dmesg::parse_kmsg),
    program("lz4-test", lz4_test::parse),
    program("meminfo", meminfo::parse),
    program("mpstat", mpstat::parse),
    program("netperf", netperf::parse),
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
    program("stream", stream::parse),
    program("stress-ng", stress_ng::parse),
    program("tbench", dbench::parse),
    program("time", time::parse),
    program("turbostat", turbostat::parse),
    program("unixbench", unixbench::parse),
    program("uptime", uptime::parse),
    program("vm-scalability", vm_scalability::parse),
    program("vmstat", vmstat::parse),
    program("will-it-scale", will_it_scale::parse),
    program("zoneinfo", zoneinfo::parse),
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
