//! `/sys/kernel/debug/sched/debug`, in blocks that begin with `time: <epoch>`.
//!
//! `.nr_running : 2` under `cpu#0, ...` becomes `cpu.nr_running.0`; over the CPUs of a block
//! `.max`, `.min`, `.avg` and `.stddev` (population) are added. The queues of autogroups come and
//! go and are left out, the lists of tasks too.

use super::block_time;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::samples::Samples;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    let mut section = Section::default();
    let mut block = Samples::default();
    let mut metric = Name::default();
    let mut name = Name::default();
    for line in source.lines() {
        if let Some(time) = block_time(line.text) {
            push_statistics(&mut block, out);
            out.push_word(line.number, "time", time);
            section.prefix.clear();
            if !options.lkp_compatible {
                // lkp-tests keeps the last section's number for the lines before the first one.
                section.number.clear();
            }
        } else if line.text.starts_with("Sched Debug Version:")
            || line.text.starts_with("runnable tasks:")
        {
        } else if let Some((field, value)) = field(line.text) {
            if section.prefix.contains(":/autogroup-") {
                continue;
            }
            let metric = metric.of(&[&section.prefix, field]);
            if section.number.is_empty() {
                out.push_word(line.number, metric, value);
            } else {
                block.push(metric, number::leading_float(value));
                out.push_word(line.number, name.of(&[metric, ".", &section.number]), value);
            }
        } else if let Some(head) = line.text.split_ascii_whitespace().next() {
            section.set(head);
        }
    }
    push_statistics(&mut block, out);
}

/// What stands above the fields: `cpu#0`, `cfs_rq[0]:/`, `sysctl_sched`.
#[derive(Debug, Default)]
struct Section {
    prefix: String,
    number: String,
}

impl Section {
    fn set(&mut self, head: &str) {
        self.prefix.clear();
        self.prefix.extend(head.chars().filter(|c| *c != ','));
        self.number.clear();
        let numbered = trailing_number(&self.prefix).or_else(|| bracketed_number(&self.prefix));
        if let Some((prefix, number)) = numbered {
            self.number = number;
            self.prefix = prefix;
        }
    }
}

/// `cpu#0` -> (`cpu`, `0`)
fn trailing_number(head: &str) -> Option<(String, String)> {
    let (prefix, number) = head.rsplit_once('#')?;
    is_number(number).then(|| (prefix.to_owned(), number.to_owned()))
}

/// `cfs_rq[0]:/` -> (`cfs_rq:/`, `0`), the last number in brackets.
fn bracketed_number(head: &str) -> Option<(String, String)> {
    head.rmatch_indices('[').find_map(|(open, _)| {
        let (number, rest) = head[open + 1..].split_once(']')?;
        is_number(number).then(|| (format!("{}{rest}", &head[..open]), number.to_owned()))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `  .nr_running  : 2` -> (`.nr_running`, `2`); of `1 (logarithmic)` the number.
fn field(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_ascii_start();
    let end = line.find(|c: char| c.is_ascii_whitespace())?;
    let (word, rest) = line.split_at(end);
    let rest = rest.trim_ascii_start();
    let spaced = rest.strip_prefix(':').and_then(value).map(|value| (word, value));
    spaced.or_else(|| {
        let word = word.strip_suffix(':').filter(|word| !word.is_empty())?;
        value(&line[end..]).map(|value| (word, value))
    })
}

/// Digits, dots and signs behind at least one blank.
fn value(rest: &str) -> Option<&str> {
    let text = rest.trim_ascii_start();
    let end = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
        .count();
    (end > 0 && text.len() < rest.len()).then(|| &text[..end])
}

fn push_statistics(block: &mut Samples, out: &mut Parsed) {
    let mut name = Name::default();
    for (metric, cpus) in block.iter() {
        let values = cpus.values();
        let count = values.len() as f64;
        let mean = number::sum(values.iter().copied()) / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        out.push(name.of(&[metric, ".max"]), max);
        out.push(name.of(&[metric, ".min"]), min);
        out.push(name.of(&[metric, ".avg"]), mean);
        out.push(name.of(&[metric, ".stddev"]), (squares / count).sqrt());
    }
    *block = Samples::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_from_sections_and_tasks() {
        assert_eq!(field("  .nr_running    : 2"), Some((".nr_running", "2")));
        assert_eq!(field("ktime : 783843.727497"), Some(("ktime", "783843.727497")));
        assert_eq!(field("  .tunable_scaling : 1 (logarithmic)"), Some((".tunable_scaling", "1")));
        assert_eq!(field("x: 5"), Some(("x", "5")));
        assert_eq!(field("cpu#0, 2299.998 MHz"), None);
        assert_eq!(field(" S   kworker/0:1    12   783.1"), None);
        let mut section = Section::default();
        section.set("cfs_rq[12]:/system.slice");
        assert_eq!(
            (section.prefix.as_str(), section.number.as_str()),
            ("cfs_rq:/system.slice", "12")
        );
    }
}
