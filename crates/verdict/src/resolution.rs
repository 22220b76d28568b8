//! The step in which a metric was written down.

/// The step in which values are written: 1 for integers, 0.01 when the finest has two decimals.
/// Values with more than six decimals count as continuous (0), as do very large ones.
pub(crate) fn resolution(values: impl Iterator<Item = f64>) -> f64 {
    let mut step = 1.0;
    for value in values {
        while !is_multiple(value, step) {
            step /= 10.0;
            if step < 0.9e-6 {
                return 0.0;
            }
        }
    }
    step
}

/// Whether `value` is a whole number of steps, as nearly as a double can say.
fn is_multiple(value: f64, step: f64) -> bool {
    let steps = value / step;
    let reach = 4.0 * f64::EPSILON * steps.abs();
    reach < 0.01 && (steps - steps.round()).abs() <= reach
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_as_written() {
        for (values, step) in [
            (vec![10.0, 20.0], 1.0),
            (vec![1.23, 1.2], 0.01),
            (vec![0.0], 1.0),
            (vec![-3.5, 7.0], 0.1),
            (vec![1.0 / 3.0], 0.0),
            (vec![927326.123456789], 0.0),
        ] {
            let found = resolution(values.iter().copied());
            assert!((found - step).abs() < 1e-12, "{values:?}: {found}");
        }
    }
}
