//! What a metric's samples are, which decides how they become one number.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counts of separate things, to be added up: the page faults of each part of a test.
    Independent,
    /// A counter that only grows: what counts is last minus first.
    Counter,
    /// A level: what counts is the mean.
    Level,
}

/// Prefixes of names behind the program's own, by program.
type Table = &'static [(&'static str, &'static [&'static str])];

const INDEPENDENT: Table = &[
    ("perf-stat", &["overall.", "ps.", "total."]),
    ("pmu-tools", &[""]),
    (
        "time",
        &[
            "file_system_inputs",
            "file_system_outputs",
            "involuntary_context_switches",
            "major_page_faults",
            "minor_page_faults",
            "percent_of_cpu_this_job_got",
            "socket_messages_received",
            "socket_messages_sent",
            "swaps",
            "system_time",
            "user_time",
            "voluntary_context_switches",
        ],
    ),
];

const COUNTERS: Table = &[
    ("cpuidle", &[""]),
    (
        "diskstats",
        &[
            "io_ticks.",
            "read_ios.",
            "read_merges.",
            "read_sectors.",
            "read_ticks.",
            "write_ios.",
            "write_merges.",
            "write_sectors.",
            "write_ticks.",
        ],
    ),
    ("energy", &[""]),
    ("ethtool", &[""]),
    ("interrupts", &[""]),
    ("numa-numastat", &[""]),
    ("numa-vmstat", &["nr_dirtied", "nr_vmscan_immediate_reclaim", "nr_written", "numa_"]),
    ("pmu-numa", &["total_moved"]),
    (
        "proc-vmstat",
        &[
            "allocstall",
            "compact_",
            "htlb_buddy_alloc_",
            "kswapd_",
            "nr_dirtied",
            "nr_promote_fail",
            "nr_promote_isolate_fail",
            "nr_promote_ratelimit",
            "nr_promoted",
            "nr_vmscan_immediate_reclaim",
            "nr_written",
            "numa_",
            "pageoutrun",
            "pg",
            "pswp",
            "slabs_scanned",
            "thp_",
            "unevictable_pgs_",
            "zone_reclaim_failed",
        ],
    ),
    ("softirq", &[""]),
];

/// Counters that lkp-tests takes for levels (mm/vmstat.c, block/genhd.c, kernel/softirq.c).
const FURTHER_COUNTERS: Table = &[
    (
        "diskstats",
        &[
            "discard_ios.",
            "discard_merges.",
            "discard_sectors.",
            "discard_ticks.",
            "flush_ios.",
            "flush_ticks.",
            "time_in_queue.",
        ],
    ),
    (
        "proc-vmstat",
        &[
            "balloon_deflate",
            "balloon_inflate",
            "balloon_migrate",
            "cow_ksm",
            "direct_map_level",
            "drop_pagecache",
            "drop_slab",
            "ksm_swpin_copy",
            "kstack_",
            "nr_tlb_",
            "oom_kill",
            "swap_ra",
            "swpin_zero",
            "swpout_zero",
            "vma_lock_",
            "workingset_activate",
            "workingset_nodereclaim",
            "workingset_refault",
            "workingset_restore",
            "zswpin",
            "zswpout",
            "zswpwb",
        ],
    ),
    ("softirqs", &[""]),
];

/// What follows `node<n>.` in numa-vmstat.
const NODE_COUNTERS: [&str; 5] =
    ["nr_dirtied", "nr_vmscan_immediate_reclaim", "nr_written", "numa_", "pg"];

/// The kind of a metric, named with its program: `proc-vmstat.pgfault`. With `lkp_compatible`
/// the kinds of lkp-tests, where `softirqs` are levels.
pub fn kind(metric: &str, lkp_compatible: bool) -> Kind {
    let Some((program, name)) = metric.split_once('.') else { return Kind::Level };
    let is_in = |table: Table| {
        let prefixes = table.iter().find(|(of, _)| *of == program).map(|(_, prefixes)| prefixes);
        prefixes.is_some_and(|prefixes| prefixes.iter().any(|prefix| name.starts_with(prefix)))
    };
    if is_in(INDEPENDENT) {
        Kind::Independent
    } else if is_in(COUNTERS)
        || program == "numa-vmstat" && is_node_counter(name)
        || !lkp_compatible && is_in(FURTHER_COUNTERS)
    {
        Kind::Counter
    } else {
        Kind::Level
    }
}

fn is_node_counter(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("node") else { return false };
    let counter = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    counter.len() < rest.len()
        && counter
            .strip_prefix('.')
            .is_some_and(|name| NODE_COUNTERS.iter().any(|prefix| name.starts_with(prefix)))
}

/// Whether a metric is already made of a window of the run, so that no window applies to it.
pub(crate) fn covers_window(metric: &str) -> bool {
    ["perf-stat.overall.", "perf-stat.ps.", "perf-stat.total."]
        .iter()
        .any(|prefix| metric.starts_with(prefix))
}

/// Whether the largest sample of a metric is worth a metric of its own (`.max`).
pub(crate) fn has_maximum(metric: &str) -> bool {
    let is_latency = |metric: &str| {
        metric.strip_prefix("iostat.").and_then(|rest| rest.rsplit_once('.')).is_some_and(
            |(_, name)| matches!(name, "await" | "r_await" | "w_await" | "svctm" | "avgqu-sz"),
        )
    };
    let is_anonymous = |metric: &str| {
        let rest = metric.strip_prefix("numa-meminfo.node");
        rest.and_then(|rest| rest.strip_prefix(|c: char| c.is_ascii_digit())) == Some(".AnonPages")
    };
    metric.ends_with("time.elapsed_time") || is_latency(metric) || is_anonymous(metric)
}

/// Whether a sample can be true at all; monitors print nonsense when a clock jumps.
pub(crate) fn is_possible(metric: &str, value: f64) -> bool {
    let limit = match metric.split('.').next() {
        Some("vmstat") if metric.starts_with("vmstat.cpu") => 110.0,
        Some("iostat") if metric.starts_with("iostat.cpu") => 110.0,
        Some("iostat") if metric.ends_with("util") => 300.0,
        Some("turbostat") if metric.ends_with("Watt") => 10_000.0,
        _ => return true,
    };
    (0.0..=limit).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_name() {
        assert_eq!(kind("proc-vmstat.pgfault", true), Kind::Counter);
        assert_eq!(kind("proc-vmstat.nr_free_pages", true), Kind::Level);
        assert_eq!(kind("numa-vmstat.node12.numa_hit", true), Kind::Counter);
        assert_eq!(kind("numa-vmstat.node.numa_hit", true), Kind::Level);
        assert_eq!(kind("time.user_time", true), Kind::Independent);
        assert_eq!(kind("stress-ng.time.user_time", true), Kind::Level);
        assert_eq!(kind("softirqs.CPU0.HI", true), Kind::Level);
        assert_eq!(kind("softirqs.CPU0.HI", false), Kind::Counter);
    }

    #[test]
    fn maxima_and_limits_are_those_of_latencies_and_shares() {
        assert!(has_maximum("ebizzy.time.elapsed_time") && has_maximum("iostat.sda.await"));
        assert!(has_maximum("numa-meminfo.node0.AnonPages"));
        assert!(!has_maximum("numa-meminfo.node10.AnonPages"));
        assert!(!is_possible("vmstat.cpu.us", 111.0) && is_possible("vmstat.io.bi", 111.0));
    }
}
