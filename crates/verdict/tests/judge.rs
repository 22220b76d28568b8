//! Verdicts on hand-made samples, and what must hold for any samples.

use patchmark_model::{Call, Direction, Effect, EffectUnit, Kpi, MetricName, SampleSet, Verdict};
use patchmark_verdict::{Policy, judge};
use proptest::prelude::*;

fn kpi(direction: Option<Direction>) -> Kpi {
    Kpi { direction, unit: None }
}

fn set(values: &[f64]) -> SampleSet {
    SampleSet::complete(values.iter().copied())
}

fn verdict(base: &SampleSet, head: &SampleSet) -> Verdict {
    let kpi = kpi(Some(Direction::Higher));
    judge(base, head, &"stress-ng.sockfd.ops_per_sec".into(), Some(&kpi), &Policy::default())
}

fn told(base: &SampleSet, head: &SampleSet) -> String {
    tell(&verdict(base, head))
}

fn tell(verdict: &Verdict) -> String {
    let number = |x: Option<f64>| x.map_or("none".to_owned(), |x| format!("{x:.2}"));
    let effect = verdict.effect.map_or("no effect".to_owned(), |e: Effect| {
        let unit = if e.unit == EffectUnit::Percent { "%" } else { "" };
        format!("{:+.2}{unit} [{}, {}]", e.estimate, number(e.low), number(e.high))
    });
    format!("{:?}: {effect}: {}", verdict.call, verdict.reason)
}

#[test]
fn a_clear_drop_of_a_higher_is_better_metric_is_worse() {
    let base = set(&[100.0, 101.0, 99.0, 100.5, 99.5]);
    let head = set(&[83.0, 82.5, 83.2, 82.9, 82.4]);
    insta::assert_snapshot!(told(&base, &head), @"Worse: -17.20% [-18.02, -16.37]: the interval excludes no change");
    let lower = kpi(Some(Direction::Lower));
    let name = MetricName::new("x.seconds");
    let policy = Policy::default();
    assert_eq!(judge(&base, &head, &name, Some(&lower), &policy).call, Call::Better);
    assert_eq!(judge(&base, &head, &name, Some(&kpi(None)), &policy).call, Call::Changed);
    assert_eq!(judge(&base, &head, &name, None, &policy).call, Call::Changed);
}

#[test]
fn a_small_sure_change_is_unchanged_and_a_wide_interval_unsure() {
    let base = set(&[100.0, 100.1, 99.9, 100.0]);
    insta::assert_snapshot!(told(&base, &set(&[100.3, 100.4, 100.2, 100.3])), @"Unchanged: +0.30% [0.16, 0.44]: any change is within 1%");
    insta::assert_snapshot!(told(&base, &set(&[90.0, 110.0, 95.0, 120.0])), @"Unsure: +3.75% [-18.16, 25.66]: the interval includes no change and reaches beyond 1%");
}

#[test]
fn fewer_than_two_runs_call_nothing() {
    insta::assert_snapshot!(told(&set(&[100.0]), &set(&[50.0])), @"Unsure: -50.00% [none, none]: one run of each side has it: no interval without a second");
    insta::assert_snapshot!(told(&set(&[100.0, 101.0]), &set(&[50.0])), @"Unsure: -50.25% [none, none]: one run of the head has it: no interval without a second");
    insta::assert_snapshot!(told(&set(&[100.0, 101.0]), &set(&[])), @"Unsure: no effect: no run of the head ended well");
}

#[test]
fn absent_is_not_zero() {
    let base = SampleSet(vec![Some(99.0), Some(99.5), None, Some(98.5), Some(99.0), Some(99.0)]);
    let gone = SampleSet(vec![None; 6]);
    let once = SampleSet(vec![Some(98.7), None, None, None, None, None]);
    let full = set(&[99.0, 99.2, 98.8, 99.1, 98.9, 99.0]);
    insta::assert_snapshot!(told(&base, &gone), @"Unsure: no effect: absent in every run of the head");
    insta::assert_snapshot!(told(&gone, &base), @"Unsure: no effect: absent in every run of the base");
    insta::assert_snapshot!(told(&base, &once), @"Unsure: no effect: the sides lack it in different degrees: in 5 of 6 runs of the base and 1 of 6 of the head");
    insta::assert_snapshot!(told(&base, &full), @"Unchanged: +0.00% [-0.43, 0.44]: any change is within 1%; in 5 of 6 runs of the base and 6 of 6 of the head");
    let verdict = verdict(&base, &once);
    assert_eq!((verdict.base_coverage, verdict.head_coverage), ((5, 6), (1, 6)));
}

#[test]
fn constants_are_compared_exactly_but_not_within_their_resolution() {
    insta::assert_snapshot!(told(&set(&[7.0; 3]), &set(&[7.0; 3])), @"Unchanged: +0.00% [0.00, 0.00]: the same value in every run");
    insta::assert_snapshot!(told(&set(&[0.0; 3]), &set(&[0.0; 3])), @"Unchanged: +0.00 [0.00, 0.00]: the same value in every run");
    insta::assert_snapshot!(told(&set(&[5.0; 3]), &set(&[6.0; 3])), @"Unsure: +20.00% [none, none]: the sides differ by one step of the metric's resolution (1)");
    insta::assert_snapshot!(told(&set(&[10.0; 3]), &set(&[20.0; 3])), @"Better: +100.00% [100.00, 100.00]: the same value in every run of a side: exact");
    insta::assert_snapshot!(told(&set(&[100000.0; 3]), &set(&[100002.0; 3])), @"Unchanged: +0.00% [0.00, 0.00]: any change is within 1%");
    insta::assert_snapshot!(told(&set(&[0.0; 3]), &set(&[40.0; 3])), @"Better: +40.00 [40.00, 40.00]: the same value in every run of a side: exact");
    insta::assert_snapshot!(told(&set(&[10.0; 3]), &set(&[10.0, 11.0, 10.0])), @"Unsure: +3.33% [-8.47, 15.73]: the interval includes no change and reaches beyond 1%");
}

#[test]
fn shares_are_told_in_points_and_noisy_zeros_in_their_own_unit() {
    let name = MetricName::new("perf-profile.children.cycles-pp.unix_gc");
    let policy = Policy::default();
    let share = judge(&set(&[66.0, 66.1, 65.9]), &set(&[16.0, 16.4, 16.2]), &name, None, &policy);
    insta::assert_snapshot!(tell(&share), @"Changed: -49.80 [-50.57, -49.03]: the interval excludes no change");
    insta::assert_snapshot!(told(&set(&[0.0, 0.0, 1.0]), &set(&[50.0, 52.0, 51.0])), @"Better: +50.67 [48.62, 52.72]: the interval excludes no change");
    insta::assert_snapshot!(told(&set(&[-10.0, -11.0, -9.0]), &set(&[-20.0, -21.0, -19.0])), @"Worse: -10.00 [-12.27, -7.73]: the interval excludes no change");
}

fn samples() -> impl Strategy<Value = Vec<Option<f64>>> {
    let value = prop_oneof![4 => (1.0..1e4_f64).prop_map(Some), 1 => Just(None), 1 => Just(Some(0.0)), 1 => any::<f64>().prop_filter_map("finite", |x| x.is_finite().then_some(Some(x)))];
    proptest::collection::vec(value, 0..10)
}

/// Samples without a resolution of their own; steps of 1 would stay steps of 1 in another unit.
fn continuous() -> impl Strategy<Value = Vec<Option<f64>>> {
    proptest::collection::vec(proptest::option::weighted(0.9, 1.0..1e4_f64), 0..10)
}

proptest! {
    #[test]
    fn every_verdict_is_finite_and_says_why(base in samples(), head in samples()) {
        let verdict = verdict(&SampleSet(base), &SampleSet(head));
        prop_assert!(!verdict.reason.is_empty());
        if let Some(effect) = verdict.effect {
            prop_assert!(effect.estimate.is_finite());
            prop_assert_eq!(effect.low.is_some(), effect.high.is_some());
            if let (Some(low), Some(high)) = (effect.low, effect.high) {
                prop_assert!(low.is_finite() && high.is_finite());
                prop_assert!(low <= effect.estimate + 1e-6 && effect.estimate <= high + 1e-6);
            }
        }
        if verdict.effect.and_then(|e| e.low).is_none() {
            prop_assert_eq!(verdict.call, Call::Unsure);
        }
    }

    #[test]
    fn swapping_the_sides_turns_better_into_worse(base in samples(), head in samples()) {
        let (base, head) = (SampleSet(base), SampleSet(head));
        let (one, two) = (verdict(&base, &head), verdict(&head, &base));
        let swapped = match one.call {
            Call::Better => vec![Call::Worse],
            Call::Worse => vec![Call::Better],
            // The limit is a share of the base, so near it the two ways may differ.
            _ => vec![Call::Unchanged, Call::Unsure, Call::Better, Call::Worse],
        };
        if !near_limit(&one) && !near_limit(&two) {
            prop_assert!(swapped.contains(&two.call), "{one:?} {two:?}");
        }
    }

    #[test]
    fn a_change_of_unit_changes_no_call(base in continuous(), head in continuous(), k in 2_u32..1000) {
        let scaled = |set: &[Option<f64>]| {
            SampleSet(set.iter().map(|x| x.map(|x| x * f64::from(k))).collect())
        };
        let (one, two) = (verdict(&SampleSet(base.clone()), &SampleSet(head.clone())), verdict(&scaled(&base), &scaled(&head)));
        prop_assert_eq!(one.call, two.call);
    }
}

fn near_limit(verdict: &Verdict) -> bool {
    let ends = verdict.effect.map(|e| [e.low, e.high]).unwrap_or_default();
    ends.iter().flatten().any(|end| end.abs() < 1.2)
}
