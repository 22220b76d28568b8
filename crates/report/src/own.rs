//! Our own table: absent samples left out, counts of runs right, headline metrics first, then
//! what a verdict says moved.

use patchmark_model::{Call, MetricName};
use patchmark_stats::population_stddev;

use crate::TableOptions;
use crate::lkp::table::{AnyRow, sorted};
use crate::matrix::{INCOMPLETE, Matrix};
use crate::report::ReportMetric;
use crate::table::{Cell, Change, FailureCell, FailureRow, Row, Table};

/// The table of the metrics that were judged and of the failures that were counted.
pub(crate) fn table(matrix: &Matrix, metrics: &[ReportMetric], options: &TableOptions) -> Table {
    let (kpis, others): (Vec<&ReportMetric>, Vec<&ReportMetric>) =
        metrics.iter().partition(|metric| metric.kpi.is_some());
    let failures =
        failures(matrix).into_iter().filter(|row| options.all || differs(row)).map(AnyRow::Failure);
    let moved = others
        .into_iter()
        .filter(|metric| !options.kpi && is_wanted(metric, options))
        .map(|metric| AnyRow::Measured(row(metric)));
    let mut table = sorted(failures.chain(moved));
    table.lkp_compatible = false;
    table.rows.splice(..0, kpis.into_iter().map(row));
    table
}

fn is_wanted(metric: &ReportMetric, options: &TableOptions) -> bool {
    if options.all {
        return true;
    }
    if let Some(limit) = options.perf_profile_threshold
        && metric.name.as_str().starts_with("perf-profile.")
    {
        return metric.samples.iter().any(|samples| samples.mean.is_some_and(|mean| mean > limit));
    }
    metric.verdicts.iter().any(|v| matches!(v.call, Call::Better | Call::Worse | Call::Changed))
}

fn row(metric: &ReportMetric) -> Row {
    let cells: Vec<Cell> = metric
        .samples
        .iter()
        .map(|samples| Cell {
            mean: samples.mean,
            spread_percent: spread_percent(&samples.present(), samples.mean),
            present: samples.count(),
            runs: samples.values.len(),
        })
        .collect();
    let base = cells.first().and_then(|cell| cell.mean);
    let changes = cells.iter().skip(1).map(|cell| change(&metric.name, base, cell.mean)).collect();
    Row { name: metric.name.to_string(), cells, changes }
}

fn spread_percent(values: &[f64], mean: Option<f64>) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean.filter(|mean| *mean != 0.0)?;
    Some(100.0 * population_stddev(values)? / mean.abs()).filter(|percent| percent.is_finite())
}

fn change(name: &MetricName, base: Option<f64>, head: Option<f64>) -> Change {
    let (Some(base), Some(head)) = (base, head) else { return Change::Absent };
    if !(head - base).is_finite() {
        return Change::Absent;
    }
    if name.is_share() {
        return Change::Points(head - base);
    }
    if base == head {
        return Change::Percent(0.0);
    }
    let percent = 100.0 * (head - base) / base.abs();
    if percent.is_finite() {
        Change::Percent(percent)
    } else {
        Change::FromZero { rose: head > base }
    }
}

/// Counters of failures: in how many of all runs each happened. A counter that a run lacks did
/// not happen in it.
pub(crate) fn failures(matrix: &Matrix) -> Vec<FailureRow> {
    let has_reason = matrix.names.iter().any(|name| {
        name.starts_with("last_state.") && name != INCOMPLETE && !name.ends_with("exit_fail")
    });
    matrix
        .names
        .iter()
        .enumerate()
        .filter(|(row, name)| matrix.is_counter(*row) && !name.ends_with(".pass"))
        .filter(|(_, name)| !(has_reason && *name == INCOMPLETE))
        .map(|(row, name)| failure_row(matrix, row, name))
        .collect()
}

fn failure_row(matrix: &Matrix, row: usize, name: &str) -> FailureRow {
    let cells: Vec<FailureCell> = matrix
        .columns
        .iter()
        .map(|column| {
            let happened = column.row(row).iter().flatten().filter(|value| **value > 0.0);
            FailureCell { fails: happened.count() as f64, runs: column.runs() }
        })
        .collect();
    let share = |cell: &FailureCell| (cell.runs > 0).then(|| cell.fails / cell.runs as f64);
    let base = cells.first().and_then(share);
    let reproduction =
        cells.iter().skip(1).map(|cell| Some(100.0 * (share(cell)? - base?))).collect();
    FailureRow { name: name.to_owned(), cells, reproduction }
}

fn differs(row: &FailureRow) -> bool {
    row.reproduction.iter().any(|difference| difference.is_some_and(|d| d != 0.0))
}
