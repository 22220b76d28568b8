//! Reference values computed with numpy and scipy, read in place when they are there.

#![allow(clippy::unwrap_used)]

use patchmark_stats::{Moments, mean, population_stddev, sample_variance, welch};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn assert_close(found: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected.as_f64().unwrap();
    let scale = expected.abs().max(1e-12);
    assert!((found - expected).abs() <= tolerance * scale, "{what}: {found} is not {expected}");
}

fn check(vectors: &Value) -> usize {
    let cases = vectors["welch"]["cases"].as_array().unwrap();
    for case in cases {
        let base = Moments::of(&numbers(&case["a"])).unwrap();
        let head = Moments::of(&numbers(&case["b"])).unwrap();
        if case["t"].is_null() {
            assert_eq!(welch(&base, &head), None);
            continue;
        }
        let result = welch(&base, &head).unwrap();
        let interval = result.interval(0.95).unwrap();
        assert_close(result.difference, &case["diff"], 1e-9, "difference");
        assert_close(result.error, &case["se"], 1e-9, "error");
        assert_close(result.t(), &case["t"], 1e-9, "t");
        assert_close(result.df, &case["df"], 1e-9, "df");
        assert_close(result.p().unwrap(), &case["p"], 1e-9, "p");
        assert_close(interval.low, &case["ci95"][0], 1e-9, "low");
        assert_close(interval.high, &case["ci95"][1], 1e-9, "high");
    }
    let tables = vectors["lkp_table"]["cases"].as_array().unwrap();
    for case in tables {
        for side in ["a", "b"] {
            let values = numbers(&case[side]);
            let average = mean(&values).unwrap();
            assert_close(average, &case[format!("avg_{side}")], 1e-12, "average");
            if average != 0.0 {
                let percent = 100.0 * population_stddev(&values).unwrap() / average;
                assert_close(percent, &case[format!("stddev_pct_{side}")], 1e-12, "stddev");
            }
        }
    }
    cases.len() + tables.len()
}

#[test]
fn agrees_with_the_shared_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/stats/vectors.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: ../shared is not here");
        return;
    };
    assert!(check(&serde_json::from_str(&text).unwrap()) > 3);
}

#[test]
fn agrees_with_recorded_vectors() {
    let recorded: Value = serde_json::from_str(include_str!("fixtures/welch.json")).unwrap();
    assert_eq!(check(&recorded), 5);
    assert_eq!(sample_variance(&[2.0, 4.0]), Some(2.0));
}
