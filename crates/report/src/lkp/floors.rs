//! Floors below which a change is too small to show.

use std::sync::LazyLock;

use regex::Regex;

use super::names::{lines, whole};

const FLOORS: &str = include_str!("../../data/floors.txt");

/// Whether a change is large enough to show: `delta` is the difference of the medians, `max` the
/// largest value of both sides.
pub(super) fn is_large_enough(name: &str, delta: f64, max: f64) -> bool {
    if let Some(floor) = TABLE.iter().find(|floor| floor.names.is_match(name)) {
        return max >= floor.value && delta >= (floor.value / 2.0).floor();
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["iostat"]) {
        return max > 1.0;
    }
    if starts(&["pagetypeinfo", "buddyinfo", "slabinfo"]) {
        return delta > 100.0;
    }
    if starts(&["proc-vmstat"]) || name.contains("meminfo") {
        return max > 1000.0;
    }
    if starts(&["lock_stat"]) {
        return delta > if name.contains("time") { 1000.0 } else { 10_000.0 };
    }
    if starts(&["interrupts", "softirqs"]) {
        return max > 10_000.0;
    }
    true
}

struct Floor {
    names: Regex,
    /// All floors are whole numbers.
    value: f64,
}

static TABLE: LazyLock<Vec<Floor>> = LazyLock::new(|| {
    let floor = |line: &'static str| {
        let (names, value) = line.rsplit_once(' ')?;
        Some(Floor { names: whole(names)?, value: value.parse().ok()? })
    };
    lines(FLOORS).filter_map(floor).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_floor_is_read() {
        assert_eq!(TABLE.len(), lines(FLOORS).count());
    }

    #[test]
    fn floors_by_name() {
        assert!(!is_large_enough("vmstat.cpu.sy", 20.0, 40.0));
        assert!(is_large_enough("vmstat.cpu.sy", 25.0, 50.0));
        assert!(!is_large_enough("vmstat.cpu.wa", 4.0, 30.0));
        assert!(!is_large_enough("meminfo.Dirty", 800.0, 999.0));
        assert!(is_large_enough("stress-ng.a.ops", 0.001, 0.01));
        assert!(!is_large_enough("lock_stat.x.waittime", 900.0, 1e6));
    }
}
