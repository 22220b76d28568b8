//! The CSV of will-it-scale (`tasks,processes,processes_idle,threads,threads_idle,linear`):
//! operations per second at each number of tasks.
//!
//! Or the output of its programs themselves, each behind a line that says what it had
//! (`processes 4`), which ends in `average:795721`, operations per second of all tasks.
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
    let mut tasks: Option<Tasks<'_>> = None;
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
        } else if let Some(found) = Tasks::read(text) {
            tasks = Some(found);
        } else if let Some(average) = text.strip_prefix("average:") {
            let Some(Tasks { kind, count }) = tasks.take() else { continue };
            out.push_word(line.number, name.of(&[count, ".", kind]), average);
            if let (Some(average), Some(tasks)) = (number::parse(average), number::parse(count)) {
                summary.add_average(kind, tasks, average);
            }
        } else if let Some(assertion) = failed_assertion(text) {
            out.push(&assertion, 1.0);
        }
    }
    summary.push(out);
}

/// What one of the programs was started with.
struct Tasks<'s> {
    kind: &'s str,
    count: &'s str,
}

impl<'s> Tasks<'s> {
    fn read(line: &'s str) -> Option<Self> {
        let (kind, count) = line.split_once(' ')?;
        let known = matches!(kind, "processes" | "threads");
        (known && is_made_of(count, |byte| byte.is_ascii_digit()) && count != "0")
            .then_some(Tasks { kind, count })
    }
}

fn is_made_of(text: &str, of: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(of)
}

#[derive(Debug, Default)]
struct Summary {
    scalability: Option<f64>,
    points: f64,
    process_points: f64,
    thread_points: f64,
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

    /// One program's own average. A kind that was not run has no number, not zero.
    fn add_average(&mut self, kind: &str, tasks: f64, average: f64) {
        let per_task = average / tasks;
        self.workload += average;
        if kind == "processes" {
            self.process_points += 1.0;
            self.per_process += per_task;
        } else {
            self.thread_points += 1.0;
            self.per_thread += per_task;
        }
    }

    fn push(&self, out: &mut Parsed) {
        if let Some(scalability) = self.scalability {
            out.push("scalability", number::rounded(scalability, 6));
        }
        if self.points > 0.0 {
            out.push("per_process_ops", (self.per_process / self.points).trunc());
            out.push("per_thread_ops", (self.per_thread / self.points).trunc());
        }
        if self.process_points > 0.0 {
            out.push("per_process_ops", (self.per_process / self.process_points).trunc());
        }
        if self.thread_points > 0.0 {
            out.push("per_thread_ops", (self.per_thread / self.thread_points).trunc());
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

#[cfg(test)]
mod tests {
    use crate::{ParseOptions, parse};

    #[test]
    fn the_programs_own_output() {
        let text = "processes 2\ntestcase:futex\nwarmup\nmin:1 max:2 total:3\nmeasurement\n\
                    min:5 max:6 total:11\naverage:1000\n";
        let parsed = parse("will-it-scale", text.as_bytes(), &ParseOptions::default()).unwrap();
        let value = |name| parsed.samples.get(name).map(|series| series.values()[0]);
        assert_eq!(value("2.processes"), Some(1000.0));
        assert_eq!(value("per_process_ops"), Some(500.0));
        assert_eq!(value("per_thread_ops"), None);
        assert_eq!(value("workload"), Some(1000.0));
    }

    #[test]
    fn an_average_that_is_no_number_is_absent_and_noted() {
        let text = "processes 2\naverage:garbage\n";
        let parsed = parse("will-it-scale", text.as_bytes(), &ParseOptions::default()).unwrap();
        assert!(parsed.samples.is_empty(), "{:?}", parsed.samples);
        assert_eq!(parsed.notes.total(), 1);
    }
}
