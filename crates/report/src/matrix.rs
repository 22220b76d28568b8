//! Metrics by runs: a comparison laid out so that each metric's samples lie together.

use std::collections::BTreeSet;

use patchmark_model::{Comparison, Kpis, SampleSet};

use crate::lkp::names;

/// Says in which runs a run ended before its end; lkp-tests' name for it.
pub(crate) const INCOMPLETE: &str = "last_state.is_incomplete_run";

/// The samples of every metric of every column.
#[derive(Debug)]
pub(crate) struct Matrix {
    /// Names of the metrics, sorted (or in the order of the source, for the peer's tables).
    pub(crate) names: Vec<String>,
    /// Which of them count failures.
    counters: Vec<bool>,
    /// One block of samples a column.
    pub(crate) columns: Vec<Samples>,
}

/// The samples of one column.
#[derive(Debug)]
pub(crate) struct Samples {
    /// Whether each run ended well.
    pub(crate) complete: Vec<bool>,
    /// Row by row: the runs of the first metric, then those of the second.
    cells: Vec<Option<f64>>,
    /// Which cells were written as integers; empty when that is not known.
    integers: Vec<bool>,
    /// The rows in the order of the source; empty when that is the order of the names.
    order: Vec<usize>,
}

impl Samples {
    /// Number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.complete.len()
    }

    /// The samples of a metric, one a run; failed runs included.
    pub(crate) fn row(&self, metric: usize) -> &[Option<f64>] {
        let start = metric * self.runs();
        self.cells.get(start..start + self.runs()).unwrap_or_default()
    }

    /// Whether the sample of a metric in a run was written as an integer.
    pub(crate) fn is_integer(&self, metric: usize, run: usize) -> bool {
        self.integers.get(metric * self.runs() + run).copied().unwrap_or(false)
    }

    /// The rows that any run has, in the order of the source.
    pub(crate) fn rows(&self) -> Vec<usize> {
        if !self.order.is_empty() {
            return self.order.clone();
        }
        let rows = self.cells.len().checked_div(self.runs()).unwrap_or(0);
        (0..rows).filter(|row| self.has(*row)).collect()
    }

    /// Whether any run has the metric.
    pub(crate) fn has(&self, metric: usize) -> bool {
        self.row(metric).iter().any(Option::is_some)
    }

    /// The samples of a metric over the runs that ended well.
    pub(crate) fn samples(&self, metric: usize) -> SampleSet {
        let runs = self.row(metric).iter().zip(&self.complete);
        SampleSet(runs.filter(|(_, complete)| **complete).map(|(sample, _)| *sample).collect())
    }
}

impl Matrix {
    /// Lays a comparison out. A row is added for each headline metric that no run has, and one
    /// for each way in which runs failed: a counter `last_state.<reason>`.
    pub(crate) fn of(comparison: &Comparison, kpis: &Kpis) -> Matrix {
        let mut names: Vec<&str> = kpis.keys().map(|name| name.as_str()).collect();
        for run in comparison.columns.iter().flat_map(|column| &column.runs) {
            let of_run = || run.metrics.keys().map(|name| name.as_str());
            if run.metrics.len() != names.len() || !of_run().eq(names.iter().copied()) {
                names = merged(&names, of_run());
            }
        }
        let failures: BTreeSet<String> = comparison
            .columns
            .iter()
            .flat_map(|column| &column.runs)
            .flat_map(|run| failure_counters(run.complete, run.failure.as_deref()))
            .collect();
        names = merged(&names, failures.iter().map(String::as_str));
        let columns = comparison.columns.iter().map(|column| {
            let runs = column.runs.len();
            let mut cells = vec![None; names.len() * runs];
            for (run, of_run) in column.runs.iter().enumerate() {
                let counters = failure_counters(of_run.complete, of_run.failure.as_deref());
                let counters: Vec<(&str, f64)> =
                    counters.iter().map(|name| (name.as_str(), 1.0)).collect();
                let measured = of_run.metrics.iter().map(|(name, value)| (name.as_str(), *value));
                if of_run.metrics.len() == names.len() {
                    // Every name is the run's own, so the values stand in the order of the rows.
                    let samples = cells.iter_mut().skip(run).step_by(runs);
                    for (cell, value) in samples.zip(of_run.metrics.values()) {
                        *cell = value.is_finite().then_some(*value);
                    }
                    continue;
                }
                fill(&mut cells, &names, runs, run, counters.into_iter());
                fill(&mut cells, &names, runs, run, measured);
            }
            let complete = column.runs.iter().map(|run| run.complete).collect();
            Samples { complete, cells, integers: Vec::new(), order: Vec::new() }
        });
        let columns = columns.collect();
        Matrix::new(names.into_iter().map(str::to_owned).collect(), columns)
    }

    fn new(names: Vec<String>, columns: Vec<Samples>) -> Matrix {
        let counters = names.iter().map(|name| names::is_counter(name)).collect();
        Matrix { names, counters, columns }
    }

    /// Whether a row counts failures.
    pub(crate) fn is_counter(&self, row: usize) -> bool {
        self.counters.get(row).copied().unwrap_or(false)
    }

    /// Rows given one by one: name and samples by column. `orders` are the rows of each column in its own order.
    #[cfg(test)]
    pub(crate) fn from_rows(
        rows: &[(String, Vec<Typed>)],
        complete: Vec<Vec<bool>>,
        orders: &[Vec<usize>],
    ) -> Matrix {
        let column = |(at, complete): (usize, Vec<bool>)| {
            let cells: Vec<_> = rows.iter().flat_map(|(_, columns)| columns[at].clone()).collect();
            Samples {
                complete,
                integers: cells.iter().map(|cell| cell.is_none_or(|(_, int)| int)).collect(),
                cells: cells.into_iter().map(|cell| cell.map(|(value, _)| value)).collect(),
                order: orders[at].clone(),
            }
        };
        Matrix::new(
            rows.iter().map(|(name, _)| name.clone()).collect(),
            complete.into_iter().enumerate().map(column).collect(),
        )
    }
}

/// The samples of one metric in one column, each with whether it was written as an integer.
#[cfg(test)]
pub(crate) type Typed = Vec<Option<(f64, bool)>>;

/// The counters that a failed run adds to: what lkp-tests calls it, and the reason.
fn failure_counters(complete: bool, failure: Option<&str>) -> Vec<String> {
    if complete {
        return Vec::new();
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let reason: String =
        failure.unwrap_or_default().chars().take_while(|c| word(*c)).take(40).collect();
    let mut counters = vec![INCOMPLETE.to_owned()];
    if !reason.is_empty() {
        counters.push(format!("last_state.{reason}"));
    }
    counters.sort();
    counters
}

/// Two sorted lists without duplicates as one.
fn merged<'a>(known: &[&'a str], more: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::with_capacity(known.len() + 16);
    let mut known = known.iter().copied().peekable();
    for name in more {
        while let Some(before) = known.next_if(|before| *before < name) {
            all.push(before);
        }
        known.next_if_eq(&name);
        all.push(name);
    }
    all.extend(known);
    all
}

/// Writes one run's values, sorted by name, into its cells. What is not finite is absent.
fn fill<'a>(
    cells: &mut [Option<f64>],
    names: &[&str],
    runs: usize,
    run: usize,
    values: impl Iterator<Item = (&'a str, f64)>,
) {
    let mut rows = names.iter().enumerate();
    for (name, value) in values {
        let Some((row, _)) = rows.find(|(_, other)| **other == name) else { return };
        if let Some(cell) = cells.get_mut(row * runs + run) {
            *cell = value.is_finite().then_some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use patchmark_model::{Axes, Column, ColumnRun};

    use super::*;

    fn run(id: &str, metrics: &[(&str, f64)], failure: Option<&str>) -> ColumnRun {
        ColumnRun {
            id: id.parse().unwrap(),
            complete: failure.is_none(),
            failure: failure.map(str::to_owned),
            metrics: metrics.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
        }
    }

    #[test]
    fn every_sample_finds_its_place() {
        let runs = vec![
            run("1", &[("a", 1.0), ("c", 3.0)], None),
            run("2", &[("b", 2.0), ("c", f64::NAN)], None),
            run("3", &[], Some("kernel_panic: oops")),
        ];
        let column = Column { value: "x".into(), note: None, runs };
        let comparison =
            Comparison { axes: Axes::default(), key: "commit".into(), columns: vec![column] };
        let kpis = Kpis::from([("d".into(), patchmark_model::Kpi { direction: None, unit: None })]);
        let matrix = Matrix::of(&comparison, &kpis);
        assert_eq!(
            matrix.names,
            ["a", "b", "c", "d", "last_state.is_incomplete_run", "last_state.kernel_panic"]
        );
        let column = &matrix.columns[0];
        assert_eq!(column.row(0), [Some(1.0), None, None]);
        assert_eq!(column.row(1), [None, Some(2.0), None]);
        assert_eq!(column.row(2), [Some(3.0), None, None]);
        assert_eq!(column.row(3), [None; 3]);
        assert_eq!(column.row(5), [None, None, Some(1.0)]);
        assert_eq!(column.samples(0).runs(), 2);
        for name in comparison.metric_names() {
            let position = matrix.names.iter().position(|other| other == name.as_str()).unwrap();
            let direct = comparison.columns[0].samples(name.as_str());
            let finite = SampleSet(direct.0.iter().map(|x| x.filter(|x| x.is_finite())).collect());
            assert_eq!(column.samples(position), finite);
        }
    }
}
