//! The JSON of a report is what `docs/report.schema.json` says: every field is described, and
//! every described field is there.

#![allow(clippy::unwrap_used)]

use patchmark_model::{
    Axes, Clock, Column, ColumnRun, Comparison, Direction, Kpi, Kpis, Metrics, Skipped,
};
use patchmark_report::{Context, Report, TableOptions};
use patchmark_verdict::Policy;
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/report.schema.json");

/// The words of JSON Schema that the file uses; an unknown one is a mistake in the file.
struct Schema {
    root: Value,
}

impl Schema {
    fn check(&self, value: &Value, schema: &Value, path: &str) -> Result<(), String> {
        for (word, rule) in schema.as_object().unwrap() {
            let holds = match word.as_str() {
                "$schema" | "title" | "description" | "$defs" => true,
                "$ref" => {
                    let name = rule.as_str().unwrap().trim_start_matches("#/$defs/");
                    self.check(value, &self.root["$defs"][name], path)?;
                    true
                }
                "type" => types(rule).iter().any(|name| is_type(value, name)),
                "enum" => rule.as_array().unwrap().contains(value),
                "const" => rule == value,
                "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().unwrap()),
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(item, rule, &format!("{path}[{at}]"))?;
                    }
                    true
                }
                "properties" => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        match rule.get(name) {
                            Some(rule) => self.check(item, rule, &format!("{path}.{name}"))?,
                            None => return Err(format!("{path}.{name} is not described")),
                        }
                    }
                    true
                }
                "required" => rule.as_array().unwrap().iter().all(|name| {
                    value.as_object().is_none_or(|map| map.contains_key(name.as_str().unwrap()))
                }),
                "additionalProperties" => {
                    rule == &Value::Bool(false)
                        || value.as_object().into_iter().flatten().all(|(name, item)| {
                            self.check(item, rule, &format!("{path}.{name}")).is_ok()
                        })
                }
                "oneOf" => {
                    let fitting = rule.as_array().unwrap().iter();
                    fitting.filter(|rule| self.check(value, rule, path).is_ok()).count() == 1
                }
                other => return Err(format!("{path}: the schema's word {other} is unknown")),
            };
            if !holds {
                return Err(format!("{path}: {value} breaks {word}: {rule}"));
            }
        }
        Ok(())
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => vec![name.as_str().unwrap()],
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn comparison() -> Comparison {
    let run = |column: usize, at: usize| {
        let mut metrics: Metrics = [
            ("stress-ng.a.ops", 100.0 + column as f64 * 50.0 + at as f64),
            ("vmstat.cpu.us%", 3.0 + column as f64),
            ("vmstat.from_zero", column as f64),
            ("vmstat.same", 7.0),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
        if at == 0 {
            metrics.insert("meminfo.once".into(), 1.0);
        }
        if column == 0 {
            metrics.insert("meminfo.gone".into(), 1.0);
        }
        metrics.insert("dmesg.WARNING:x".into(), column as f64);
        ColumnRun {
            id: format!("{column}-{at}").parse().unwrap(),
            complete: at < 3,
            failure: (at == 3).then(|| "timeout: nothing heard".to_owned()),
            metrics,
        }
    };
    let columns = (0..3)
        .map(|column| Column {
            value: format!("kernel-{column}"),
            note: (column == 2).then(|| "<---- patch".to_owned()),
            runs: (0..4).map(|at| run(column, at)).collect(),
        })
        .collect();
    Comparison { axes: Axes::new([("test", "a")]), key: "commit".to_owned(), columns }
}

#[test]
fn every_field_is_described() {
    let kpis = Kpis::from([(
        "stress-ng.a.ops".into(),
        Kpi { direction: Some(Direction::Higher), unit: None },
    )]);
    let context = Context {
        job: "a".to_owned(),
        clock: Clock::Kvm,
        machine: "a machine".to_owned(),
        notes: vec!["a note".to_owned()],
        skipped: vec![Skipped { program: "perf-stat".to_owned(), why: "none".to_owned() }],
    };
    let schema = Schema { root: serde_json::from_str(SCHEMA).unwrap() };
    for lkp_compatible in [false, true] {
        let options = TableOptions { lkp_compatible, all: true, ..TableOptions::default() };
        let report = Report::build(&comparison(), &kpis, &context, &Policy::default(), &options);
        let json = serde_json::to_value(&report).unwrap();
        schema.check(&json, &schema.root, "report").unwrap();
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains("\"worse\"") || text.contains("\"better\""));
        assert!(!report.left_out.absent.is_empty() && report.left_out.withheld > 0);
    }
}

#[test]
fn a_wrong_report_is_found_out() {
    let schema = Schema { root: serde_json::from_str(SCHEMA).unwrap() };
    assert!(schema.check(&serde_json::json!({}), &schema.root, "report").is_err());
    let more = serde_json::json!({"metric": 1, "present": [], "runs": [], "x": 1});
    let absent = &schema.root["$defs"]["left_out"]["properties"]["absent"]["items"];
    assert!(schema.check(&more, absent, "absent").is_err());
}
