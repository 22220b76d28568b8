//! One test of UnixBench: `throughput`, `score`, `workload` (operations of all processes) and
//! whether the test passed.

use std::sync::LazyLock;

use regex::Regex;

use crate::calendar;
use crate::message_id::regex;
use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

const DAY: f64 = 86_400.0;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    static RATE: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^.+? ([0-9.]+) (?:KBps|lps|lpm|score)[ \t]+\([0-9.]+ s, [0-9]+ samples?\)")
    });
    let (mut duration, mut throughput, mut score) = (None, None, None);
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let text = line.text.trim_end_matches('\r');
        if text.starts_with("Benchmark Run: ") {
            duration = run_time(text).or(duration);
        } else if text.contains(" Benchmarks ")
            && text.contains("Index ")
            && text.ends_with(" INDEX")
        {
            let words = lines.next().map(|row| row.text.split_ascii_whitespace().rev().nth(1));
            throughput = words.flatten().map(number::leading_float).or(throughput);
        } else if let Some(rate) = RATE.captures(text).and_then(|found| found.get(1)) {
            throughput = Some(number::leading_float(rate.as_str()));
        } else if text.contains(" Benchmarks Index Score ") {
            let last = text.rsplit(' ').next().and_then(number::parse);
            score = last.or(score);
        }
    }
    let (Some(duration), Some(throughput)) = (duration, throughput) else {
        out.push("test.fail", 1.0);
        return;
    };
    if let Some(score) = score {
        out.push("score", score);
    }
    out.push("throughput", throughput);
    out.push("workload", duration * throughput);
    out.push("test.pass", 1.0);
}

/// Seconds of `Benchmark Run: Tue Jan 01 2019 15:48:24 - 15:56:36`; a run may pass midnight.
fn run_time(line: &str) -> Option<f64> {
    let (head, end) = line.rsplit_once(" - ")?;
    let start = calendar::time_of_day(head.rsplit(' ').next()?)?;
    let end = calendar::time_of_day(end.trim())?;
    Some(if end > start { end - start } else { end + DAY - start })
}
