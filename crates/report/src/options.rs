//! What a table shows.

use serde::Serialize;

/// Which rows the table has and how its numbers come about. The default is our own table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TableOptions {
    /// Selects, counts and prints as lkp-tests' `ncompare` does, byte for byte: absent samples
    /// count as zero, `%reproduction` divides by its neighbour's number of runs, a change from
    /// zero to zero is -100%.
    pub lkp_compatible: bool,
    /// Every metric, changed or not (`ncompare -a`).
    pub all: bool,
    /// Looks at the metrics of hidden monitors too (`ncompare -m`). Our own table hides none.
    pub more: bool,
    /// Headline metrics only (`ncompare -k`).
    pub kpi: bool,
    /// Profile shares above this many percent on a side, changed or not, instead of those that
    /// changed (`ncompare -p`).
    pub perf_profile_threshold: Option<f64>,
}
