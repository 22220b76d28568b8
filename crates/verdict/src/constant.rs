//! Both sides constant: no spread to measure, but often an exact answer.

use crate::resolution::resolution;

/// What two constants say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constants {
    /// The same value in every run.
    Same,
    /// Neighbours on the metric's own scale: 5 and 6, 1.23 and 1.24. The truth may lie between
    /// the steps on both sides.
    OneStep(f64),
    /// Further apart than one step: the difference is exact.
    Apart,
}

/// Compares the values of two constant sides.
pub(crate) fn compare(base: f64, head: f64) -> Constants {
    if base == head {
        return Constants::Same;
    }
    let step = resolution([base, head].into_iter());
    if step > 0.0 && (head - base).abs() < 1.5 * step {
        return Constants::OneStep(step);
    }
    Constants::Apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_scale_are_told_apart_from_true_differences() {
        assert_eq!(compare(5.0, 5.0), Constants::Same);
        assert_eq!(compare(5.0, 6.0), Constants::OneStep(1.0));
        assert!(matches!(compare(1.23, 1.24), Constants::OneStep(_)));
        assert_eq!(compare(1.23, 1.30), Constants::Apart);
        assert_eq!(compare(927326.0, 983845.0), Constants::Apart);
        assert_eq!(compare(0.333333333, 0.3333333334), Constants::Apart);
    }
}
