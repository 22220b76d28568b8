//! Counts of one interval and of all of them.

use std::collections::HashMap;

use crate::options::ParseOptions;
use crate::parsed::{Name, Parsed};

use super::quotient::Quotients;

/// Sums by event, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Counts {
    entries: Vec<(String, Count)>,
    by_name: HashMap<String, usize>,
}

/// The sum over the lines of one event, and how many lines there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) sum: f64,
    pub(super) lines: f64,
}

impl Counts {
    fn add(&mut self, name: &str, count: Count) {
        let index = match self.by_name.get(name) {
            Some(index) => *index,
            None => {
                self.by_name.insert(name.to_owned(), self.entries.len());
                self.entries.push((name.to_owned(), Count::default()));
                self.entries.len() - 1
            }
        };
        if let Some((_, total)) = self.entries.get_mut(index) {
            total.sum += count.sum;
            total.lines += count.lines;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Count)> {
        self.entries.iter().map(|(name, count)| (name.as_str(), *count))
    }

    pub(super) fn get(&self, name: &str) -> Option<Count> {
        self.entries.get(*self.by_name.get(name)?).map(|(_, count)| *count)
    }

    /// The sum of an event; 0 when there is none, which no quotient is made of.
    pub(super) fn sum(&self, name: &str) -> f64 {
        self.get(name).map_or(0.0, |count| count.sum)
    }
}

/// The intervals of one file, one after another.
#[derive(Debug)]
pub(super) struct Intervals {
    lkp_compatible: bool,
    begin: f64,
    end: Option<f64>,
    now: f64,
    /// Where the interval before the present one ended.
    previous_end: f64,
    present: Counts,
    metrics: Counts,
    total: Counts,
    counted: f64,
    last_counted_end: f64,
    any_closed: bool,
    quotients: Quotients,
    name: Name,
}

impl Intervals {
    pub(super) fn new(options: &ParseOptions) -> Self {
        Intervals {
            lkp_compatible: options.lkp_compatible,
            begin: options.window.begin.unwrap_or(0.0),
            end: options.window.end.filter(|end| *end != 0.0),
            now: 0.0,
            previous_end: 0.0,
            present: Counts::default(),
            metrics: Counts::default(),
            total: Counts::default(),
            counted: 0.0,
            last_counted_end: 0.0,
            any_closed: false,
            quotients: Quotients::default(),
            name: Name::default(),
        }
    }

    /// The end of the present interval.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    pub(super) fn set_now(&mut self, time: f64) {
        self.now = time;
    }

    pub(super) fn add(&mut self, event: &str, count: f64) {
        self.present.add(event, Count { sum: count, lines: 1.0 });
    }

    pub(super) fn add_metric(&mut self, metric: &str, value: f64) {
        self.metrics.add(metric, Count { sum: value, lines: 1.0 });
    }

    /// Ends the present interval.
    pub(super) fn close(&mut self, out: &mut Parsed) {
        let (from, to) = (self.previous_end, self.now);
        self.previous_end = to;
        if self.present.entries.is_empty() {
            return;
        }
        self.any_closed = true;
        self.push_rates(to - from, to, out);
        if self.is_in_window(from, to) {
            for (event, count) in self.present.iter() {
                self.total.add(event, count);
            }
            self.counted += 1.0;
            self.last_counted_end = to;
        }
        self.present = Counts::default();
        self.metrics = Counts::default();
    }

    fn push_rates(&mut self, seconds: f64, time: f64, out: &mut Parsed) {
        out.push("time", time);
        for (event, count) in self.present.iter() {
            out.push(self.name.of(&["i.", event]), count.sum / seconds);
        }
        self.quotients.push("i.", &self.present, seconds, 1.0, out);
        for (metric, value) in self.metrics.iter() {
            out.push(self.name.of(&["i.", metric]), value.sum);
        }
    }

    /// An interval counts when it ends within the window. The window's ends move to those of
    /// the intervals, so that rates are divided by the time that was counted.
    fn is_in_window(&mut self, from: f64, to: f64) -> bool {
        if to <= self.begin {
            return false;
        }
        self.begin = self.begin.min(from);
        match self.end {
            Some(end) if to > end => {
                self.end = Some(end.min(from));
                false
            }
            _ => true,
        }
    }

    /// Ends the file: the last interval is left out, unless there is no other.
    pub(super) fn finish(mut self, last_line_time: f64, out: &mut Parsed) {
        if !self.any_closed && !self.lkp_compatible {
            self.close(out);
        }
        let open_end = if self.lkp_compatible { last_line_time } else { self.last_counted_end };
        let end = self.end.filter(|end| *end <= open_end || self.lkp_compatible);
        let seconds = end.unwrap_or(open_end) - self.begin;
        for (event, count) in self.total.iter() {
            out.push(self.name.of(&["ps.", event]), count.sum / seconds);
        }
        let instructions = self.total.sum("instructions");
        if instructions != 0.0 {
            out.push("total.instructions", instructions);
        }
        self.quotients.push("overall.", &self.total, seconds, self.counted, out);
    }
}
