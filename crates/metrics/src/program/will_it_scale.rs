//! The CSV of will-it-scale (`tasks,processes,processes_idle,threads,threads_idle,linear`):
//! operations per second at each number of tasks.
//!
//! Added are `per_process_ops` and `per_thread_ops` (mean over the points), `workload` (all
//! operations) and `scalability`, the share of linear speed-up at the last point.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut columns: Vec<&str> = Vec::new();
    let mut summary = Summary::default();
    let mut name = Name::default();
    for line in source.lines() {
        let text = line.text.trim_end_matches('\r');
        if is_made_of(text, |byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b',')) {
            columns = text.split(',').skip(1).collect();
        } else if is_made_of(text, |byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')) {
            let mut values: Vec<&str> = text.split(',').collect();
            while values.last() == Some(&"") {
                values.pop();
            }
            let [tasks, values @ ..] = values.as_slice() else { continue };
            if *tasks == "0" || !summary.add(tasks, values) {
                continue;
            }
            for (column, value) in columns.iter().zip(values) {
                out.push_word(line.number, name.of(&[tasks, ".", column]), value);
            }
        } else if let Some(assertion) = failed_assertion(text) {
            out.push(&assertion, 1.0);
        }
    }
    summary.push(out);
}

fn is_made_of(text: &str, of: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(of)
}

#[derive(Debug, Default)]
struct Summary {
    scalability: Option<f64>,
    points: f64,
    per_process: f64,
    per_thread: f64,
    workload: f64,
}

impl Summary {
    /// `false` when the point has no operations at all: the test was aborted.
    fn add(&mut self, tasks: &str, values: &[&str]) -> bool {
        let [processes, _, threads, .., linear] = values else { return false };
        let whole = number::leading_integer;
        if whole(processes) == 0.0 && whole(threads) == 0.0 {
            return false;
        }
        if whole(linear) != 0.0 && tasks != "1" {
            self.scalability = Some(number::leading_float(processes) / whole(linear));
        }
        self.points += 1.0;
        self.per_process += whole(processes) / whole(tasks);
        self.per_thread += whole(threads) / whole(tasks);
        self.workload += whole(processes) + whole(threads);
        true
    }

    fn push(&self, out: &mut Parsed) {
        if let Some(scalability) = self.scalability {
            out.push("scalability", number::rounded(scalability, 6));
        }
        if self.points > 0.0 {
            out.push("per_process_ops", (self.per_process / self.points).trunc());
            out.push("per_thread_ops", (self.per_thread / self.points).trunc());
        }
        if self.workload != 0.0 {
            out.push("workload", self.workload);
        }
    }
}

/// ``child: Assertion `ret == 1' failed.`` -> `Assertion_ret_==_1_failed`
fn failed_assertion(line: &str) -> Option<String> {
    let found = &line[line.find("Assertion ")?..];
    let end = found.rfind(" failed").filter(|end| *end >= "Assertion".len())?;
    let found = found[..end + " failed".len()].rsplit(": ").next()?;
    let mut name = String::with_capacity(found.len());
    for c in found.chars() {
        let kept = c.is_ascii_alphanumeric() || matches!(c, '<' | '>' | '!' | '=');
        if kept {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    Some(name)
}
