//! The order of rows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::names;

/// What a row is sorted by.
pub(crate) struct SortKey<'a> {
    /// The metric.
    pub(crate) name: &'a str,
    /// Whether it counts failures.
    pub(crate) is_counter: bool,
    /// Its changes, column by column.
    pub(crate) changes: &'a [f64],
}

/// The order in which rows are printed, as indexes into `keys`: programs with failures first,
/// then tests, then programs by the number of their rows; within a program by name, profile
/// rows by their kind and then by their changes. Rows that compare equal stay as they came.
pub(crate) fn order(keys: &[SortKey]) -> Vec<usize> {
    let mut scores: BTreeMap<&str, i64> = BTreeMap::new();
    for key in keys {
        const FAILED: i64 = -10_000;
        let first = if key.is_counter { FAILED } else { 0 };
        *scores.entry(names::program(key.name)).or_insert(first) += 1;
    }
    for (program, score) in &mut scores {
        if *score > 0 && names::is_test(program) {
            *score = 0;
        }
    }
    let sorted: Vec<(i64, String)> = keys
        .iter()
        .map(|key| {
            let program = names::program(key.name);
            (scores.get(program).copied().unwrap_or(0), sorted_by(key.name, program))
        })
        .collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| {
        let by_name = sorted.get(*a).cmp(&sorted.get(*b));
        by_name.then_with(|| match (keys.get(*a), keys.get(*b)) {
            (Some(a), Some(b)) => by_changes(a.changes, b.changes),
            _ => Ordering::Equal,
        })
    });
    order
}

fn sorted_by(name: &str, program: &str) -> String {
    if program != "perf-profile" {
        return name.to_owned();
    }
    name.split('.').take(2).collect::<Vec<_>>().join(".")
}

fn by_changes(a: &[f64], b: &[f64]) -> Ordering {
    let differing = a.iter().zip(b).map(|(a, b)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    differing.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_before_monitors_and_small_groups_before_large_ones() {
        let names = [
            ("vmstat.a", 0.0),
            ("perf-profile.self.x", 1.0),
            ("perf-profile.self.y", -1.0),
            ("perf-profile.children.z", 5.0),
            ("stress-ng.b", 0.0),
            ("meminfo.m", 0.0),
            ("stress-ng.a", 0.0),
            ("vmstat.b", 0.0),
            ("dmesg.BUG:x", 0.0),
        ];
        let changes: Vec<[f64; 1]> = names.iter().map(|(_, change)| [*change]).collect();
        let keys: Vec<SortKey> = names
            .iter()
            .zip(&changes)
            .map(|((name, _), changes)| SortKey {
                name,
                is_counter: names::is_counter(name),
                changes,
            })
            .collect();
        let sorted: Vec<&str> = order(&keys).into_iter().map(|at| names[at].0).collect();
        assert_eq!(
            sorted,
            [
                "dmesg.BUG:x",
                "stress-ng.a",
                "stress-ng.b",
                "meminfo.m",
                "vmstat.a",
                "vmstat.b",
                "perf-profile.children.z",
                "perf-profile.self.y",
                "perf-profile.self.x",
            ]
        );
    }
}
