//! The summary of kernbench: `Elapsed Time 12.34 (0.56)`, with the standard deviation in
//! parentheses.

use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

/// What a line is told by, and the metric.
const LINES: [(&str, &str); 6] = [
    ("Elapsed Time", "elapsed_time"),
    ("User Time", "user_time"),
    ("System Time", "system_time"),
    ("Percent CPU", "percent_cpu"),
    ("Context Switches", "context_switches"),
    ("Sleeps", "sleeps"),
];

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut name = Name::default();
    for line in source.lines() {
        let Some((label, metric)) = LINES.iter().find(|(label, _)| line.text.contains(label))
        else {
            continue;
        };
        let label_words = label.split(' ').count();
        let mut words = line.text.split_ascii_whitespace().skip(label_words);
        if let Some(value) = words.next() {
            out.push_word(line.number, metric, value);
        }
        if let Some(stddev) = words.next() {
            let stddev = stddev.trim_matches(['(', ')']);
            out.push_word(line.number, name.of(&[metric, "_stddev"]), stddev);
        }
    }
}
