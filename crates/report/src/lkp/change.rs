//! Which metrics changed, by the peer's rule: ranges of samples against medians.
//!
//! A missing sample counts as zero here, and a leading -1 as missing. That is how the peer's
//! tables come about; verdicts of our own do neither.

use std::collections::{BTreeMap, BTreeSet};

use super::floors::is_large_enough;
use super::names;
use crate::matrix::{INCOMPLETE, Matrix, Samples};

/// How the peer decides that a metric changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What two ranges of samples must look like.
    pub(crate) test: RangeTest,
    /// Looks at hidden metrics too.
    pub(crate) more: bool,
    /// Shows profile shares above a threshold, changed or not.
    pub(crate) profile: Option<ProfileThreshold>,
    /// Leaves out failures that the head no longer has.
    pub(crate) regressions_only: bool,
}

/// What two ranges of samples must look like to count as changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RangeTest {
    /// Each side's median lies outside the other's range, on the same side.
    Apart,
    /// The gap between the ranges is more than this share of the distance of the medians.
    #[cfg_attr(not(test), expect(dead_code, reason = "known to the rule, not yet an option"))]
    Gap(f64),
    /// One side's range is wider than the other's by this factor; needs ten runs on each side.
    #[cfg_attr(not(test), expect(dead_code, reason = "known to the rule, not yet an option"))]
    Variance(f64),
}

/// The threshold of profile shares. It applies only to medians of its own kind, integer or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ProfileThreshold {
    /// Applies where the head's median was written as an integer: the default of 5 is one.
    Integer(f64),
    /// Applies where it was not.
    Float(f64),
}

/// What changed in a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// The head's samples.
    pub(crate) head: Spread,
    /// The base's samples.
    pub(crate) base: Spread,
    /// Larger median over the smaller, at most 5.
    pub(crate) ratio: f64,
    /// Difference of the medians, not negative.
    pub(crate) delta: f64,
}

/// The ends and the upper median of one side's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Smallest sample.
    pub(crate) min: f64,
    /// Upper median.
    pub(crate) median: f64,
    /// Largest sample.
    pub(crate) max: f64,
    /// Number of samples looked at.
    pub(crate) count: usize,
    median_is_integer: bool,
}

impl Spread {
    fn width(&self) -> f64 {
        self.max - self.min
    }
}

/// One column and which of its runs are looked at.
struct Side<'m> {
    samples: &'m Samples,
    runs: Vec<usize>,
    /// Still has the row that says which runs are incomplete.
    is_marked: bool,
}

impl<'m> Side<'m> {
    fn new(samples: &'m Samples, incomplete: Option<usize>) -> Self {
        let is_marked = incomplete.is_some_and(|row| samples.has(row));
        Side { samples, runs: (0..samples.runs()).collect(), is_marked }
    }

    fn drop_incomplete(&mut self) {
        if self.is_marked {
            self.runs.retain(|run| self.samples.complete.get(*run) == Some(&true));
            self.is_marked = false;
        }
    }

    fn spread(&self, metric: usize, margin: usize) -> Option<Spread> {
        let row = self.samples.row(metric);
        let mut sorted: Vec<(f64, bool)> = self
            .runs
            .iter()
            .map(|run| match row.get(*run).copied().flatten() {
                Some(value) => (value, self.samples.is_integer(metric, *run)),
                None => (0.0, true),
            })
            .collect();
        let margin = margin.min(sorted.len() >> 5);
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let missing = sorted.iter().take_while(|(value, _)| *value == -1.0).count();
        let kept = sorted.get(missing + margin..sorted.len().checked_sub(margin)?)?;
        let (median, median_is_integer) = *kept.get(kept.len() / 2)?;
        let (min, max) = (kept.first()?.0, kept.last()?.0);
        Some(Spread { min, median, max, count: kept.len(), median_is_integer })
    }
}

/// The metrics that changed in any column against the first, by row, in the order in which they
/// were found.
pub(crate) fn changed_rows(matrix: &Matrix, rule: &Rule) -> Vec<usize> {
    let mut found = Vec::new();
    let mut is_found = vec![false; matrix.names.len()];
    for change in changes(matrix, rule).into_iter().flatten() {
        if let Some(seen) = is_found.get_mut(change.0)
            && !*seen
        {
            *seen = true;
            found.push(change.0);
        }
    }
    found
}

/// The changes of each further column against the first, by row.
pub(crate) fn changes(matrix: &Matrix, rule: &Rule) -> Vec<Vec<(usize, Change)>> {
    let Some((base, heads)) = matrix.columns.split_first() else { return Vec::new() };
    let rows = Rows::of(matrix);
    let incomplete = rows.by_name.get(INCOMPLETE).copied();
    // The base stays without its incomplete runs once they have been left out for one column.
    let mut base = Side::new(base, incomplete);
    let mut all = Vec::new();
    for head in heads {
        let mut head = Side::new(head, incomplete);
        let mut comparer = Comparer { rows: &rows, rule, fixed_a_boot: false };
        let has_incomplete = base.is_marked || head.is_marked;
        let mut found = comparer.compare(&head, &base, has_incomplete);
        if has_incomplete {
            base.drop_incomplete();
            head.drop_incomplete();
            let known: BTreeSet<usize> = found.iter().map(|(row, _)| *row).collect();
            let more = comparer.compare(&head, &base, false);
            found.extend(more.into_iter().filter(|(row, _)| !known.contains(row)));
        }
        all.push(found);
    }
    all
}

/// The names of a matrix, with what each says about its metric.
struct Rows<'m> {
    matrix: &'m Matrix,
    by_name: BTreeMap<&'m str, usize>,
}

impl<'m> Rows<'m> {
    fn of(matrix: &'m Matrix) -> Self {
        let names = matrix.names.iter().enumerate();
        Rows { matrix, by_name: names.map(|(row, name)| (name.as_str(), row)).collect() }
    }

    fn has(&self, side: &Side, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|row| side.samples.has(*row))
    }

    fn has_program(&self, side: &Side, program: &str) -> bool {
        let prefix = format!("{program}.");
        let from = self.by_name.range(prefix.as_str()..);
        let mut of_program = from.take_while(|(name, _)| name.starts_with(&prefix));
        of_program.any(|(_, row)| side.samples.has(*row))
    }
}

struct Comparer<'a> {
    rows: &'a Rows<'a>,
    rule: &'a Rule,
    fixed_a_boot: bool,
}

impl Comparer<'_> {
    fn compare(&mut self, head: &Side, base: &Side, logs_only: bool) -> Vec<(usize, Change)> {
        let enough = |factor| head.runs.len() >= factor && base.runs.len() >= factor;
        if matches!(self.rule.test, RangeTest::Variance(_)) && !enough(10) {
            return Vec::new();
        }
        let names = &self.rows.matrix.names;
        let of_base = base.samples.rows().into_iter().filter(|row| !head.samples.has(*row));
        let of_head = head.samples.rows().into_iter();
        of_head
            .chain(of_base)
            .filter_map(|row| {
                let name = names.get(row)?;
                let change = self.compare_row(row, name, head, base, logs_only)?;
                Some((row, change))
            })
            .collect()
    }

    fn compare_row(
        &mut self,
        row: usize,
        name: &str,
        head: &Side,
        base: &Side,
        logs_only: bool,
    ) -> Option<Change> {
        if name == INCOMPLETE && !(head.is_marked || base.is_marked) {
            return None;
        }
        if logs_only && !names::is_log_counter(name) {
            return None;
        }
        let is_counter = self.rows.matrix.is_counter(row);
        if is_counter {
            if self.has_no_counterpart(name, base) {
                return None;
            }
        } else if head.runs.len() < 3 && base.runs.len() < 3 {
            return None;
        }
        if !base.samples.has(row) && !is_counter && !self.appeared(name, base) {
            return None;
        }
        if !self.rule.more && names::is_hidden(name) {
            return None;
        }
        let margin = if is_counter { 0 } else { 3 };
        let base_spread = base.spread(row, margin)?;
        let margin = if base.runs.len() <= 3 { margin.min(1) } else { margin };
        let head_spread = head.spread(row, margin)?;
        let change = Change::between(head_spread, base_spread);
        (self.is_change(name, is_counter, &change)
            && !(is_counter && self.is_mended(name, &change))
            && self.is_shown(name, &change))
        .then_some(change)
    }

    /// A test's failure means something only if the same test passed in the base.
    fn has_no_counterpart(&self, name: &str, base: &Side) -> bool {
        if names::is_kernel_counter(name) {
            return false;
        }
        let Some((test, outcome)) = name.rsplit_once('.') else { return false };
        let base_has = |outcome: &str| self.rows.has(base, &format!("{test}.{outcome}"));
        match outcome {
            "error" | "warn" | "fail" => !base_has("pass"),
            "pass" => !["error", "warn", "fail"].into_iter().any(base_has),
            _ => false,
        }
    }

    /// Symbols and locks come and go: one that is new counts, if the monitor itself is not new.
    fn appeared(&self, name: &str, base: &Side) -> bool {
        ["perf-profile", "lock_stat"].into_iter().any(|program| {
            names::program(name) == program
                && name.len() > program.len()
                && self.rows.has_program(base, program)
        })
    }

    fn is_change(&self, name: &str, is_counter: bool, change: &Change) -> bool {
        let Change { head: a, base: b, .. } = change;
        if name.starts_with("perf-profile.") {
            match self.rule.profile {
                Some(ProfileThreshold::Integer(limit)) if a.median_is_integer => {
                    return a.median > limit || b.median > limit;
                }
                Some(ProfileThreshold::Float(limit)) if !a.median_is_integer => {
                    return a.median > limit || b.median > limit;
                }
                _ => {}
            }
        }
        if is_counter {
            return a.max != b.max;
        }
        match self.rule.test {
            RangeTest::Apart => {
                (b.min > a.median && b.median > a.max) || (a.min > b.median && a.median > b.max)
            }
            RangeTest::Gap(share) => {
                let gap = |low: &Spread, high: &Spread| {
                    let between = high.min - low.max;
                    between > 0.0 && between > (high.median - low.median) * share
                };
                gap(a, b) || gap(b, a)
            }
            RangeTest::Variance(factor) => {
                a.width() * b.median > factor * b.width() * a.median
                    || b.width() * a.median > factor * a.width() * b.median
            }
        }
    }

    fn is_mended(&mut self, name: &str, change: &Change) -> bool {
        if !self.rule.regressions_only {
            return false;
        }
        if change.head.max == 0.0 {
            self.fixed_a_boot |= name.starts_with("dmesg.");
            return true;
        }
        self.fixed_a_boot && name.starts_with("kmsg.")
    }

    fn is_shown(&self, name: &str, change: &Change) -> bool {
        if self.rule.profile.is_some() && name.starts_with("perf-profile.") {
            return true;
        }
        let max = change.head.max.max(change.base.max);
        change.ratio > 1.01
            && (change.ratio > 1.05 || names::is_sensitive(name))
            && is_large_enough(name, change.delta, max)
    }
}

impl Change {
    fn between(head: Spread, base: Spread) -> Change {
        const LARGEST: f64 = 5.0;
        let (high, low) = if head.median > base.median { (&head, &base) } else { (&base, &head) };
        let ratio = if low.median > 0.0 { high.median / low.median } else { LARGEST };
        let delta = high.median - low.median;
        Change { head, base, ratio: ratio.min(LARGEST), delta }
    }
}
