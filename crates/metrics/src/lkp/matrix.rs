//! The matrix of the runs of one kernel: one row per metric, one column per run.

use patchmark_model::{MetricName, Metrics};
use serde_json::{Map, Value};

use crate::number;

/// The row that names each column by the `stats.json` it came from.
const SOURCE: &str = "stats_source";

/// A `matrix.json`. Rows may be shorter than there are columns: what is missing at their end
/// counts as 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    rows: Map<String, Value>,
}

impl Matrix {
    /// A matrix from the content of a `matrix.json`; what is no row of a matrix is left out.
    pub fn from_json(json: &Value) -> Self {
        let rows = json.as_object().into_iter().flatten();
        let rows = rows.filter(|(_, row)| row.is_array());
        Matrix { rows: rows.map(|(name, row)| (name.clone(), row.clone())).collect() }
    }

    /// The content of a `matrix.json`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.rows.clone())
    }

    /// Adds the `stats.json` of one run as a column. A column of the same source is replaced and
    /// goes to the end. A metric that earlier runs lack gets 0 for them.
    pub fn unite(&mut self, stats: &Map<String, Value>, source: &str) {
        match self.sources().iter().position(|known| known == source) {
            Some(column) => self.delete_column(column),
            None if self.sources().is_empty() => self.rows.clear(),
            None => {}
        }
        let columns = self.rows.values().filter_map(Value::as_array).map(Vec::len).max();
        let columns = columns.unwrap_or(0);
        let source = [(SOURCE.to_owned(), Value::from(source))];
        for (name, value) in stats.iter().map(|(k, v)| (k.clone(), v.clone())).chain(source) {
            let row = self.rows.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(row) = row {
                row.resize(columns.max(row.len()), Value::from(0));
                row.push(value);
            }
        }
        self.rows.retain(|name, row| !is_per_cpu(name) && !is_zero(row));
    }

    /// The mean of each row over all columns.
    pub fn average(&self) -> Metrics {
        self.each_row(mean)
    }

    /// The population standard deviation of each row over all columns.
    pub fn stddev(&self) -> Metrics {
        self.each_row(|values| {
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (squares / values.len() as f64).sqrt()
        })
    }

    fn each_row(&self, number: impl Fn(&[f64]) -> f64) -> Metrics {
        let columns = self.sources().len();
        let rows = self.rows.iter().filter(|(name, _)| *name != SOURCE);
        rows.filter_map(|(name, row)| {
            let row = row.as_array()?.iter().map(Value::as_f64);
            let mut values: Vec<f64> = row.collect::<Option<_>>()?;
            values.resize(columns.max(values.len()), 0.0);
            let number = number(&values);
            number.is_finite().then(|| (MetricName::new(name), number))
        })
        .collect()
    }

    fn sources(&self) -> &[Value] {
        self.rows.get(SOURCE).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn delete_column(&mut self, column: usize) {
        for row in self.rows.values_mut().filter_map(Value::as_array_mut) {
            if column < row.len() {
                row.remove(column);
            }
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    number::sum(values.iter().copied()) / values.len() as f64
}

/// `sched_debug.<...>.<cpu>`: values of one CPU differ from run to run and say little.
fn is_per_cpu(name: &str) -> bool {
    name.starts_with("sched_debug")
        && name.rsplit_once('.').is_some_and(|(_, cpu)| {
            !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Nothing, or integers that are all 0; a 0.0 was measured.
fn is_zero(row: &Value) -> bool {
    row.as_array().is_some_and(|row| row.iter().all(|value| value.as_i64() == Some(0)))
}
