//! Samples to one number per metric.

use patchmark_model::{MetricName, Metrics};

use crate::kind::{self, Kind, kind};
use crate::lkp;
use crate::number;
use crate::options::{ParseOptions, Window};
use crate::samples::{Samples, Series};

/// One number per metric of a program, named `<program>.<metric>`:
///
/// | kind | number |
/// |---|---|
/// | [`Kind::Independent`] | sum |
/// | [`Kind::Counter`] | last minus first; absent when there is one sample only |
/// | [`Kind::Level`] | mean over the samples that exist |
///
/// The window cuts by the time of each record, when the file has more than two. A few metrics
/// (latencies, elapsed times) get their largest sample as `<metric>.max`.
///
/// With [`ParseOptions::lkp_compatible`] the numbers are those of lkp-tests: missing samples count
/// as 0, a mean divides by the number of records of the file, `softirqs` are averaged, a counter
/// with one sample is that sample, metrics that are 0 throughout are left out, and a value that is
/// no number takes its whole record with it.
pub fn reduce(program: &str, samples: &Samples, options: &ParseOptions) -> Metrics {
    if options.lkp_compatible {
        return lkp::numbers(program, &lkp::records(program, samples), options.window);
    }
    let times = record_times(samples);
    let mut metrics = Metrics::new();
    for (name, series) in samples.iter() {
        if name == "time" {
            continue;
        }
        let metric = format!("{program}.{name}").replace(|c: char| c.is_ascii_whitespace(), "_");
        let values = values_in_window(&metric, series, times.as_deref(), options.window);
        if let Some(number) = number_of(kind(&metric, false), &values) {
            if kind::has_maximum(&metric) {
                let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                metrics.insert(MetricName::new(format!("{metric}.max")), max);
            }
            metrics.insert(MetricName::new(metric), number);
        }
    }
    metrics
}

fn number_of(kind: Kind, values: &[f64]) -> Option<f64> {
    let number = match (kind, values) {
        (_, []) => return None,
        (Kind::Independent, _) => number::sum(values.iter().copied()),
        (Kind::Counter, [first, .., last]) => last - first,
        (Kind::Counter, [_]) => return None,
        (Kind::Level, _) => number::sum(values.iter().copied()) / values.len() as f64,
    };
    number.is_finite().then_some(number)
}

/// The time of each record, in seconds from the first; `None` when the file has no sequence of
/// records that a window could cut.
fn record_times(samples: &Samples) -> Option<Vec<Option<f64>>> {
    let time = samples.get("time").filter(|time| time.values().len() > 2)?;
    let start = relative_to(time.values());
    let mut times = vec![None; samples.record_count()];
    for (record, value) in time.records().iter().zip(time.values()) {
        if let Some(time) = times.get_mut(*record as usize) {
            *time = Some(value - start);
        }
    }
    Some(times)
}

/// Times since the epoch are made relative to the first; times since the start of a run are so
/// already.
pub(crate) fn relative_to(times: &[f64]) -> f64 {
    const EARLY: f64 = 2.0;
    times.first().copied().filter(|first| *first > EARLY).unwrap_or(0.0)
}

fn values_in_window(
    metric: &str,
    series: &Series,
    times: Option<&[Option<f64>]>,
    window: Window,
) -> Vec<f64> {
    let is_cut = window != Window::default() && !kind::covers_window(metric);
    let is_in = |record: u32| {
        let Some(times) = times.filter(|_| is_cut) else { return true };
        let Some(Some(time)) = times.get(record as usize) else { return false };
        window.begin.is_none_or(|begin| *time >= begin) && window.end.is_none_or(|end| *time < end)
    };
    let samples = series.records().iter().zip(series.values());
    samples
        .filter(|(record, value)| is_in(**record) && kind::is_possible(metric, **value))
        .map(|(_, value)| *value)
        .collect()
}

/// Adds the metrics that are made of those of several programs:
/// `perf-stat.overall.path-length`, instructions per unit of work, when exactly one program has a
/// `workload`.
pub(crate) fn add_derived(metrics: &mut Metrics) {
    let mut workloads =
        metrics.iter().filter(|(name, _)| name.as_str().ends_with(".workload")).map(|(_, n)| *n);
    let (Some(workload), None) = (workloads.next(), workloads.next()) else { return };
    let Some(instructions) = metrics.get("perf-stat.total.instructions") else { return };
    let path_length = instructions / workload;
    if path_length.is_finite() {
        metrics.insert(MetricName::from("perf-stat.overall.path-length"), path_length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut samples = Samples::default();
        for record in 0..10u32 {
            let t = f64::from(record);
            samples.extend([("time", 1000.0 + t), ("pgfault", 10.0 * t), ("nr_free_pages", t)]);
            if record < 3 {
                samples.extend([("nr_late", 6.0)]);
            }
        }
        samples
    }

    #[test]
    fn an_absent_sample_is_no_zero() {
        let metrics = reduce("proc-vmstat", &samples(), &ParseOptions::default());
        assert_eq!(metrics.get("proc-vmstat.pgfault"), Some(&90.0));
        assert_eq!(metrics.get("proc-vmstat.nr_free_pages"), Some(&4.5));
        assert_eq!(metrics.get("proc-vmstat.nr_late"), Some(&6.0));
        assert_eq!(metrics.get("proc-vmstat.time"), None);
        let compatible = ParseOptions { lkp_compatible: true, ..ParseOptions::default() };
        let metrics = reduce("proc-vmstat", &samples(), &compatible);
        assert_eq!(metrics.get("proc-vmstat.nr_late"), Some(&1.8));
    }

    #[test]
    fn a_window_cuts_every_metric_at_the_same_instant() {
        let window = Window { begin: Some(2.0), end: Some(5.0) };
        let options = ParseOptions { window, ..ParseOptions::default() };
        let metrics = reduce("proc-vmstat", &samples(), &options);
        assert_eq!(metrics.get("proc-vmstat.pgfault"), Some(&20.0));
        assert_eq!(metrics.get("proc-vmstat.nr_late"), Some(&6.0));
        let window = Window { begin: Some(5.0), end: None };
        let metrics =
            reduce("proc-vmstat", &samples(), &ParseOptions { window, ..ParseOptions::default() });
        assert_eq!(metrics.get("proc-vmstat.nr_late"), None);
    }

    #[test]
    fn path_length_needs_one_workload() {
        let mut metrics = Metrics::new();
        metrics.insert("perf-stat.total.instructions".into(), 7e9);
        metrics.insert("a.workload".into(), 1e3);
        add_derived(&mut metrics);
        assert_eq!(metrics.get("perf-stat.overall.path-length"), Some(&7e6));
        metrics.remove("perf-stat.overall.path-length");
        metrics.insert("b.workload".into(), 1e3);
        add_derived(&mut metrics);
        assert_eq!(metrics.get("perf-stat.overall.path-length"), None);
    }
}
