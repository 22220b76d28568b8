//! Headline metrics: which of a run's numbers a program is run for.

use patchmark_model::{Direction, Kpi};

/// A pattern over metric names and what the metrics mean that fit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KpiPattern {
    /// The name with `*` for any text: `stress-ng.*.ops_per_sec`.
    pub metric: String,
    /// Direction and unit.
    pub kpi: Kpi,
}

impl KpiPattern {
    /// Whether a metric's name fits.
    pub fn fits(&self, metric: &str) -> bool {
        fits(&self.metric, metric)
    }
}

/// Reads `higher` or `lower`.
pub(crate) fn direction(word: &str) -> Option<Direction> {
    match word {
        "higher" => Some(Direction::Higher),
        "lower" => Some(Direction::Lower),
        _ => None,
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(head) else { return false };
    if tail.is_empty() {
        return true;
    }
    (0..=rest.len()).filter_map(|at| rest.get(at..)).any(|suffix| fits(tail, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(fits("stress-ng.*.ops_per_sec", "stress-ng.sockfd.ops_per_sec"));
        assert!(fits("a*", "a"));
        assert!(fits("a*b*c", "a-b-b-c"));
        assert!(!fits("stress-ng.*.ops", "stress-ng.sockfd.ops_per_sec"));
        assert!(!fits("a.b", "a.bc"));
        assert!(fits("*.é", "x.é"));
    }
}
