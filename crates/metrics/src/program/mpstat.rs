//! The JSON of `mpstat -o JSON` (sysstat 11.7 and newer): per interval the shares of each CPU or
//! node (`cpu.all.usr%`), and once the busiest instant (`max_utilization_pct`, in the sample
//! `max_utilization.seconds`).
//!
//! A file that was cut off counts up to its last complete interval. The table that mpstat prints
//! without `-o JSON` is not read, as in lkp-tests.
//!
//! lkp-tests multiplies the two maxima by the number of samples, to undo its own averaging.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::calendar;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let text = source.text();
    let Some(root) = read_json(text, out) else { return };
    let Some(host) = root.pointer("/sysstat/hosts/0") else {
        out.notes.add(0, || "no sysstat host in the file".to_owned());
        return;
    };
    let date = host.get("date").and_then(Value::as_str).unwrap_or_default();
    let statistics = host.get("statistics").and_then(Value::as_array);
    let mut busiest = Busiest::default();
    let mut interval = Interval::default();
    for entry in statistics.into_iter().flatten().filter_map(Value::as_object) {
        if !options.lkp_compatible {
            interval = Interval::default();
        }
        interval.read(date, entry, &mut busiest);
        interval.push(out);
    }
    busiest.push(options, out);
}

fn read_json(text: &str, out: &mut Parsed) -> Option<Value> {
    if text.starts_with("Linux ") {
        out.notes.add(1, || "mpstat's table is not read; use `mpstat -o JSON`".to_owned());
        return None;
    }
    if let Ok(root) = serde_json::from_str(text) {
        return Some(root);
    }
    let complete = complete_statistics(text)
        .and_then(|end| serde_json::from_str(&format!("{}]}}]}}}}", &text[..end])).ok());
    let what = if complete.is_some() {
        "cut off; read up to the last complete interval"
    } else {
        "not the JSON of mpstat"
    };
    out.notes.add(0, || what.to_owned());
    complete
}

/// Where the last complete element of `sysstat.hosts[0].statistics` ends.
fn complete_statistics(text: &str) -> Option<usize> {
    const STATISTICS_DEPTH: usize = 5;
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut end = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if byte == b'}' && depth == STATISTICS_DEPTH {
                    end = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    end
}

/// The values of one interval, in order of appearance.
#[derive(Default)]
struct Interval {
    names: Vec<String>,
    values: BTreeMap<String, Value>,
}

impl Interval {
    fn read(&mut self, date: &str, entry: &Map<String, Value>, busiest: &mut Busiest) {
        for (key, value) in entry {
            match value {
                Value::Array(rows) => self.read_rows(key, rows, busiest),
                Value::Object(parts) => self.read_parts(key, parts, busiest),
                Value::String(time) if key == "timestamp" => {
                    if let Some(epoch) = calendar::epoch(date, time) {
                        self.set("time".to_owned(), &Value::from(epoch));
                    }
                }
                _ => {}
            }
        }
    }

    fn read_parts(&mut self, key: &str, parts: &Map<String, Value>, busiest: &mut Busiest) {
        for (part, value) in parts {
            match value {
                Value::Array(rows) => self.read_rows(part, rows, busiest),
                Value::Object(fields) => {
                    for (field, value) in fields {
                        self.set(format!("{part}.{field}"), value);
                    }
                }
                value => self.set(format!("{key}.{part}"), value),
            }
        }
    }

    /// Rows of one table; the first field of each says what it is about.
    fn read_rows(&mut self, table: &str, rows: &[Value], busiest: &mut Busiest) {
        for row in rows.iter().filter_map(Value::as_object) {
            let mut fields = row.iter();
            let Some((_, about)) = fields.next() else { continue };
            let about = about.as_str().map_or_else(|| about.to_string(), str::to_owned);
            for (field, value) in fields {
                let name = if table.contains("node-load") {
                    format!("node.{about}.{field}%")
                } else if table.contains("cpu-load") {
                    format!("cpu.{about}.{field}%")
                } else {
                    format!("{table}.{about}.{field}")
                };
                self.set(name, value);
            }
            busiest.add(row);
        }
    }

    fn set(&mut self, name: String, value: &Value) {
        if !self.values.contains_key(&name) {
            self.names.push(name.clone());
        }
        self.values.insert(name, value.clone());
    }

    fn push(&self, out: &mut Parsed) {
        for name in &self.names {
            match self.values.get(name) {
                Some(Value::Number(number)) => {
                    if let Some(number) = number.as_f64() {
                        out.push(name, number);
                    }
                }
                Some(Value::String(text)) => out.push_word(0, name, text),
                _ => {}
            }
        }
    }
}

/// The row with the least idle and I/O wait time.
#[derive(Default)]
struct Busiest {
    rows: usize,
    utilization: f64,
    row: usize,
}

impl Busiest {
    fn add(&mut self, row: &Map<String, Value>) {
        let share = |name| row.get(name).and_then(Value::as_f64);
        let Some(idle) = share("idle") else { return };
        let utilization = 100.0 - idle - share("iowait").unwrap_or(0.0);
        self.rows += 1;
        if self.rows == 1 || utilization > self.utilization {
            self.utilization = utilization;
            self.row = self.rows;
        }
    }

    fn push(&self, options: &ParseOptions, out: &mut Parsed) {
        if self.rows == 0 {
            return;
        }
        let factor = if options.lkp_compatible { self.rows as f64 } else { 1.0 };
        out.push("max_utilization_pct", self.utilization * factor);
        out.push("max_utilization.seconds", self.row as f64 * factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_cut_off_counts_up_to_its_last_interval() {
        let text = r#"{"sysstat": {"hosts": [{"date": "2026-11-30", "statistics": [
            {"timestamp": "20:30:06", "cpu-load": [{"cpu": "all", "usr": 1.5, "idle": 98.5}]},
            {"timestamp": "20:30:0"#;
        let mut out = Parsed::default();
        let root = read_json(text, &mut out).unwrap();
        let rows = root.pointer("/sysstat/hosts/0/statistics").and_then(Value::as_array);
        assert_eq!(rows.map(Vec::len), Some(1));
        assert_eq!(out.notes.total(), 1);
    }
}
