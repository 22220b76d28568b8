//! What `stress-ng --metrics` or `--metrics-brief` writes: per stressor `<name>.ops`,
//! `<name>.ops_per_sec` (bogo operations per second of real time), the stressor's own metrics
//! (`<name>.MB_per_sec_sendto_rate`), and `.pass` or `.fail` (no operation was done).

use crate::metric_name::normalized;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::{Line, Source};

/// How stress-ng says what a stressor's own metric was made of.
const OWN_METRIC: [&str; 5] =
    ["(average", "(geometric mean", "(geometic mean", "(harmonic mean", "(total"];

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut in_metrics = false;
    let mut name = Name::default();
    for line in source.lines() {
        let text = line.text;
        if text.contains("this stressor is not implemented on this system")
            || text.contains("No stress workers invoked")
        {
            out.unexpected(line.number, text);
            return;
        } else if text.contains("all bogo-op counters are zero, data may be incorrect") {
        } else if is_signal_failure(text) {
            out.push("sigaction.fail", 1.0);
            return;
        } else if text.contains("fail:") || text.contains("warn:") {
            out.unexpected(line.number, text);
        } else if is_units_header(text) {
            in_metrics = true;
        } else if text.contains("run time:") {
            return;
        } else if in_metrics {
            match own_metric(text) {
                Some(before) => push_own_metric(line, before, &mut name, out),
                None => push_operations(line, &mut name, out),
            }
        }
    }
}

fn is_signal_failure(line: &str) -> bool {
    let after = line.split_once("stress-ng: fail:").map(|(_, rest)| rest);
    after.is_some_and(|rest| rest.contains("sigaction signal"))
}

/// The line `(secs)    (secs)    (secs)   (real time) ...` below the column heads.
fn is_units_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.windows(3).any(|three| three == ["(secs)"; 3])
}

/// `stress-ng: metrc: [4372] flock 470916710 60.00 128.04 1291.13 7848529.59 331824.84`, since
/// version 0.14 with CPU use and memory behind.
fn push_operations(line: Line<'_>, name: &mut Name, out: &mut Parsed) {
    let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
    let [_, _, _, stressor, operations, _, _, _, per_second, ..] = words.as_slice() else {
        return;
    };
    if !matches!(words.len(), 10 | 12) {
        return;
    }
    if *operations == "0" {
        out.push(name.of(&[stressor, ".fail"]), 1.0);
    } else {
        out.push(name.of(&[stressor, ".pass"]), 1.0);
        out.push_word(line.number, name.of(&[stressor, ".ops"]), operations);
        out.push_word(line.number, name.of(&[stressor, ".ops_per_sec"]), per_second);
    }
}

/// What stands before `(harmonic mean of 6 instances)`.
fn own_metric(line: &str) -> Option<&str> {
    let start = ["stress-ng: info:", "stress-ng: metrc:"]
        .into_iter()
        .filter_map(|head| line.find(head).map(|at| at + head.len()))
        .min()?;
    if !OWN_METRIC.iter().any(|how| line[start..].contains(how)) {
        return None;
    }
    if !line.ends_with(')') {
        return Some(line);
    }
    let cut = line.match_indices(" (").map(|(at, _)| at);
    let mut cut = cut.filter(|at| OWN_METRIC.iter().any(|how| line[at + 1..].starts_with(how)));
    Some(cut.next().map_or(line, |at| &line[..at]))
}

/// `stress-ng: metrc: [5237] udp-flood 1097.62 sendto calls per sec`
fn push_own_metric(line: Line<'_>, before: &str, name: &mut Name, out: &mut Parsed) {
    let words: Vec<&str> = before.split_ascii_whitespace().collect();
    let [_, _, _, stressor, value, unit @ ..] = words.as_slice() else {
        out.unexpected(line.number, line.text);
        return;
    };
    let unit = normalized(&unit.join("_"));
    if matches!(*value, "0" | "0.00") {
        out.push(name.of(&[stressor, ".", &unit, ".fail"]), 1.0);
    } else {
        out.push(name.of(&[stressor, ".", &unit, ".pass"]), 1.0);
        out.push_word(line.number, name.of(&[stressor, ".", &unit]), value);
    }
}
