//! The report of GNU `time -v`, one or more after another: `User time (seconds): 13.70`.
//!
//! A unit in parentheses is left out of the name, elapsed time becomes seconds.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, options: &ParseOptions, out: &mut Parsed) {
    for line in source.lines() {
        if line.text.contains("Command being timed: ") {
            continue;
        }
        let mut parts = line.text.split(": ");
        let (Some(label), Some(value)) = (parts.next(), parts.next()) else { continue };
        let name = metric_name(label);
        let value = value.trim();
        match name.as_str() {
            "elapsed_time" => {
                let parts = value.split(':').map(number::leading_float);
                out.push(&name, parts.fold(0.0, |total, part| total * 60.0 + part));
            }
            "percent_of_cpu_this_job_got" => match value.strip_suffix('%').unwrap_or(value) {
                // Nothing was measured: the job was shorter than the clock's tick.
                "?" if options.lkp_compatible => out.push(&name, 0.0),
                "?" => out.notes.add(line.number, || format!("`{name}` was not measured")),
                percent => out.push_word(line.number, &name, percent),
            },
            _ => out.push_word(line.number, &name, value),
        }
    }
}

fn metric_name(label: &str) -> String {
    let mut name = String::with_capacity(label.len());
    let mut rest = label;
    while let Some(open) = rest.find(" (") {
        let (before, unit) = rest.split_at(open);
        name.push_str(before);
        match unit.find(')') {
            Some(close) if close > 2 => rest = &unit[close + 1..],
            _ => {
                name.push_str(" (");
                rest = &unit[2..];
            }
        }
    }
    name.push_str(rest);
    let words: Vec<&str> = name.split_ascii_whitespace().collect();
    words.join("_").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_no_part_of_a_name() {
        let elapsed = "\tElapsed (wall clock) time (h:mm:ss or m:ss)";
        assert_eq!(metric_name(elapsed), "elapsed_time");
        assert_eq!(metric_name("Major (requiring I/O) page faults"), "major_page_faults");
        assert_eq!(metric_name("odd ( label"), "odd_(_label");
    }
}
