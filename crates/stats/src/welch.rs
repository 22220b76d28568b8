//! The difference of two means when the variances need not be equal.

use crate::{Moments, t_quantile, t_two_sided_p};

/// An interval of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether the whole interval lies within `-limit..=limit`.
    pub fn is_within(&self, limit: f64) -> bool {
        -limit <= self.low && self.high <= limit
    }
}

/// Welch's comparison of two means, head minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Difference of the means.
    pub difference: f64,
    /// Standard error of the difference.
    pub error: f64,
    /// Degrees of freedom (Welch-Satterthwaite).
    pub df: f64,
}

impl Welch {
    /// The t statistic: difference over its error.
    pub fn t(&self) -> f64 {
        self.difference / self.error
    }

    /// Two-sided p-value of "no difference".
    pub fn p(&self) -> Option<f64> {
        t_two_sided_p(self.t(), self.df)
    }

    /// The t quantile that intervals of this coverage reach out by.
    pub fn quantile(&self, confidence: f64) -> Option<f64> {
        t_quantile(confidence, self.df)
    }

    /// Interval that covers the true difference with probability `confidence`.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        Some(self.interval_at(self.quantile(confidence)?))
    }

    /// The interval for a quantile that is known already.
    pub fn interval_at(&self, quantile: f64) -> Interval {
        let reach = quantile * self.error;
        Interval { low: self.difference - reach, high: self.difference + reach }
    }
}

/// Compares two means. `None` when a side has fewer than two values or both have no variance:
/// the difference of constants has no error to speak of.
///
/// Sources: B. L. Welch, "The generalization of Student's problem when several different
/// population variances are involved", Biometrika 34 (1947) 28-35; F. E. Satterthwaite,
/// "An approximate distribution of estimates of variance components", Biometrics Bulletin 2
/// (1946) 110-114.
pub fn welch(base: &Moments, head: &Moments) -> Option<Welch> {
    if base.n < 2 || head.n < 2 {
        return None;
    }
    let (b, h) = (base.squared_error(), head.squared_error());
    let sum = b + h;
    if !(sum > 0.0 && sum.is_finite()) {
        return None;
    }
    // Shares of the sum instead of the squares themselves: these cannot under- or overflow.
    let (b, h) = (b / sum, h / sum);
    let df = 1.0 / (b * b / (base.n - 1) as f64 + h * h / (head.n - 1) as f64);
    Some(Welch { difference: head.mean - base.mean, error: sum.sqrt(), df })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compare(base: &[f64], head: &[f64]) -> Option<Welch> {
        welch(&Moments::of(base)?, &Moments::of(head)?)
    }

    #[test]
    fn the_example_of_unequal_variances() {
        // R: t.test(c(104.5, 103.1, 106.0, 99.0), c(98.0, 95.5, 97.1, 96.0, 97.4))
        let base = [98.0, 95.5, 97.1, 96.0, 97.4];
        let head = [104.5, 103.1, 106.0, 99.0];
        let result = compare(&base, &head).unwrap();
        assert!((result.difference - 6.35).abs() < 1e-12);
        let interval = result.interval(0.95).unwrap();
        assert!(interval.low > 0.0 && interval.contains(6.35) && !interval.is_within(10.0));
    }

    #[test]
    fn constants_and_single_values_have_no_interval() {
        assert_eq!(compare(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(compare(&[1.0], &[2.0, 3.0]), None);
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(1.0..1e3_f64, 2..12)
    }

    proptest! {
        #[test]
        fn swapping_the_sides_turns_the_sign(a in values(), b in values()) {
            let (Some(one), Some(other)) = (compare(&a, &b), compare(&b, &a)) else { return Ok(()) };
            prop_assert_eq!(one.difference, -other.difference);
            prop_assert!((one.df - other.df).abs() < 1e-9 * one.df);
            prop_assert_eq!(one.p(), other.p());
        }

        #[test]
        fn p_ignores_shift_and_scale(a in values(), b in values(), shift in -1e3..1e3_f64, k in 0.1..100.0_f64) {
            let Some(one) = compare(&a, &b) else { return Ok(()) };
            let moved = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| (x + shift) * k).collect() };
            let Some(two) = compare(&moved(&a), &moved(&b)) else { return Ok(()) };
            prop_assert!((one.p().unwrap() - two.p().unwrap()).abs() < 1e-6);
            prop_assert!((two.difference - k * one.difference).abs() < 1e-6 * k * (1.0 + one.difference.abs()));
        }

        #[test]
        fn the_interval_excludes_zero_when_p_is_small(a in values(), b in values()) {
            let Some(result) = compare(&a, &b) else { return Ok(()) };
            let (p, interval) = (result.p().unwrap(), result.interval(0.95).unwrap());
            if (p - 0.05).abs() > 1e-9 {
                prop_assert_eq!(p < 0.05, !interval.contains(0.0));
            }
        }
    }
}
