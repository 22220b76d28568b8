//! netperf, many processes at once and perhaps several times (`Iterations` lines): throughput per
//! process and of all of them, sent and received, and `workload` (transactions or packets).

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut table = Table::default();
    let mut sent = Rates::default();
    let mut received = Rates::default();
    let mut iterations = 0.0;
    let (mut seconds, mut packet) = (0.0, 0.0);
    for line in source.lines() {
        let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
        let column = |at: usize| words.get(at).map_or(0.0, |word| number::leading_float(word));
        if line.text.starts_with("Iterations") {
            iterations += 1.0;
        } else if table.read_heads(line.text, &words) {
        } else if is_result(line.text) {
            sent.add(column(table.rate));
            seconds = column(table.elapsed);
            if table.unit == Some("Mbps") {
                packet = column(table.message);
            }
        } else if is_receiver(line.text) {
            received.add(column(table.rate.saturating_sub(2)));
        }
    }
    if sent.count == 0.0 {
        return;
    }
    let unit = table.unit.unwrap_or_default();
    let mut name = Name::default();
    let mut push = |metric: &str, value| out.push(name.of(&[metric, unit]), value);
    push("Throughput_", sent.mean());
    push("ThroughputRecv_", received.mean());
    push("ThroughputBoth_", sent.mean() + received.mean());
    let per = if iterations > 0.0 { iterations } else { 1.0 };
    let (sent, received) = (sent.sum / per, received.sum / per);
    push("Throughput_total_", sent);
    push("ThroughputRecv_total_", received);
    push("ThroughputBoth_total_", sent + received);
    let amount = (sent + received) * seconds;
    let in_packets = unit == "Mbps";
    out.push("workload", if in_packets { amount * 1e6 / 8.0 / packet } else { amount });
}

#[derive(Default)]
struct Rates {
    sum: f64,
    count: f64,
}

impl Rates {
    fn add(&mut self, rate: f64) {
        self.sum += rate;
        self.count += 1.0;
    }

    fn mean(&self) -> f64 {
        if self.count == 0.0 { 0.0 } else { self.sum / self.count }
    }
}

/// Which column holds what, and in what unit.
#[derive(Default)]
struct Table {
    unit: Option<&'static str>,
    rate: usize,
    elapsed: usize,
    message: usize,
}

impl Table {
    /// Whether the line is one of the three lines of column heads.
    fn read_heads(&mut self, line: &str, words: &[&str]) -> bool {
        let position = |head: &str| words.iter().rposition(|word| *word == head);
        match words {
            ["bytes", ..] if line.contains("secs") && line.contains("10^6bits") => {
                self.unit = Some("Mbps");
            }
            ["bytes", ..] if line.contains("secs") && line.contains(" per sec") => {
                self.unit = Some("tps");
            }
            ["Socket", ..] if words.contains(&"Elapsed") => {
                self.message = position("Message").unwrap_or(self.message);
                self.elapsed = position("Elapsed").unwrap_or(self.elapsed);
            }
            ["Send", "Recv", ..] => self.rate = position("Rate").unwrap_or(self.rate),
            ["Size", "Size", ..] => self.rate = position("Throughput").unwrap_or(self.rate),
            _ => return false,
        }
        true
    }
}

/// Four numbers one after another, of which the first three are whole.
fn is_result(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.windows(4).any(|four| {
        let [first, second, third, fourth] = four else { return false };
        let is_whole = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        first.ends_with(|c: char| c.is_ascii_digit())
            && is_whole(second)
            && is_whole(third)
            && fourth.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// `212992           300.00    35314623           61689.4`: what the other side got.
fn is_receiver(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_whole = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    line.starts_with(|c: char| c.is_ascii_digit())
        && words.next().is_some_and(is_whole)
        && words.next().is_some_and(|word| {
            word.split_once('.').is_some_and(|(whole, rest)| is_whole(whole) && is_whole(rest))
        })
        && words.next().is_some_and(is_whole)
}
