//! Raw files with known results: `../shared/conformance/programs` beside the project.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod shared;

use std::path::{Path, PathBuf};

use patchmark_metrics::{ParseOptions, Parsed, Window, lkp, parse};
use serde_json::Value;
use shared::json;

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Reads the input of a case as its `meta.json` says.
fn parse_case(program: &str, case: &Path) -> Parsed {
    let feed = &json(&case.join("meta.json"))["feed"];
    let env = |key: &str| feed["env"][key].as_str();
    let number = |key: &str| env(key).and_then(|value| value.parse().ok());
    let options = ParseOptions {
        lkp_compatible: true,
        window: Window { begin: number("stats_part_begin"), end: number("stats_part_end") },
        boot_tests: env("RESULT_ROOT").is_some_and(|root| root.starts_with("/boot/")),
        ..ParseOptions::default()
    };
    let file = feed["stdin"].as_str().or_else(|| feed["argv"][0].as_str()).unwrap_or_default();
    let file = PathBuf::from(file.replace("{CASE}", &case.to_string_lossy()));
    let bytes = std::fs::read(&file).unwrap_or_default();
    parse(program, &bytes, &options).unwrap()
}

fn deviations(parsed: &Parsed, expected: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let expected = expected.as_object().unwrap();
    for (key, values) in expected {
        let values = values.as_array().unwrap();
        let numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
        let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let got = parsed.samples.get(key).map_or(&[][..], |series| series.values());
        let same = got.len() == numbers.len()
            && got.iter().zip(&numbers).all(|(a, b)| close(*a, *b, 1e-9));
        if !same {
            found.push(format!("{key}: {got:?}, not {numbers:?}"));
        }
        let got = parsed.strings.get(key).map_or(&[][..], Vec::as_slice);
        if got != texts {
            found.push(format!("{key}: {got:?}, not {texts:?}"));
        }
    }
    for key in parsed.samples.iter().map(|(key, _)| key).chain(parsed.strings.keys().map(|k| &**k))
    {
        if !expected.contains_key(key) {
            found.push(format!("{key}: not expected"));
        }
    }
    found
}

/// What is stored as `<program>.json` of those samples.
fn stored_deviations(program: &str, parsed: &Parsed, expected: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let expected = expected.as_object().unwrap_or(&empty);
    let lists = lkp::records(program, &parsed.samples);
    let mut found = Vec::new();
    for (metric, values) in &lists {
        let wanted = expected.get(metric).and_then(Value::as_array);
        let wanted: Option<Vec<f64>> =
            wanted.map(|values| values.iter().filter_map(Value::as_f64).collect());
        let same = wanted.as_ref().is_some_and(|wanted| {
            wanted.len() == values.len()
                && wanted.iter().zip(values).all(|(a, b)| close(*a, *b, 1e-9))
        });
        if !same {
            found.push(format!("stored {metric}: {values:?}, not {wanted:?}"));
        }
    }
    let absent = |name: &&String| !lists.iter().any(|(metric, _)| metric == *name);
    found.extend(expected.keys().filter(absent).map(|name| format!("stored {name}: absent")));
    found
}

#[test]
fn raw_files_of_every_program_give_the_samples_of_lkp() {
    let Some(root) = shared::folder("conformance/programs") else { return };
    let known: Vec<&str> = patchmark_metrics::programs().collect();
    let (mut passed, mut failed, mut skipped) = (0, 0, Vec::new());
    for program in folders(&root) {
        let cases = folders(&program);
        let program = name(&program);
        if !known.contains(&program.as_str()) {
            skipped.push(format!("{program} ({})", cases.len()));
            continue;
        }
        for case in cases {
            let parsed = parse_case(&program, &case);
            let mut deviations = deviations(&parsed, &json(&case.join("expected.json")));
            let stored = json(&case.join("expected.dump-stat.json"));
            deviations.extend(stored_deviations(&program, &parsed, &stored));
            if deviations.is_empty() {
                passed += 1;
            } else {
                failed += 1;
                println!("FAILED {program}/{}: {} deviations", name(&case), deviations.len());
                deviations.iter().take(5).for_each(|deviation| println!("    {deviation}"));
            }
        }
    }
    println!("{passed} cases passed, {failed} failed");
    println!("programs without a parser: {}", skipped.join(", "));
    assert_eq!(failed, 0, "see the deviations above");
}
