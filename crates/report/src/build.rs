//! Samples to report: the only place where a report is computed.

use std::collections::BTreeMap;

use patchmark_model::{Call, Column, Comparison, EffectUnit, Kpi, Kpis, MetricName, Verdict};
use patchmark_stats::{mean, sample_variance};
use patchmark_verdict::{Policy, judge};

use crate::lkp::names;
use crate::matrix::Matrix;
use crate::report::{
    Absent, AgainstBase, FailedRun, Group, LeftOut, ReportColumn, ReportMetric, Samples, Thresholds,
};
use crate::{Context, Report, TableOptions, lkp, own};

impl Report {
    /// Computes everything that is told about `comparison`: verdicts of every metric, what
    /// moved, what was left out, and the table that `options` ask for.
    pub fn build(
        comparison: &Comparison,
        kpis: &Kpis,
        context: &Context,
        policy: &Policy,
        options: &TableOptions,
    ) -> Report {
        let matrix = Matrix::of(comparison, kpis);
        Report::of_matrix(&matrix, comparison, kpis, context, policy, options)
    }

    pub(crate) fn of_matrix(
        matrix: &Matrix,
        comparison: &Comparison,
        kpis: &Kpis,
        context: &Context,
        policy: &Policy,
        options: &TableOptions,
    ) -> Report {
        let metrics = judged(matrix, kpis, policy);
        let table = if options.lkp_compatible {
            lkp::table::table(matrix, options)
        } else {
            own::table(matrix, &metrics, options)
        };
        let further = 1..comparison.columns.len();
        Report {
            format: 1,
            job: context.job.clone(),
            clock: context.clock,
            clock_meaning: context.clock.meaning().to_owned(),
            machine: context.machine.clone(),
            axes: comparison.axes.clone(),
            key: comparison.key.clone(),
            columns: comparison.columns.iter().map(report_column).collect(),
            thresholds: Thresholds {
                kpi_confidence: policy.kpi_confidence,
                other_confidence: policy.other_confidence,
                smallest_percent: policy.smallest_percent,
                smallest_points: policy.smallest_points,
            },
            failures: own::failures(matrix),
            against_base: further.map(|column| against_base(column, &metrics, policy)).collect(),
            left_out: left_out(&metrics, context),
            notes: context.notes.clone(),
            table_options: *options,
            table,
            metrics,
        }
    }
}

fn report_column(column: &Column) -> ReportColumn {
    let failed = column.runs.iter().filter(|run| !run.complete);
    ReportColumn {
        value: column.value.clone(),
        note: column.note.clone(),
        runs: column.runs.len(),
        complete_runs: column.complete_runs(),
        failed: failed
            .map(|run| FailedRun {
                id: run.id.clone(),
                reason: run.failure.clone().unwrap_or_else(|| "no reason recorded".to_owned()),
            })
            .collect(),
    }
}

fn judged(matrix: &Matrix, kpis: &Kpis, policy: &Policy) -> Vec<ReportMetric> {
    let rows = matrix.names.iter().enumerate();
    rows.filter_map(|(row, name)| {
        let name = MetricName::new(name.clone());
        let kpi = kpis.get(&name);
        if kpi.is_none() && matrix.is_counter(row) {
            return None;
        }
        Some(judge_row(matrix, row, name, kpi, policy))
    })
    .collect()
}

fn judge_row(
    matrix: &Matrix,
    row: usize,
    name: MetricName,
    kpi: Option<&Kpi>,
    policy: &Policy,
) -> ReportMetric {
    let sets: Vec<_> = matrix.columns.iter().map(|column| column.samples(row)).collect();
    let verdicts = sets.split_first().map_or_else(Vec::new, |(base, heads)| {
        heads.iter().map(|head| judge(base, head, &name, kpi, policy)).collect()
    });
    let samples = sets.into_iter().map(|set| {
        let present = set.present();
        Samples {
            mean: mean(&present),
            stddev: sample_variance(&present).map(f64::sqrt).filter(|stddev| stddev.is_finite()),
            values: set.0,
        }
    });
    let samples = samples.collect();
    ReportMetric { name, kpi: kpi.cloned(), samples, verdicts }
}

fn against_base(column: usize, metrics: &[ReportMetric], policy: &Policy) -> AgainstBase {
    let mut kpis = Vec::new();
    let (mut moved, mut unchanged, mut unsure) = (0, 0, 0);
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    let verdict = |at: usize| metrics.get(at)?.verdicts.get(column - 1);
    for (at, metric) in metrics.iter().enumerate() {
        if metric.kpi.is_some() {
            kpis.push(at);
            continue;
        }
        let Some(verdict) = verdict(at) else { continue };
        let program = metric.name.program();
        let group = groups.entry(program).or_insert_with(|| Group {
            program: program.to_owned(),
            judged: 0,
            moved: Vec::new(),
        });
        group.judged += usize::from(has_interval(verdict));
        match verdict.call {
            Call::Better | Call::Worse | Call::Changed => {
                group.moved.push(at);
                moved += 1;
            }
            Call::Unchanged => unchanged += 1,
            Call::Unsure => unsure += 1,
        }
    }
    let judged: usize = groups.values().map(|group| group.judged).sum();
    let size = |at: usize| verdict(at).map_or((false, 0.0), size);
    let mut groups: Vec<Group> =
        groups.into_values().filter(|group| !group.moved.is_empty()).collect();
    for group in &mut groups {
        group.moved.sort_by(|a, b| descending(size(*a), size(*b)));
    }
    let largest = |group: &Group| group.moved.first().map_or((false, 0.0), |at| size(*at));
    // What was measured, then what explains it, then the rest.
    let rank = |group: &Group| match group.program.as_str() {
        program if names::is_test(program) => 0,
        "perf-profile" => 1,
        "perf-stat" => 2,
        _ => 3,
    };
    groups.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| descending(largest(a), largest(b))));
    AgainstBase {
        column,
        kpis,
        moved,
        unchanged,
        unsure,
        moved_by_chance: (1.0 - policy.other_confidence) * judged as f64,
        groups,
    }
}

fn has_interval(verdict: &Verdict) -> bool {
    verdict.effect.is_some_and(|effect| effect.low.is_some())
}

/// What changes are ranked by: percentages and points among themselves, with those first that
/// have no percentage because the base is zero or nearly so.
fn size(verdict: &Verdict) -> (bool, f64) {
    verdict
        .effect
        .map_or((false, 0.0), |effect| (effect.unit == EffectUnit::Percent, effect.estimate.abs()))
}

fn descending(a: (bool, f64), b: (bool, f64)) -> std::cmp::Ordering {
    b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
}

fn left_out(metrics: &[ReportMetric], context: &Context) -> LeftOut {
    let mut left_out = LeftOut { skipped: context.skipped.clone(), ..LeftOut::default() };
    for (at, metric) in metrics.iter().enumerate() {
        let present: Vec<usize> = metric.samples.iter().map(Samples::count).collect();
        let runs: Vec<usize> = metric.samples.iter().map(|samples| samples.values.len()).collect();
        left_out.withheld += usize::from(metric.verdicts.iter().any(|v| v.effect.is_none()));
        left_out.too_few += usize::from(
            present.iter().min().is_some_and(|fewest| *fewest < 2)
                && metric.verdicts.iter().any(|v| v.effect.is_some() && !has_interval(v)),
        );
        if present != runs {
            left_out.absent.push(Absent { metric: at, present, runs });
        }
    }
    left_out
}
