//! Tables and change rules recorded from lkp-tests, byte for byte.

use std::path::{Path, PathBuf};

use patchmark_model::{Axes, Clock, Column, ColumnRun, Comparison, Kpis};
use patchmark_verdict::Policy;
use serde_json::{Map, Value};

use crate::lkp::change::{ProfileThreshold, RangeTest, Rule, changes};
use crate::matrix::{INCOMPLETE, Matrix, Typed};
use crate::render;
use crate::{Context, Report, TableOptions};

/// A matrix as lkp-tests stores it: metric to samples, in order.
type Rows = Map<String, Value>;

fn runs(rows: &Rows) -> usize {
    let length = |value: &Value| value.as_array().map_or(0, Vec::len);
    match rows.get("stats_source") {
        Some(source) => length(source),
        None => rows.values().map(length).max().unwrap_or(0),
    }
}

/// The samples of a row; the peer pads what is missing, we keep it absent.
fn samples(rows: &Rows, name: &str) -> Typed {
    let values = rows.get(name).and_then(Value::as_array);
    (0..runs(rows))
        .map(|run| {
            let value = values?.get(run)?;
            Some((value.as_f64()?, value.is_i64() || value.is_u64()))
        })
        .collect()
}

fn complete(rows: &Rows) -> Vec<bool> {
    samples(rows, INCOMPLETE).iter().map(|x| x.is_none_or(|(value, _)| value != 1.0)).collect()
}

fn matrix(columns: &[&Rows]) -> Matrix {
    let mut names: Vec<&String> = Vec::new();
    for name in columns.iter().flat_map(|rows| rows.keys()) {
        if name != "stats_source" && !names.contains(&name) {
            names.push(name);
        }
    }
    let row = |name: &String| names.iter().position(|other| *other == name);
    let orders: Vec<Vec<usize>> =
        columns.iter().map(|rows| rows.keys().filter_map(row).collect()).collect();
    let rows: Vec<_> = names
        .iter()
        .map(|name| {
            let samples = columns.iter().map(|rows| samples(rows, name));
            ((*name).clone(), samples.collect::<Vec<_>>())
        })
        .collect();
    let complete = columns.iter().map(|rows| complete(rows)).collect();
    Matrix::from_rows(&rows, complete, &orders)
}

fn comparison(case: &Value, columns: &[&Rows]) -> Comparison {
    let axes = case["axes"].as_object().unwrap();
    let key = case["compare_axis_keys"][0].as_str().unwrap_or("commit");
    let values = case["commits"].as_array().unwrap();
    let column = |(at, rows): (usize, &&Rows)| Column {
        value: values[at].as_str().unwrap().to_owned(),
        note: None,
        runs: (0..runs(rows))
            .map(|run| ColumnRun {
                id: format!("{run}").parse().unwrap(),
                complete: complete(rows)[run],
                failure: None,
                metrics: rows
                    .keys()
                    .filter(|name| *name != "stats_source")
                    .filter_map(|name| Some((name.as_str().into(), samples(rows, name)[run]?.0)))
                    .collect(),
            })
            .collect(),
    };
    Comparison {
        axes: Axes::new(axes.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap()))),
        key: key.to_owned(),
        columns: columns.iter().enumerate().map(column).collect(),
    }
}

fn table_of(case: &Value) -> String {
    let columns: Vec<&Rows> =
        case["matrices"].as_array().unwrap().iter().map(|m| m.as_object().unwrap()).collect();
    let flag = |name: &str| case["options"][name].as_bool().unwrap_or(false);
    let options = TableOptions {
        lkp_compatible: true,
        all: flag("all"),
        more: flag("more"),
        kpi: flag("kpi"),
        perf_profile_threshold: case["options"]["perf_profile_threshold"].as_f64(),
    };
    let context = Context {
        job: "x".into(),
        clock: Clock::Real,
        machine: String::new(),
        notes: Vec::new(),
        skipped: Vec::new(),
    };
    let comparison = comparison(case, &columns);
    let policy = Policy::default();
    let report = Report::of_matrix(
        &matrix(&columns),
        &comparison,
        &Kpis::new(),
        &context,
        &policy,
        &options,
    );
    let text = render::lkp(&report);
    // A comparison is sorted and knows no integers. Where neither matters, the way through it
    // prints the same.
    let is_sorted = |rows: &&Rows| rows.keys().is_sorted_by_key(|name| name.as_str());
    let has_profile = |rows: &&Rows| rows.keys().any(|name| name.starts_with("perf-profile"));
    if columns.iter().all(is_sorted) && !columns.iter().any(has_profile) {
        let direct = Report::build(&comparison, &Kpis::new(), &context, &policy, &options);
        assert_eq!(render::lkp(&direct), text, "{}", case["why"]);
    }
    text
}

fn folders(path: &Path) -> Option<Vec<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(path) else {
        println!("skipped: ../shared is not here");
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    Some(paths)
}

fn check_tables(path: &Path) -> usize {
    let mut wrong = Vec::new();
    let folders = folders(path).unwrap_or_default();
    for folder in &folders {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let case: Value = serde_json::from_str(&read("case.json")).unwrap();
        let (found, expected) = (table_of(&case), read("expected.txt"));
        if found != expected {
            wrong.push(format!("{}\n{}", folder.display(), difference(&expected, &found)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), folders.len(), wrong.join("\n"));
    folders.len()
}

fn difference(expected: &str, found: &str) -> String {
    let mut text = String::new();
    let (mut a, mut b) = (expected.lines(), found.lines());
    loop {
        match (a.next(), b.next()) {
            (None, None) => return text,
            (one, other) if one == other => {}
            (one, other) => text.push_str(&format!(
                "- {}\n+ {}\n",
                one.unwrap_or("(end)"),
                other.unwrap_or("(end)")
            )),
        }
    }
}

#[test]
fn shared_tables_are_printed_byte_for_byte() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/compare");
    check_tables(Path::new(path));
}

#[test]
fn recorded_tables_are_printed_byte_for_byte() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tables");
    assert!(check_tables(Path::new(path)) > 0);
}

/// More recorded cases, wherever they are: `PATCHMARK_TABLES=folder cargo test -- --ignored`.
#[test]
#[ignore = "needs a folder of further cases"]
fn tables_of_a_folder_are_printed_byte_for_byte() {
    let path = std::env::var("PATCHMARK_TABLES").unwrap();
    println!("{} tables", check_tables(Path::new(&path)));
}

fn rule(options: &Value) -> Rule {
    let test = match (options["gap"].as_f64(), options["variance"].as_f64()) {
        (Some(gap), _) => RangeTest::Gap(gap),
        (_, Some(variance)) => RangeTest::Variance(variance),
        _ => RangeTest::Apart,
    };
    Rule {
        test,
        more: options["more"].as_bool().unwrap_or(false),
        profile: options["perf-profile"].as_f64().map(ProfileThreshold::Float),
        regressions_only: options["regression-only"].as_bool().unwrap_or(false),
    }
}

fn check_changes(case: &Value) {
    let head = case["matrix_a"].as_object().unwrap();
    let base = case["matrix_b"].as_object().unwrap();
    let matrix = matrix(&[base, head]);
    let found = changes(&matrix, &rule(&case["options"]));
    let expected = case["expected"].as_object().unwrap();
    let names: Vec<&String> = found[0].iter().map(|(row, _)| &matrix.names[*row]).collect();
    assert_eq!(names, expected.keys().collect::<Vec<_>>());
    for ((_, change), expected) in found[0].iter().zip(expected.values()) {
        let (a, b) = (&change.head, &change.base);
        let (high, low) = if a.median > b.median { (a, b) } else { (b, a) };
        for (name, value) in [
            ("ratio", change.ratio),
            ("delta", change.delta),
            ("mean_a", a.median),
            ("mean_b", b.median),
            ("min_a", a.min),
            ("max_a", a.max),
            ("min_b", b.min),
            ("max_b", b.max),
            ("y", (high.min - low.max).max(0.0)),
            ("z", b.max - b.min),
        ] {
            assert_eq!(Some(value), expected[name].as_f64(), "{name}");
        }
        assert_eq!(Some(a.count), expected["a"].as_array().map(Vec::len));
        assert_eq!(Some(b.count), expected["b"].as_array().map(Vec::len));
    }
}

#[test]
fn shared_changes_are_found() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/conformance/changed_stats");
    for file in folders(Path::new(path)).unwrap_or_default() {
        println!("{}", file.display());
        let text = std::fs::read_to_string(file).unwrap();
        check_changes(&serde_saphyr::from_str(&text).unwrap());
    }
}

#[test]
fn the_rule_agrees_with_the_shared_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/stats/vectors.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: ../shared is not here");
        return;
    };
    let vectors: Value = serde_json::from_str(&text).unwrap();
    for case in vectors["lkp_rule"]["cases"].as_array().unwrap() {
        if case["distance"] == true {
            continue;
        }
        let name = if case["perf"] == true { "stress-ng.x.ops" } else { "sched_debug.x" };
        let side = |samples: &str, columns: &str| {
            let source = vec![Value::from("x"); case[columns].as_u64().unwrap() as usize];
            Rows::from_iter([
                (name.to_owned(), case[samples].clone()),
                ("stats_source".to_owned(), Value::Array(source)),
            ])
        };
        let (head, base) = (side("a", "cols_a"), side("b", "cols_b"));
        let options = serde_json::json!({});
        let found = changes(&matrix(&[&base, &head]), &rule(&options));
        assert_eq!(Value::from(!found[0].is_empty()), case["changed"], "{case}");
    }
}
