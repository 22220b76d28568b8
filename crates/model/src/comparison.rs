//! Comparisons: two or more sets of runs that differ on one axis.

use serde::{Deserialize, Serialize};

use crate::{Axes, MetricName, Metrics, RunId, SampleSet};

/// Two or more columns of runs that share every axis but one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The axes that all columns share.
    pub axes: Axes,
    /// The axis they differ on: `commit` unless told otherwise.
    pub key: String,
    /// The columns; the first is the base that others are compared with.
    pub columns: Vec<Column>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The value on the compared axis, whole: a commit id, `6.1.0-57-cloud-amd64`.
    pub value: String,
    /// Text behind the value in the list above the table: `("x86: uaccess: ...")`, `<---- patch`.
    pub note: Option<String>,
    /// The runs, in run order; failed ones included.
    pub runs: Vec<ColumnRun>,
}

/// One run of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnRun {
    /// Which run.
    pub id: RunId,
    /// Whether it ended well. A run that did not adds nothing to means; it counts in
    /// `fail:runs` rows.
    pub complete: bool,
    /// Why not, when it did not: `kernel_panic: ...`.
    pub failure: Option<String>,
    /// What it measured; empty for most failed runs.
    pub metrics: Metrics,
}

impl Column {
    /// The samples of one metric over the complete runs, absent where a run lacks it.
    pub fn samples(&self, metric: &str) -> SampleSet {
        let complete = self.runs.iter().filter(|run| run.complete);
        SampleSet(complete.map(|run| run.metrics.get(metric).copied()).collect())
    }

    /// Number of complete runs.
    pub fn complete_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.complete).count()
    }
}

impl Comparison {
    /// Every metric that any run of any column has, sorted by name.
    pub fn metric_names(&self) -> Vec<&MetricName> {
        let mut names: Vec<&MetricName> = self
            .columns
            .iter()
            .flat_map(|column| &column.runs)
            .flat_map(|run| run.metrics.keys())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
