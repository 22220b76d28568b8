//! Samples: the values of each metric of one raw file, in order of appearance.
//!
//! A raw file is a sequence of records (the blocks between `time:` lines, the rows of vmstat).
//! Each value knows its record, so that a metric which some records lack stays absent there
//! and a window cuts all metrics at the same instant.

use std::collections::HashMap;

/// At most this many metrics are taken from one file.
const MAX_METRICS: usize = 1 << 20;
/// Longest metric name that is taken.
pub(crate) const MAX_NAME: usize = 4096;

/// The values of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    values: Vec<f64>,
    records: Vec<u32>,
}

impl Series {
    /// The values, in order of appearance. Never empty.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// For each value the number of its record, from 0, strictly increasing.
    pub fn records(&self) -> &[u32] {
        &self.records
    }

    /// Number of records up to and including the last one that has this metric.
    fn reach(&self) -> u32 {
        self.records.last().map_or(0, |record| record + 1)
    }
}

/// Every metric of one raw file, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    series: Vec<(Box<str>, Series)>,
    by_name: HashMap<Box<str>, u32>,
    /// Which metric came after which: blocks repeat, so the next name is nearly always known.
    successor: Vec<u32>,
    last: usize,
    record: u32,
    rejected: Vec<u32>,
}

/// Two sets of samples are equal when they hold the same metrics in the same order with the
/// same values.
impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        self.series == other.series
    }
}

impl Samples {
    /// Adds the next value of a metric. It belongs to the current record, or begins the next
    /// one when the current record has that metric already. `false` when the name is too long,
    /// there are too many metrics, or the value is not finite.
    pub fn push(&mut self, name: &str, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        let Some(index) = self.index_of(name) else { return false };
        let Some((_, series)) = self.series.get_mut(index) else { return false };
        self.record = self.record.max(series.reach());
        series.values.push(value);
        series.records.push(self.record);
        true
    }

    /// Marks the record that a value of this metric would belong to as damaged.
    pub(crate) fn reject(&mut self, name: &str) {
        if let Some(index) = self.by_name.get(name)
            && let Some((_, series)) = self.series.get(*index as usize)
        {
            self.record = self.record.max(series.reach());
        }
        self.rejected.push(self.record);
    }

    /// The values of one metric.
    pub fn get(&self, name: &str) -> Option<&Series> {
        let index = *self.by_name.get(name)? as usize;
        self.series.get(index).map(|(_, series)| series)
    }

    /// Metrics and their values, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Series)> {
        self.series.iter().map(|(name, series)| (&**name, series))
    }

    /// Number of metrics.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there is no metric.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Number of records.
    pub fn record_count(&self) -> usize {
        self.series.iter().map(|(_, series)| series.reach()).max().unwrap_or(0) as usize
    }

    /// Records in which a value could not be read, in order; a record may be named twice.
    pub(crate) fn rejected(&self) -> &[u32] {
        &self.rejected
    }

    fn index_of(&mut self, name: &str) -> Option<usize> {
        let guess = self.successor.get(self.last).map(|next| *next as usize);
        let index = match guess.and_then(|at| self.series.get(at).map(|(known, _)| (at, known))) {
            Some((at, known)) if **known == *name => at,
            _ => self.look_up(name)?,
        };
        if let Some(successor) = self.successor.get_mut(self.last) {
            *successor = index as u32;
        }
        self.last = index;
        Some(index)
    }

    fn look_up(&mut self, name: &str) -> Option<usize> {
        if let Some(index) = self.by_name.get(name) {
            return Some(*index as usize);
        }
        if self.series.len() >= MAX_METRICS || name.len() > MAX_NAME {
            return None;
        }
        let index = self.series.len();
        self.series.push((name.into(), Series::default()));
        self.by_name.insert(name.into(), index as u32);
        self.successor.push(u32::MAX);
        Some(index)
    }
}

impl<'a> Extend<(&'a str, f64)> for Samples {
    fn extend<T: IntoIterator<Item = (&'a str, f64)>>(&mut self, values: T) {
        for (name, value) in values {
            self.push(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_record() {
        let mut samples = Samples::default();
        samples.extend([("time", 1.0), ("a", 10.0), ("time", 2.0), ("a", 20.0), ("b", 5.0)]);
        samples.extend([("time", 3.0), ("b", 6.0)]);
        assert_eq!(samples.get("a").map(Series::records), Some(&[0, 1][..]));
        assert_eq!(samples.get("b").map(Series::records), Some(&[1, 2][..]));
        assert_eq!(samples.record_count(), 3);
        let names: Vec<&str> = samples.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["time", "a", "b"]);
    }

    #[test]
    fn what_is_no_sample_is_refused() {
        let mut samples = Samples::default();
        assert!(!samples.push("a", f64::NAN));
        assert!(!samples.push(&"x".repeat(MAX_NAME + 1), 1.0));
        assert!(samples.is_empty());
    }
}
