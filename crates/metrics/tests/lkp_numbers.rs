//! Known reductions and matrices: `../shared/conformance/{stats,stats_part,unite}`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod shared;

use std::path::Path;

use patchmark_metrics::Window;
use patchmark_metrics::lkp::{self, Lists, Matrix};
use patchmark_model::Metrics;
use serde_json::Value;
use shared::json;

/// `stats_part_begin: 10` of a job file.
fn window(job: &Path) -> Window {
    let job = std::fs::read_to_string(job).unwrap();
    let number = |key: &str| {
        let line = job.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        line.and_then(|value| value.trim().parse().ok())
    };
    Window { begin: number("stats_part_begin"), end: number("stats_part_end") }
}

fn lists(file: &Path) -> Lists {
    let lists = json(file);
    let lists = lists.as_object().unwrap().iter().map(|(name, values)| {
        let values = values.as_array().unwrap().iter().filter_map(Value::as_f64);
        (name.clone(), values.collect())
    });
    lists.collect()
}

fn run_numbers(input: &Path) -> Metrics {
    let window = window(&input.join("job.yaml"));
    let mut metrics = Metrics::new();
    for entry in std::fs::read_dir(input).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            let program = path.file_stem().unwrap().to_string_lossy().into_owned();
            metrics.extend(lkp::numbers(&program, &lists(&path), window));
        }
    }
    lkp::add_derived(&mut metrics);
    metrics
}

fn assert_close(got: &Metrics, expected: &Value, what: &Path) {
    let expected = expected.as_object().unwrap();
    for (name, value) in expected {
        let value = value.as_f64().unwrap();
        let got = *got.get(name.as_str()).unwrap_or_else(|| panic!("{what:?}: no {name}"));
        let tolerance = 1e-12 * value.abs().max(got.abs());
        assert!((got - value).abs() <= tolerance, "{what:?}: {name}: {got}, not {value}");
    }
    let further: Vec<_> = got.keys().filter(|n| !expected.contains_key(n.as_str())).collect();
    assert!(further.is_empty(), "{what:?}: not expected: {further:?}");
}

#[test]
fn lists_become_the_numbers_of_lkp() {
    let Some(root) = shared::folder("conformance/stats") else { return };
    let mut cases = 0;
    for case in std::fs::read_dir(root).unwrap() {
        let case = case.unwrap().path();
        let got = run_numbers(&case.join("input"));
        assert_close(&got, &json(&case.join("expected.stats.json")), &case);
        cases += 1;
    }
    println!("{cases} cases passed");
}

#[test]
fn windows_of_recorded_runs_become_the_numbers_of_lkp() {
    let Some(root) = shared::folder("conformance/stats_part/result_root") else { return };
    for run in 0..3 {
        let got = run_numbers(&root.join(run.to_string()));
        let expected = json(&root.join(format!("stats_{run}.this-version.json")));
        assert_close(&got, &expected, &root.join(run.to_string()));
    }
}

#[test]
fn runs_unite_into_the_matrix_of_lkp() {
    let Some(root) = shared::folder("conformance/unite/01") else { return };
    let mut matrix = Matrix::default();
    for run in [0, 1, 2, 0] {
        let stats = json(&root.join(format!("stats.{run}.json")));
        let source = format!("t1/urt/par/commit/{run}/stats.json");
        matrix.unite(stats.as_object().unwrap(), &source);
    }
    assert_eq!(matrix.to_json(), json(&root.join("expected.matrix.json")));
    assert_close(&matrix.average(), &json(&root.join("expected.avg.json")), &root);
    assert_close(&matrix.stddev(), &json(&root.join("expected.stddev.json")), &root);
}
