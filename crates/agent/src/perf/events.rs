//! Which events the machine counts, found by trying them.

use crate::sys::perf_event_works;

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_HW_CACHE` (include/uapi/linux/perf_event.h).
const HARDWARE: u32 = 0;
const CACHE: u32 = 3;

/// A cache event's number: which cache, reads (0) or writes (1), accesses (0) or misses (1).
const fn cache(which: u64, write: u64, miss: u64) -> u64 {
    which | write << 8 | miss << 16
}

const DATA_TLB: u64 = 3;
const CODE_TLB: u64 = 4;
const NODE: u64 = 6;

/// Events that are counted together or not at all, by perf's name.
type Group = &'static [(&'static str, u32, u64)];

/// The hardware events that lkp-tests counts.
const GROUPS: [Group; 6] = [
    &[
        ("cpu-cycles", HARDWARE, 0),
        ("instructions", HARDWARE, 1),
        ("cache-references", HARDWARE, 2),
        ("cache-misses", HARDWARE, 3),
        ("branch-instructions", HARDWARE, 4),
        ("branch-misses", HARDWARE, 5),
    ],
    &[
        ("dTLB-loads", CACHE, cache(DATA_TLB, 0, 0)),
        ("dTLB-load-misses", CACHE, cache(DATA_TLB, 0, 1)),
    ],
    &[
        ("dTLB-stores", CACHE, cache(DATA_TLB, 1, 0)),
        ("dTLB-store-misses", CACHE, cache(DATA_TLB, 1, 1)),
    ],
    &[
        ("iTLB-loads", CACHE, cache(CODE_TLB, 0, 0)),
        ("iTLB-load-misses", CACHE, cache(CODE_TLB, 0, 1)),
    ],
    &[("node-loads", CACHE, cache(NODE, 0, 0)), ("node-load-misses", CACHE, cache(NODE, 0, 1))],
    &[("node-stores", CACHE, cache(NODE, 1, 0)), ("node-store-misses", CACHE, cache(NODE, 1, 1))],
];

/// Events that the kernel counts itself, on any machine.
const SOFTWARE: &str =
    "cpu-clock,task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults";

/// Whether there is a performance monitoring unit that counts cycles.
pub(super) fn has_cycles() -> bool {
    perf_event_works(HARDWARE, 0)
}

/// The events to count, in the form of perf's `-e`: groups of those hardware events that work
/// here, then the software events.
pub(super) fn default_list() -> String {
    let works =
        |group: &&Group| group.iter().all(|(_, kind, config)| perf_event_works(*kind, *config));
    let mut list = String::new();
    for group in GROUPS.iter().filter(works) {
        let names: Vec<&str> = group.iter().map(|(name, _, _)| *name).collect();
        list.push_str(&format!("{{{}}},", names.join(",")));
    }
    list + SOFTWARE
}
