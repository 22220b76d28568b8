//! hackbench (rt-tests), run once or more, perhaps in several instances (`Instance: <n>` lines):
//! `throughput` in KiB/s of the fastest run, and that of the mean and the slowest run.

use std::collections::BTreeMap;

use crate::number;
use crate::options::ParseOptions;
use crate::parsed::Parsed;
use crate::source::{Line, Source};

pub(super) fn parse(source: &Source<'_>, _: &ParseOptions, out: &mut Parsed) {
    let mut all = Runs::default();
    let mut instances: BTreeMap<u64, Runs> = BTreeMap::new();
    let mut instance = 1;
    for line in source.lines() {
        if let Some(number) = line.text.strip_prefix("Instance: ") {
            instance = number::leading_integer(number) as u64;
        } else if let Some(fact) = Fact::read(line) {
            all.add(&fact);
            instances.entry(instance).or_default().add(&fact);
        }
    }
    match all.kib() {
        Some(kib) if !all.seconds.is_empty() => {
            out.push("throughput", kib / all.fastest());
            out.push("throughput_best", kib / all.fastest());
            out.push("throughput_avg", number::rounded_to_cents(kib / all.mean()));
            out.push("throughput_worst", kib / all.slowest());
        }
        _ => out.notes.add(0, || "no complete run of hackbench".to_owned()),
    }
    if instances.len() > 1 {
        for (number, runs) in &instances {
            runs.push_instance(*number, out);
        }
    }
}

/// One thing that hackbench says.
enum Fact {
    Tasks(f64),
    Messages { count: f64, bytes: f64 },
    Seconds(f64),
}

impl Fact {
    fn read(line: Line<'_>) -> Option<Self> {
        let text = line.text;
        if text.starts_with("Running in ") && text.contains(" mode with ") {
            let tasks = text.split_once("(== ")?.1;
            return tasks.contains(" tasks)").then(|| Fact::Tasks(number::leading_integer(tasks)));
        }
        for head in ["Each sender will pass ", "Each sender passed "] {
            if let Some(rest) = text.strip_prefix(head) {
                let (count, rest) = rest.split_once(" messages of ")?;
                let bytes = rest.split_once(" bytes")?.0;
                let (count, bytes) = (number::parse(count)?, number::parse(bytes)?);
                return Some(Fact::Messages { count, bytes });
            }
        }
        let seconds = text.strip_prefix("Time:")?.split_ascii_whitespace().next()?;
        number::parse(seconds).filter(|seconds| *seconds > 0.0).map(Fact::Seconds)
    }
}

/// Runs with the same size; the last size that was told counts.
#[derive(Debug, Default)]
struct Runs {
    tasks: Option<f64>,
    messages: Option<(f64, f64)>,
    seconds: Vec<f64>,
}

impl Runs {
    fn add(&mut self, fact: &Fact) {
        match *fact {
            Fact::Tasks(tasks) => self.tasks = Some(tasks),
            Fact::Messages { count, bytes } => self.messages = Some((count, bytes)),
            Fact::Seconds(seconds) => self.seconds.push(seconds),
        }
    }

    /// What one run moved, in whole KiB.
    fn kib(&self) -> Option<f64> {
        let (count, bytes) = self.messages?;
        Some((self.tasks? * count * bytes / 1024.0).floor())
    }

    fn fastest(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn slowest(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn mean(&self) -> f64 {
        number::sum(self.seconds.iter().copied()) / self.seconds.len() as f64
    }

    fn push_instance(&self, number: u64, out: &mut Parsed) {
        let Some(kib) = self.kib().filter(|_| !self.seconds.is_empty()) else { return };
        out.push(&format!("throughput.instance{number}"), kib / self.fastest());
        let mean = number::rounded_to_cents(kib / self.mean());
        out.push(&format!("throughput_avg.instance{number}"), mean);
        out.push(&format!("throughput_worst.instance{number}"), kib / self.slowest());
    }
}
