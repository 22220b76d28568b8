//! Sums that do not lose the small addends.

/// The sum of `values`, with the rounding errors carried along and added at the end: the
/// Kahan-Babuska variant that Ruby's `Array#sum` uses, so means agree with it to the last bit.
///
/// Source: A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
/// Summen", ZAMM 54 (1974) 39-51.
pub fn compensated_sum(values: &[f64]) -> f64 {
    let mut sum = 0.0_f64;
    let mut lost = 0.0_f64;
    for &value in values {
        let next = sum + value;
        if !next.is_finite() {
            return values.iter().sum();
        }
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_addends_survive_large_ones() {
        assert_eq!(compensated_sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(compensated_sum(&[0.1; 10]), 1.0);
        assert_eq!(compensated_sum(&[]), 0.0);
    }

    #[test]
    fn overflow_is_infinite_and_not_nan() {
        assert_eq!(compensated_sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }
}
