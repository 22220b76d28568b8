//! Mean and spread of a few values.

use crate::number;

/// What some values have in common, and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    /// The harmonic mean: of rates at which equal work was done.
    pub(crate) harmonic_mean: f64,
    /// Population standard deviation.
    pub(crate) stddev: f64,
}

impl Spread {
    /// `None` when there are no values.
    pub(crate) fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = number::sum(values.iter().copied()) / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let inverses: f64 = values.iter().map(|value| 1.0 / value).sum();
        Some(Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            harmonic_mean: count / inverses,
            stddev: (squares / count).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_a_few_values() {
        let spread = Spread::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((spread.min, spread.max, spread.mean), (1.0, 6.0, 3.0));
        assert!((spread.harmonic_mean - 1.8).abs() < 1e-12);
        assert!((spread.stddev - (14.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&[]), None);
    }
}
