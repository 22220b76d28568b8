//! The table as a value: rows in order, numbers computed, nothing formatted.

use serde::Serialize;

/// A table of metrics by columns. Renderers print it as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Whether it was made by lkp-tests' rules.
    pub lkp_compatible: bool,
    /// Counters of failures, in the order of the table.
    pub failures: Vec<FailureRow>,
    /// Measurements, in the order of the table.
    pub rows: Vec<Row>,
}

/// A counter of failures: in how many runs of each column something happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRow {
    /// The counter: `dmesg.BUG:KASAN:...`, `last_state.kernel_panic`.
    pub name: String,
    /// One cell a column.
    pub cells: Vec<FailureCell>,
    /// Further columns against the first: difference of the shares of failing runs, in percent
    /// of runs; `None` where a column has no run.
    pub reproduction: Vec<Option<f64>>,
}

/// How often something happened in one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FailureCell {
    /// Runs in which it happened.
    pub fails: f64,
    /// Runs, failed ones included.
    pub runs: usize,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The metric.
    pub name: String,
    /// One cell a column.
    pub cells: Vec<Cell>,
    /// Further columns against the first.
    pub changes: Vec<Change>,
}

/// One column's samples of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Their mean; `None` when no run has the metric.
    pub mean: Option<f64>,
    /// Their population standard deviation in percent of the mean; `None` when there are fewer
    /// than two or the mean is zero.
    pub spread_percent: Option<f64>,
    /// Runs that have the metric.
    pub present: usize,
    /// Runs that ended well.
    pub runs: usize,
}

/// How a mean moved against the first column's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// In percent of the first column's mean.
    Percent(f64),
    /// In points: the metric is a percentage itself.
    Points(f64),
    /// The first column's mean is zero and this one is not: no percentage says how much.
    FromZero {
        /// Whether it rose.
        rose: bool,
    },
    /// A side has no sample.
    Absent,
}

impl Change {
    /// A number to sort by.
    pub(crate) fn rank(&self) -> f64 {
        match self {
            Change::Percent(value) | Change::Points(value) => *value,
            Change::FromZero { rose: true } => f64::MAX,
            Change::FromZero { rose: false } => f64::MIN,
            Change::Absent => 0.0,
        }
    }
}
