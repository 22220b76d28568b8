//! dbench and tbench, run once or more:
//! `Throughput 136.73 MB/sec  2 clients  2 procs  max_latency=80.643 ms`.

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};
use crate::source::Source;
use crate::spread::Spread;

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut rates = Vec::new();
    let mut latencies = Vec::new();
    let mut size = None;
    for line in source.lines().filter(|line| line.text.starts_with("Throughput")) {
        let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
        let latency = line.text.split_once("max_latency=").map(|(_, rest)| rest);
        let ([_, rate, _, clients, _, procs, ..], Some(latency)) = (words.as_slice(), latency)
        else {
            out.unexpected(line.number, line.text);
            continue;
        };
        rates.push(number::leading_float(rate));
        latencies.push(number::leading_float(latency));
        size = Some((number::leading_integer(clients), number::leading_integer(procs)));
    }
    let Some((clients, procs)) = size else { return };
    push_means("throughput_MB/s", &rates, out);
    out.push("clients", clients);
    out.push("procs", procs);
    push_means("max_latency", &latencies, out);
}

fn push_means(metric: &str, values: &[f64], out: &mut Parsed) {
    let mut name = Name::default();
    if let Some(values) = Spread::of(values) {
        out.push(metric, number::rounded_to_cents(values.mean));
        let harmonic = number::rounded_to_cents(values.harmonic_mean);
        out.push(name.of(&[metric, "_harmonic_mean"]), harmonic);
    }
}
