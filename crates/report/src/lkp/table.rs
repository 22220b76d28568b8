//! The peer's table: its selection, its arithmetic.

use patchmark_model::MetricName;
use patchmark_stats::{mean, population_stddev};

use super::change::{ProfileThreshold, RangeTest, Rule, changed_rows};
use super::names;
use super::order::{SortKey, order};
use crate::TableOptions;
use crate::matrix::{INCOMPLETE, Matrix, Samples};
use crate::table::{Cell, Change, FailureCell, FailureRow, Row, Table};

/// The table as the peer makes it.
pub(crate) fn table(matrix: &Matrix, options: &TableOptions) -> Table {
    let mut selected = if options.all {
        (0..matrix.names.len())
            .filter(|row| matrix.columns.iter().any(|column| column.has(*row)))
            .collect()
    } else {
        changed_rows(matrix, &rule(options))
    };
    if options.kpi {
        selected.retain(|row| matrix.names.get(*row).is_some_and(|name| names::is_kpi(name)));
    }
    let incomplete = matrix.names.iter().position(|name| name == INCOMPLETE);
    let sides: Vec<Side> = matrix.columns.iter().map(|c| Side::new(c, incomplete)).collect();
    sorted(selected.iter().filter_map(|row| {
        let name = matrix.names.get(*row)?;
        Some(if matrix.is_counter(*row) {
            AnyRow::Failure(failure_row(name, *row, &sides))
        } else {
            AnyRow::Measured(measured_row(name, *row, &sides))
        })
    }))
}

fn rule(options: &TableOptions) -> Rule {
    // The default is an integer there, and so applies to integers only.
    const DEFAULT: ProfileThreshold = ProfileThreshold::Integer(5.0);
    Rule {
        test: RangeTest::Apart,
        more: options.more,
        profile: Some(options.perf_profile_threshold.map_or(DEFAULT, ProfileThreshold::Float)),
        regressions_only: false,
    }
}

/// A row of either kind.
pub(crate) enum AnyRow {
    /// A counter of failures.
    Failure(FailureRow),
    /// A measurement.
    Measured(Row),
}

impl AnyRow {
    fn name(&self) -> &str {
        match self {
            AnyRow::Failure(row) => &row.name,
            AnyRow::Measured(row) => &row.name,
        }
    }

    fn changes(&self) -> Vec<f64> {
        match self {
            AnyRow::Failure(row) => row.reproduction.iter().map(|x| x.unwrap_or(0.0)).collect(),
            AnyRow::Measured(row) => row.changes.iter().map(Change::rank).collect(),
        }
    }
}

/// Rows in the peer's order, failures apart.
pub(crate) fn sorted(rows: impl Iterator<Item = AnyRow>) -> Table {
    let rows: Vec<AnyRow> = rows.collect();
    let changes: Vec<Vec<f64>> = rows.iter().map(AnyRow::changes).collect();
    let keys: Vec<SortKey> = rows
        .iter()
        .zip(&changes)
        .map(|(row, changes)| SortKey {
            name: row.name(),
            is_counter: matches!(row, AnyRow::Failure(_)),
            changes,
        })
        .collect();
    let order = order(&keys);
    let mut rows: Vec<Option<AnyRow>> = rows.into_iter().map(Some).collect();
    let mut table = Table { lkp_compatible: true, ..Table::default() };
    for at in order {
        match rows.get_mut(at).and_then(Option::take) {
            Some(AnyRow::Failure(row)) => table.failures.push(row),
            Some(AnyRow::Measured(row)) => table.rows.push(row),
            None => {}
        }
    }
    table
}

/// A column, and which of its runs its means are made of.
struct Side<'m> {
    samples: &'m Samples,
    kept: Vec<usize>,
}

impl<'m> Side<'m> {
    fn new(samples: &'m Samples, incomplete: Option<usize>) -> Self {
        let is_marked = incomplete.is_some_and(|row| samples.has(row));
        let ended_well = |run: &usize| samples.complete.get(*run) == Some(&true);
        let kept = (0..samples.runs()).filter(|run| !is_marked || ended_well(run)).collect();
        Side { samples, kept }
    }
}

fn failure_row(name: &str, row: usize, sides: &[Side]) -> FailureRow {
    let cells: Vec<FailureCell> = sides
        .iter()
        .map(|side| FailureCell {
            // From a positive zero: the empty sum of floats is a negative one.
            fails: side.samples.row(row).iter().flatten().fold(0.0, |sum, value| sum + value),
            runs: side.samples.runs(),
        })
        .collect();
    let share = |fails: f64, runs: usize| fails / runs as f64;
    // The neighbour's number of runs: the peer's index is off by one.
    let reproduction = cells
        .iter()
        .zip(cells.iter().skip(1))
        .zip(std::iter::repeat(cells.first()))
        .map(|((before, cell), first)| {
            let first = first.map_or(0.0, |first| share(first.fails, first.runs));
            let difference = 100.0 * (share(cell.fails, before.runs) - first);
            difference.is_finite().then_some(difference)
        })
        .collect();
    FailureRow { name: name.to_owned(), cells, reproduction }
}

fn measured_row(name: &str, row: usize, sides: &[Side]) -> Row {
    let cells: Vec<Cell> = sides.iter().map(|side| cell(row, side)).collect();
    let average = |cell: Option<&Cell>| cell.and_then(|cell| cell.mean).unwrap_or(0.0);
    let base = average(cells.first());
    let is_share = MetricName::new(name).is_share();
    let changes = cells.iter().skip(1).map(|cell| {
        let head = average(Some(cell));
        if is_share {
            return Change::Points(head - base);
        }
        let base = if base == 0.0 { 1e-100 } else { base };
        Change::Percent(100.0 * (head - base) / base)
    });
    Row { name: name.to_owned(), changes: changes.collect(), cells }
}

fn cell(row: usize, side: &Side) -> Cell {
    let samples = side.samples.row(row);
    let present = side.kept.iter().filter_map(|run| samples.get(*run).copied().flatten()).count();
    let values: Vec<f64> =
        side.kept.iter().map(|run| samples.get(*run).copied().flatten().unwrap_or(0.0)).collect();
    let average = mean(&values).filter(|_| side.samples.has(row)).unwrap_or(0.0);
    // One run, or none, has a deviation of -1 there.
    let deviation = match values.len() {
        0 | 1 => -1.0,
        _ => population_stddev(&values).unwrap_or(-1.0),
    };
    let spread = if average == 0.0 { deviation } else { 100.0 * deviation / average };
    Cell { mean: Some(average), spread_percent: Some(spread), present, runs: side.kept.len() }
}
