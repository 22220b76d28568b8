//! The numbers of lkp-tests as they are: its record keeping (`<program>.json`), its reduction
//! (`stats.json`) and the matrix of many runs (`matrix.json`, `avg.json`, `stddev.json`).
//!
//! One thing differs: lkp-tests reads a value like `1e5`, without a dot, as 1; here it is 100000.

mod matrix;

pub use matrix::Matrix;

use patchmark_model::{MetricName, Metrics};

use crate::kind::{self, Kind, kind};
use crate::number;
use crate::options::Window;
use crate::reduce::relative_to;
use crate::samples::Samples;

/// The content of a `<program>.json`: metrics with their program's prefix, in order.
pub type Lists = Vec<(String, Vec<f64>)>;

/// Programs whose lists may differ in length for good reasons.
const UNEVEN: [&str; 5] = ["ftrace", "perf-stat", "sched_debug", "slabinfo", "meminfo"];

/// Samples as lkp-tests stores them: 0 for missing earlier samples, nothing for missing later
/// ones; metrics that are 0 throughout are dropped; a value that cannot be takes its record out of
/// every list; when lists differ by one sample, the longer ones lose their last.
pub fn records(program: &str, samples: &Samples) -> Lists {
    let mut damaged: Vec<usize> = samples.rejected().iter().map(|at| *at as usize).collect();
    let mut lists: Lists = Vec::with_capacity(samples.len());
    for (name, series) in samples.iter() {
        let metric = format!("{program}.{name}");
        let mut values = Vec::with_capacity(series.values().len());
        for (record, value) in series.records().iter().zip(series.values()) {
            let record = *record as usize;
            values.resize(record.max(values.len()), 0.0);
            if kind::is_possible(&metric, *value) {
                values.push(*value);
            } else {
                damaged.push(record);
            }
        }
        lists.push((metric, values));
    }
    let longest = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let shortest = lists.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    lists.retain(|(metric, values)| {
        let ends = [values.first(), values.last()];
        let sum = number::sum(values.iter().copied());
        metric.starts_with("dmesg.timestamp")
            || sum != 0.0
            || ends.into_iter().flatten().any(|value| *value != 0.0)
    });
    if program != "ftrace" {
        remove_records(&mut lists, damaged);
    }
    if shortest + 1 == longest && !UNEVEN.contains(&program) {
        for (_, values) in &mut lists {
            values.truncate(longest - 1);
        }
    }
    lists
}

fn remove_records(lists: &mut Lists, mut damaged: Vec<usize>) {
    damaged.sort_unstable();
    damaged.dedup();
    if damaged.is_empty() {
        return;
    }
    for (_, values) in lists {
        let mut at = 0;
        values.retain(|_| {
            at += 1;
            damaged.binary_search(&(at - 1)).is_err()
        });
    }
}

/// One number per metric of a `<program>.json`.
pub fn numbers(program: &str, lists: &Lists, window: Window) -> Metrics {
    let length = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let time_name = format!("{program}.time");
    let times =
        lists.iter().find(|(name, _)| *name == time_name).map(|(_, times)| times.as_slice());
    let (begin, end) = cut(times, length, window);
    let Some(divisor) = end.checked_sub(begin) else { return Metrics::new() };
    let mut metrics = Metrics::new();
    for (metric, values) in lists.iter().filter(|(name, _)| *name != time_name) {
        let values = if kind::covers_window(metric) {
            values.as_slice()
        } else {
            values.get(begin..end.min(values.len())).unwrap_or_default()
        };
        let number = match (values, kind(metric, true)) {
            ([], _) => continue,
            ([only], _) => *only,
            (_, Kind::Independent) => number::sum(values.iter().copied()),
            ([first, .., last], Kind::Counter) => last - first,
            (_, Kind::Level) => number::sum(values.iter().copied()) / divisor as f64,
        };
        if kind::has_maximum(metric) {
            let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            metrics.insert(MetricName::new(format!("{metric}.max")), max);
        }
        metrics.insert(MetricName::new(metric), number);
    }
    metrics.retain(|_, number| number.is_finite());
    metrics
}

/// Adds what lkp-tests makes of the metrics of several programs: `perf-stat.overall.path-length`.
pub fn add_derived(metrics: &mut Metrics) {
    crate::reduce::add_derived(metrics);
}

/// First record of the window and the one behind its last.
fn cut(times: Option<&[f64]>, length: usize, window: Window) -> (usize, usize) {
    let Some(times) = times.filter(|times| times.len() > 2) else { return (0, length) };
    let start = if window == Window::default() { 0.0 } else { relative_to(times) };
    let first_at =
        |instant: f64| times.iter().position(|time| time - start >= instant).unwrap_or(length);
    (window.begin.map_or(0, first_at), window.end.map_or(length, first_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_filled_dropped_and_cut_to_length() {
        let mut samples = Samples::default();
        samples.extend([("time", 1.0), ("a", 1.0), ("zero", 0.0)]);
        samples.extend([("time", 2.0), ("a", 2.0), ("zero", 0.0), ("late", 5.0)]);
        samples.extend([("time", 3.0)]);
        let lists = records("x", &samples);
        let expected: Lists = vec![
            ("x.time".into(), vec![1.0, 2.0]),
            ("x.a".into(), vec![1.0, 2.0]),
            ("x.late".into(), vec![0.0, 5.0]),
        ];
        assert_eq!(lists, expected);
    }

    #[test]
    fn an_impossible_value_takes_its_record_with_it() {
        let mut samples = Samples::default();
        for (us, r) in [(50.0, 1.0), (100_000.0, 2.0), (60.0, 3.0)] {
            samples.extend([("procs.r", r), ("cpu.us", us)]);
        }
        let lists = records("vmstat", &samples);
        assert_eq!(lists[0].1, [1.0, 3.0]);
    }
}
