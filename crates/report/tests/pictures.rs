//! What readers see: summaries and tables of made-up comparisons.

#![allow(clippy::unwrap_used)]

use patchmark_model::{
    Axes, Clock, Column, ColumnRun, Comparison, Direction, Kpi, Kpis, Metrics, Skipped,
};
use patchmark_report::render::{SummaryOptions, lkp, summary};
use patchmark_report::{Context, Report, TableOptions};
use patchmark_verdict::Policy;

/// A run that ended well.
fn run(id: usize, metrics: &[(&str, f64)]) -> ColumnRun {
    let metrics: Metrics = metrics.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    ColumnRun { id: format!("run-{id}").parse().unwrap(), complete: true, failure: None, metrics }
}

fn failed(id: usize, why: &str) -> ColumnRun {
    ColumnRun { complete: false, failure: Some(why.to_owned()), ..run(id, &[]) }
}

/// A column whose runs are made of rows: metric, and its sample of each run.
fn column(value: &str, note: Option<&str>, rows: &[(&str, &[f64])]) -> Column {
    let runs = rows.iter().map(|(_, samples)| samples.len()).max().unwrap_or(0);
    let of_run = |at: usize| -> Vec<(&str, f64)> {
        rows.iter().filter_map(|(name, row)| Some((*name, *row.get(at)?))).collect()
    };
    Column {
        value: value.to_owned(),
        note: note.map(str::to_owned),
        runs: (0..runs).map(|at| run(at, &of_run(at))).collect(),
    }
}

fn comparison(columns: Vec<Column>) -> Comparison {
    let axes = Axes::new([
        ("compiler", "gcc-12"),
        ("kconfig", "debian-cloud"),
        ("nr_threads", "100%"),
        ("rootfs", "packed"),
        ("tbox_group", "vm-icount-1c-1024m"),
        ("test", "sockfd"),
        ("testcase", "stress-ng"),
        ("testtime", "5s"),
    ]);
    Comparison { axes, key: "commit".to_owned(), columns }
}

fn kpis() -> Kpis {
    let unit = |unit: &str, direction| Kpi { direction, unit: Some(unit.to_owned()) };
    Kpis::from([
        ("stress-ng.sockfd.ops_per_sec".into(), unit("ops/s", Some(Direction::Higher))),
        ("stress-ng.time.elapsed_time".into(), unit("s", None)),
    ])
}

fn context() -> Context {
    Context {
        job: "stress-ng-sockfd".to_owned(),
        clock: Clock::Icount,
        machine: "QEMU 7.2 virtual machine, 1 CPU, 1024 MiB".to_owned(),
        notes: vec!["3 of 12 runs were kept from an earlier comparison.".to_owned()],
        skipped: vec![Skipped {
            program: "perf-stat".to_owned(),
            why: "no hardware counters in this guest".to_owned(),
        }],
    }
}

fn report(comparison: &Comparison, options: TableOptions) -> Report {
    Report::build(comparison, &kpis(), &context(), &Policy::default(), &options)
}

/// Summary and both tables, one below the other.
fn picture(comparison: &Comparison) -> String {
    let own = report(comparison, TableOptions::default());
    let options = TableOptions { lkp_compatible: true, ..TableOptions::default() };
    let compatible = report(comparison, options);
    let summary = summary(&own, &SummaryOptions::default());
    for line in summary.lines() {
        assert_eq!(line.trim_end(), line, "no blanks at the end of a line");
    }
    format!("{summary}\n# table\n{}\n# lkp-compatible\n{}", lkp(&own), lkp(&compatible))
}

const OLD: &str = "6.1.0-57-cloud-amd64";
const NEW: &str = "6.12.85-cloud-amd64";

fn base() -> Column {
    column(
        OLD,
        None,
        &[
            ("stress-ng.sockfd.ops_per_sec", &[927326.0, 926011.0, 928900.0, 927777.0, 925432.0]),
            ("stress-ng.time.elapsed_time", &[5.0, 5.0, 5.0, 5.0, 5.0]),
            ("perf-profile.children.cycles-pp.unix_gc", &[4.1, 4.2, 4.0, 4.3, 4.1]),
            ("perf-profile.self.cycles-pp.new_symbol", &[0.0, 0.0, 0.0, 0.0, 0.0]),
            ("vmstat.system.cs", &[64392.0, 64400.0, 64380.0, 64410.0, 64377.0]),
            ("vmstat.cpu.wa", &[0.0, 0.0, 0.0, 0.0, 0.0]),
            ("vmstat.swap.so", &[0.0, 0.0, 0.0, 0.0, 0.0]),
            ("proc-vmstat.pgfault", &[3487.0, 3490.0, 3480.0, 3477.0, 3499.0]),
            ("mpstat.cpu.all.usr%", &[10.5, 10.4, 10.6, 10.5, 10.5]),
            ("sched_debug.x", &[1.0, 9.0, 2.0, 7.0, 3.0]),
        ],
    )
}

fn head() -> Column {
    column(
        NEW,
        Some("<---- patch"),
        &[
            ("stress-ng.sockfd.ops_per_sec", &[767543.0, 768012.0, 766999.0, 768500.0, 767100.0]),
            ("stress-ng.time.elapsed_time", &[5.0, 5.0, 5.0, 5.0, 5.0]),
            ("perf-profile.children.cycles-pp.unix_gc", &[16.1, 16.2, 16.0, 16.3, 16.1]),
            ("perf-profile.self.cycles-pp.new_symbol", &[2.0, 2.1, 2.0, 1.9, 2.2]),
            ("vmstat.system.cs", &[65544.0, 65550.0, 65500.0, 65560.0, 65533.0]),
            ("vmstat.cpu.wa", &[3.0, 4.0, 3.0, 3.5, 3.0]),
            ("vmstat.swap.so", &[0.0, 0.0, 0.0, 0.0, 0.0]),
            ("proc-vmstat.pgfault", &[3427.0, 3420.0, 3430.0, 3440.0, 3429.0]),
            ("mpstat.cpu.all.usr%", &[12.5, 12.4, 12.6, 12.5, 12.5]),
            ("sched_debug.x", &[4.0, 5.0, 2.0, 6.0, 3.0]),
        ],
    )
}

#[test]
fn a_regression() {
    insta::assert_snapshot!(picture(&comparison(vec![base(), head()])));
}

#[test]
fn failed_runs() {
    let mut head = head();
    head.runs.truncate(4);
    head.runs.push(failed(8, "kernel_panic: Kernel panic - not syncing: Fatal exception"));
    head.runs.push(failed(9, "timeout: nothing heard for 120 s\x1b[2J\nreal text"));
    head.runs[0].metrics.insert("dmesg.WARNING:at_net/unix/garbage.c".into(), 1.0);
    insta::assert_snapshot!(picture(&comparison(vec![base(), head])));
}

#[test]
fn absent_samples() {
    let mut base = base();
    let mut head = head();
    base.runs[2].metrics.remove("proc-vmstat.pgfault");
    for run in &mut head.runs {
        run.metrics.remove("vmstat.system.cs");
    }
    for run in head.runs.iter_mut().take(3) {
        run.metrics.remove("stress-ng.sockfd.ops_per_sec");
    }
    insta::assert_snapshot!(picture(&comparison(vec![base, head])));
}

#[test]
fn one_run_each() {
    let (mut base, mut head) = (base(), head());
    base.runs.truncate(1);
    head.runs.truncate(1);
    insta::assert_snapshot!(picture(&comparison(vec![base, head])));
}

#[test]
fn no_change_at_all() {
    let mut head = base();
    head.value = NEW.to_owned();
    insta::assert_snapshot!(picture(&comparison(vec![base(), head])));
}

#[test]
fn three_columns() {
    let mut base = base();
    let (mut culprit, mut patched) = (head(), base.clone());
    base.value = "17d85f33a83b84e7a9d0e1f2c3b4a5968778695a".to_owned();
    base.note = Some("(\"Merge tag 'for-linus'\")".to_owned());
    culprit.value = "284922f4c563aa3a8558a00f2a05722133237fe8".to_owned();
    culprit.note = Some("(\"x86: uaccess: don't use runtime-const rewriting\")".to_owned());
    patched.value = "c4f1335ec1491688ec229c5cf26aabbccddeeff0".to_owned();
    patched.note = Some("<---- patch".to_owned());
    insta::assert_snapshot!(picture(&comparison(vec![base, culprit, patched])));
}

#[test]
fn no_run_ended_well() {
    let mut head = head();
    head.runs = vec![failed(1, "boot_failed: no console output"), failed(2, "boot_failed: none")];
    insta::assert_snapshot!(picture(&comparison(vec![base(), head])));
}

#[test]
fn nothing_to_compare() {
    insta::assert_snapshot!(picture(&comparison(vec![])));
}

#[test]
fn an_absent_headline() {
    let (mut base, mut head) = (base(), head());
    for run in base.runs.iter_mut().chain(&mut head.runs) {
        run.metrics.remove("stress-ng.sockfd.ops_per_sec");
    }
    let report = report(&comparison(vec![base, head]), TableOptions::default());
    insta::assert_snapshot!(summary(&report, &SummaryOptions { width: 80, ..Default::default() }));
}

#[test]
fn every_number_is_finite() {
    let (mut base, mut head) = (base(), head());
    base.runs[0].metrics.insert("vmstat.cpu.us".into(), f64::NAN);
    head.runs[1].metrics.insert("vmstat.cpu.us".into(), f64::INFINITY);
    base.runs[1].metrics.insert("x.huge".into(), f64::MAX);
    base.runs[2].metrics.insert("x.huge".into(), f64::MAX);
    let text = picture(&comparison(vec![base, head]));
    assert!(!text.contains("NaN"), "{text}");
}
