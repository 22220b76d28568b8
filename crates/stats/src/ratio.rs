//! The ratio of two means: "17% less than the base".

use crate::{Interval, Moments};

/// A ratio of means, head over base, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Ratio of the means.
    pub estimate: f64,
    /// Values of the true ratio that the samples do not contradict.
    pub interval: Interval,
}

/// The ratio of two means with Fieller's interval, for the quantile `t` that
/// [`Welch::quantile`](crate::Welch::quantile) gives. `None` when the base's mean is not positive
/// beyond doubt: then the interval would be unbounded, and no percentage says anything.
///
/// The interval is the set of ratios r at which a t test of `head - r * base` is not
/// significant, so it excludes 1 exactly when Welch's test finds a difference; the delta
/// method has no such agreement and is too short when the base is noisy. The degrees of freedom
/// are Welch's at r = 1.
///
/// Sources: E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
/// Statistical Society B 16 (1954) 175-185; V. H. Franz, "Ratios: a short guide to confidence
/// limits and proper use" (2007), arXiv:0710.2024.
pub fn fieller(base: &Moments, head: &Moments, t: f64) -> Option<Ratio> {
    let estimate = head.mean / base.mean;
    let base_error = base.squared_error().sqrt() / base.mean;
    let head_error = head.squared_error().sqrt() / base.mean;
    let g = (t * base_error).powi(2);
    if base.mean <= 0.0 || g.is_nan() || g >= 1.0 || !estimate.is_finite() {
        return None;
    }
    let root = (head_error.powi(2) * (1.0 - g) + estimate.powi(2) * base_error.powi(2)).sqrt();
    let (low, high) = ((estimate - t * root) / (1.0 - g), (estimate + t * root) / (1.0 - g));
    let interval = Interval { low, high };
    (low.is_finite() && high.is_finite()).then_some(Ratio { estimate, interval })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::welch;

    fn ratio(base: &[f64], head: &[f64]) -> Option<Ratio> {
        let (base, head) = (Moments::of(base)?, Moments::of(head)?);
        fieller(&base, &head, welch(&base, &head)?.quantile(0.95)?)
    }

    #[test]
    fn a_base_that_may_be_zero_has_no_ratio() {
        assert_eq!(ratio(&[-1.0, 1.0, 0.5], &[1.0, 2.0, 3.0]), None);
        assert_eq!(ratio(&[0.0, 0.0, 0.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(ratio(&[-3.0, -3.1, -2.9], &[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn a_steady_base_gives_nearly_the_interval_of_the_difference() {
        let base = [1000.0, 1000.1, 999.9, 1000.0];
        let head = [1100.0, 1120.0, 1110.0, 1130.0];
        let r = ratio(&base, &head).unwrap();
        let d = welch(&Moments::of(&base).unwrap(), &Moments::of(&head).unwrap()).unwrap();
        let i = d.interval(0.95).unwrap();
        assert!((r.estimate - 1.115).abs() < 1e-9);
        assert!(((r.interval.low - 1.0) * 1000.0 - i.low).abs() < 0.1);
        assert!(((r.interval.high - 1.0) * 1000.0 - i.high).abs() < 0.1);
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(100.0..140.0_f64, 2..12)
    }

    proptest! {
        #[test]
        fn it_excludes_one_exactly_when_the_t_test_finds_a_difference(a in values(), b in values()) {
            let Some(r) = ratio(&a, &b) else { return Ok(()) };
            let p = welch(&Moments::of(&a).unwrap(), &Moments::of(&b).unwrap()).unwrap().p().unwrap();
            prop_assert!(r.interval.contains(r.estimate));
            if (p - 0.05).abs() > 1e-7 {
                prop_assert_eq!(p < 0.05, !r.interval.contains(1.0), "p {} {:?}", p, r);
            }
        }

        #[test]
        fn a_change_of_unit_changes_nothing(a in values(), b in values(), k in 0.001..1000.0_f64) {
            let scaled = |x: &[f64]| -> Vec<f64> { x.iter().map(|x| x * k).collect() };
            match (ratio(&a, &b), ratio(&scaled(&a), &scaled(&b))) {
                (Some(one), Some(two)) => {
                    prop_assert!((one.interval.low - two.interval.low).abs() < 1e-7 * (1.0 + one.interval.low.abs()));
                    prop_assert!((one.interval.high - two.interval.high).abs() < 1e-7 * (1.0 + one.interval.high.abs()));
                }
                (one, two) => prop_assert_eq!(one.is_some(), two.is_some()),
            }
        }
    }
}
