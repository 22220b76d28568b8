//! The report as one value: everything that is told, computed once. Renderers only print it.

use patchmark_model::{Axes, Clock, Kpi, MetricName, RunId, Skipped, Verdict};
use serde::Serialize;

use crate::TableOptions;
use crate::table::{FailureRow, Table};

/// Everything that is told about a comparison. Its JSON is described in
/// `docs/report.schema.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this layout: 1.
    pub format: u32,
    /// The job's name.
    pub job: String,
    /// What the numbers mean, in a word.
    pub clock: Clock,
    /// What the numbers mean, in a sentence.
    pub clock_meaning: String,
    /// The machine in words.
    pub machine: String,
    /// The axes that all columns share.
    pub axes: Axes,
    /// The axis that is compared.
    pub key: String,
    /// The columns; the first is the base of all comparisons.
    pub columns: Vec<ReportColumn>,
    /// What counts as a change.
    pub thresholds: Thresholds,
    /// Every measurement, sorted by name.
    pub metrics: Vec<ReportMetric>,
    /// Every counter of failures, sorted by name.
    pub failures: Vec<FailureRow>,
    /// Each further column against the first.
    pub against_base: Vec<AgainstBase>,
    /// What was left out, and why.
    pub left_out: LeftOut,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Which rows the table has.
    pub table_options: TableOptions,
    /// The table.
    pub table: Table,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportColumn {
    /// Its value on the compared axis.
    pub value: String,
    /// Text behind the value.
    pub note: Option<String>,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that ended well.
    pub complete_runs: usize,
    /// The runs that did not.
    pub failed: Vec<FailedRun>,
}

/// A run that did not end well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedRun {
    /// Which run.
    pub id: RunId,
    /// Why, in words.
    pub reason: String,
}

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// Coverage of the intervals of headline metrics.
    pub kpi_confidence: f64,
    /// Coverage of the intervals of all others.
    pub other_confidence: f64,
    /// Smallest change that matters, in percent of the base.
    pub smallest_percent: f64,
    /// Smallest change of a share that matters, in points.
    pub smallest_points: f64,
}

/// One metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportMetric {
    /// Its name.
    pub name: MetricName,
    /// Set for headline metrics.
    pub kpi: Option<Kpi>,
    /// Its samples, one entry a column.
    pub samples: Vec<Samples>,
    /// Further columns against the first.
    pub verdicts: Vec<Verdict>,
}

/// The samples of one metric in one column, over the runs that ended well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Samples {
    /// In run order; `None` where a run lacks the metric.
    pub values: Vec<Option<f64>>,
    /// Mean of those that exist.
    pub mean: Option<f64>,
    /// Sample standard deviation (divided by n - 1) of those that exist, from two on.
    pub stddev: Option<f64>,
}

impl Samples {
    /// The values that exist.
    pub fn present(&self) -> Vec<f64> {
        self.values.iter().flatten().copied().collect()
    }

    /// Number of runs that have the metric.
    pub fn count(&self) -> usize {
        self.values.iter().flatten().count()
    }
}

/// One column against the first, over all metrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstBase {
    /// Which column, as an index.
    pub column: usize,
    /// The headline metrics, as indexes into `metrics`.
    pub kpis: Vec<usize>,
    /// Of the other metrics: those that moved.
    pub moved: usize,
    /// Of the other metrics: those whose change, if any, is too small to matter.
    pub unchanged: usize,
    /// Of the other metrics: those of which the samples say neither.
    pub unsure: usize,
    /// How many of those that were judged would look moved by chance alone if none had.
    pub moved_by_chance: f64,
    /// Those that moved, by program: the workload's first, then by the largest change.
    pub groups: Vec<Group>,
}

/// The metrics of one program that moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The part of their names before the first dot.
    pub program: String,
    /// How many metrics of this program were judged.
    pub judged: usize,
    /// Those that moved, as indexes into `metrics`, largest change first.
    pub moved: Vec<usize>,
}

/// What was left out, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeftOut {
    /// Setups and monitors that did not run.
    pub skipped: Vec<Skipped>,
    /// Metrics that some run which ended well lacks.
    pub absent: Vec<Absent>,
    /// Number of metrics with fewer than two samples on a side, so that nothing can be called.
    pub too_few: usize,
    /// Number of metrics whose difference was withheld because the sides lack them in different
    /// degrees, or altogether.
    pub withheld: usize,
}

/// A metric that some runs lack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Absent {
    /// The metric, as an index into `metrics`.
    pub metric: usize,
    /// By column: runs that have it.
    pub present: Vec<usize>,
    /// By column: runs that ended well.
    pub runs: Vec<usize>,
}
