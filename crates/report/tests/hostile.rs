//! Whatever a guest sends: reports are built and printed without a panic, and nothing in them
//! moves the cursor.

#![allow(clippy::unwrap_used)]

use patchmark_model::{Axes, Clock, Column, ColumnRun, Comparison, Direction, Kpi, Kpis, Metrics};
use patchmark_report::render::{SummaryOptions, lkp, summary};
use patchmark_report::{Context, Report, TableOptions};
use patchmark_verdict::Policy;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("stress-ng.a.ops".to_owned()),
        Just("perf-profile.self.x".to_owned()),
        Just("dmesg.WARNING:x".to_owned()),
        Just("last_state.is_incomplete_run".to_owned()),
        Just("a.fail".to_owned()),
        Just("a.pass".to_owned()),
        Just("meminfo.x%".to_owned()),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(-1.0),
        Just(0.005),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        -1e9..1e9_f64,
        any::<f64>()
    ]
}

fn run() -> impl Strategy<Value = ColumnRun> {
    let metrics = proptest::collection::btree_map(name(), value(), 0..9);
    (metrics, any::<bool>(), proptest::option::of(any::<String>())).prop_map(
        |(metrics, complete, failure)| ColumnRun {
            id: "x".parse().unwrap(),
            complete,
            failure: failure.filter(|_| !complete),
            metrics: metrics
                .iter()
                .map(|(name, value)| (name.as_str().into(), *value))
                .collect::<Metrics>(),
        },
    )
}

fn column() -> impl Strategy<Value = Column> {
    let runs = proptest::collection::vec(run(), 0..7);
    (any::<String>(), proptest::option::of(any::<String>()), runs)
        .prop_map(|(value, note, runs)| Column { value, note, runs })
}

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)))
}

proptest! {
    #[test]
    fn any_comparison_is_printed(
        columns in proptest::collection::vec(column(), 0..5),
        axis in any::<String>(),
        all in any::<bool>(),
        width in 0_usize..200,
        threshold in proptest::option::of(0.0..10.0_f64),
    ) {
        let comparison = Comparison { axes: Axes::new([(axis.as_str(), axis.as_str())]), key: axis.clone(), columns };
        let context = Context {
            job: axis.clone(),
            clock: Clock::Tcg,
            machine: axis.clone(),
            notes: vec![axis.clone()],
            skipped: Vec::new(),
        };
        let kpi = Kpi { direction: Some(Direction::Lower), unit: Some(axis) };
        let kpis = Kpis::from([("stress-ng.a.ops".into(), kpi)]);
        for lkp_compatible in [false, true] {
            let options = TableOptions { lkp_compatible, all, more: all, kpi: false, perf_profile_threshold: threshold };
            let report = Report::build(&comparison, &kpis, &context, &Policy::default(), &options);
            let table = lkp(&report);
            prop_assert!(is_harmless(&table), "{table:?}");
            let text = summary(&report, &SummaryOptions { width, ..SummaryOptions::default() });
            prop_assert!(is_harmless(&text), "{text:?}");
            prop_assert!(!text.contains("NaN") && !text.contains("+inf"), "{text}");
            prop_assert!(serde_json::to_string(&report).is_ok());
        }
    }
}
