//! Centre and spread of one sample.

use crate::compensated_sum;

/// Arithmetic mean over a compensated sum; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = compensated_sum(values) / n;
    if mean.is_infinite() {
        // The sum is too large for a double, but a mean of finite values never is.
        return Some(values.iter().map(|value| value / n).sum());
    }
    (!values.is_empty()).then_some(mean)
}

/// Unbiased variance (divided by n - 1), by the two-pass algorithm with its correction term;
/// `None` for fewer than two values.
///
/// Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample
/// variance", The American Statistician 37 (1983) 242-247, eq. 1.7.
pub fn sample_variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let centre = mean(values)?;
    let (mut squares, mut rest) = (0.0, 0.0);
    for value in values {
        let deviation = value - centre;
        squares += deviation * deviation;
        rest += deviation;
    }
    Some(((squares - rest * rest / n) / (n - 1.0)).max(0.0))
}

/// Standard deviation of the values themselves (divided by n), summed from left to right: what
/// lkp-tests prints as `%stddev`. `None` for no values.
pub fn population_stddev(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares = values.iter().fold(0.0, |sum, value| {
        let deviation = value - centre;
        sum + deviation * deviation
    });
    Some((1.0 / values.len() as f64 * squares).sqrt())
}

/// The middle value, or the mean of the two middle ones; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(lower + (upper - lower) / 2.0)
}

/// The middle value, or the larger of the two middle ones: the `mean` of lkp-tests' change rule.
/// `None` for no values.
pub fn upper_median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    sorted.get(sorted.len() / 2).copied()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Size, mean and unbiased variance of one sample: all that Welch's test needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Unbiased variance; 0 for a single value.
    pub variance: f64,
}

impl Moments {
    /// The moments of `values`; `None` for no values.
    pub fn of(values: &[f64]) -> Option<Moments> {
        let mean = mean(values)?;
        Some(Moments { n: values.len(), mean, variance: sample_variance(values).unwrap_or(0.0) })
    }

    /// Squared standard error of the mean.
    pub fn squared_error(&self) -> f64 {
        self.variance / self.n as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(mean(&[1.0, 2.0, 4.0]), Some(7.0 / 3.0));
        assert_eq!(sample_variance(&[1.0, 2.0, 3.0, 4.0]), Some(5.0 / 3.0));
        assert_eq!(population_stddev(&[3.0, 5.0]), Some(1.0));
        assert_eq!(mean(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(upper_median(&[4.0, 1.0, 2.0, 3.0]), Some(3.0));
    }

    #[test]
    fn one_value_among_k_that_is_not_zero_spreads_by_the_root_of_k_minus_one() {
        let mut values = [0.0; 12];
        values[3] = 7.0;
        let relative = population_stddev(&values).unwrap() / mean(&values).unwrap();
        assert!((relative - 11.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn too_few_values_have_no_answer() {
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(population_stddev(&[]), None);
        assert_eq!(sample_variance(&[1.0]), None);
        assert_eq!(Moments::of(&[]), None);
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-1e6..1e6_f64, 2..20)
    }

    fn close(a: f64, b: f64, scale: f64) -> bool {
        (a - b).abs() <= 1e-9 * scale.max(1.0)
    }

    proptest! {
        #[test]
        fn spread_ignores_shifts_and_follows_scale(x in values(), shift in -1e6..1e6_f64, k in -50.0..50.0_f64) {
            let v = sample_variance(&x).unwrap();
            let shifted: Vec<f64> = x.iter().map(|x| x + shift).collect();
            let scaled: Vec<f64> = x.iter().map(|x| x * k).collect();
            prop_assert!(close(sample_variance(&shifted).unwrap(), v, v));
            prop_assert!(close(sample_variance(&scaled).unwrap(), k * k * v, k * k * v));
            let s = population_stddev(&x).unwrap();
            prop_assert!(close(population_stddev(&scaled).unwrap(), k.abs() * s, k.abs() * s));
        }

        #[test]
        fn order_does_not_matter(mut x in values()) {
            let before = (mean(&x), median(&x), sample_variance(&x).unwrap());
            x.reverse();
            prop_assert_eq!((mean(&x), median(&x)), (before.0, before.1));
            prop_assert!(close(sample_variance(&x).unwrap(), before.2, before.2));
        }

        #[test]
        fn the_centre_lies_between_the_ends(x in values()) {
            let low = x.iter().copied().fold(f64::INFINITY, f64::min);
            let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for centre in [mean(&x), median(&x), upper_median(&x)] {
                let centre = centre.unwrap();
                prop_assert!(low - 1e-9 <= centre && centre <= high + 1e-9);
            }
        }
    }
}
