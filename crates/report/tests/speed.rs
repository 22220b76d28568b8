//! A table of 4 columns, 6 runs each, 10,000 metrics.

#![allow(clippy::unwrap_used)]

use std::time::Instant;

use patchmark_model::{Axes, Clock, Column, ColumnRun, Comparison, Kpis, Metrics};
use patchmark_report::render::{SummaryOptions, lkp, summary};
use patchmark_report::{Context, Report, TableOptions};
use patchmark_verdict::Policy;

const METRICS: usize = 10_000;

/// Numbers that look random and are the same each time.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1_u64 << 53) as f64
}

fn comparison() -> Comparison {
    let mut seed = 7;
    let programs =
        ["stress-ng", "perf-profile.self", "sched_debug", "slabinfo", "interrupts", "proc-vmstat"];
    let mut run = |column: usize, run: usize| ColumnRun {
        id: format!("{column}-{run}").parse().unwrap(),
        complete: true,
        failure: None,
        metrics: (0..METRICS)
            .map(|metric| {
                let name = format!("{}.metric_{metric}", programs[metric % programs.len()]);
                let shift = if metric % 10 == 0 { column as f64 } else { 0.0 };
                (name.as_str().into(), 1000.0 * (1.0 + shift) + 20.0 * noise(&mut seed))
            })
            .collect::<Metrics>(),
    };
    let columns = (0..4)
        .map(|column| Column {
            value: format!("kernel-{column}"),
            note: None,
            runs: (0..6).map(|at| run(column, at)).collect(),
        })
        .collect();
    Comparison { axes: Axes::new([("testcase", "stress-ng")]), key: "commit".to_owned(), columns }
}

#[test]
fn ten_thousand_metrics_take_a_moment() {
    let comparison = comparison();
    let context = Context {
        job: "stress-ng".to_owned(),
        clock: Clock::Kvm,
        machine: String::new(),
        notes: Vec::new(),
        skipped: Vec::new(),
    };
    let policy = Policy::default();
    for options in [
        TableOptions::default(),
        TableOptions { all: true, ..TableOptions::default() },
        TableOptions { lkp_compatible: true, ..TableOptions::default() },
        TableOptions { lkp_compatible: true, all: true, ..TableOptions::default() },
    ] {
        let start = Instant::now();
        let report = Report::build(&comparison, &Kpis::new(), &context, &policy, &options);
        let built = start.elapsed();
        let table = lkp(&report);
        let printed = start.elapsed() - built;
        let summary = summary(&report, &SummaryOptions::default());
        println!("{options:?}: built in {built:?}, table of {} bytes in {printed:?}", table.len());
        assert!(table.lines().count() > METRICS / 20 && summary.contains("kernel-3"));
        assert_eq!(report.metrics.len(), METRICS);
        // A debug build on a busy machine takes about a second; quadratic behaviour takes minutes.
        assert!(start.elapsed().as_secs() < 20);
    }
}
