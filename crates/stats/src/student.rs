//! Student's t distribution.

use std::sync::LazyLock;

use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// The value that a t variable with `df` degrees of freedom exceeds in absolute value with
/// probability `1 - confidence`; 2.262 for 0.95 and 9. `None` unless `0 < confidence < 1` and
/// `df > 0`.
///
/// For the usual confidences (0.95, 0.99 and 0.999) the value comes from an interpolation in
/// `1/df` that agrees with the exact one to 1e-11: thousands of metrics each have their own `df`.
pub fn t_quantile(confidence: f64, df: f64) -> Option<f64> {
    let usual = USUAL.iter().find(|(usual, _)| *usual == confidence);
    match usual.and_then(|(_, table)| table.as_ref()) {
        Some(table) if (1.0..f64::INFINITY).contains(&df) => Some(table.quantile(df)),
        _ => exact_quantile(confidence, df),
    }
}

static USUAL: LazyLock<[(f64, Option<Interpolation>); 3]> =
    LazyLock::new(|| [0.95, 0.99, 0.999].map(|usual| (usual, Interpolation::new(usual))));

/// The logarithm of the quantile as a Chebyshev series in `1/df`, for `df` from 1 on.
struct Interpolation {
    coefficients: [f64; Interpolation::TERMS],
}

impl Interpolation {
    const TERMS: usize = 32;

    fn new(confidence: f64) -> Option<Self> {
        let terms = Self::TERMS as f64;
        let angle = |node: usize| std::f64::consts::PI * (node as f64 + 0.5) / terms;
        let mut values = [0.0; Self::TERMS];
        for (node, value) in values.iter_mut().enumerate() {
            let inverse = (angle(node).cos() + 1.0) / 2.0;
            *value = exact_quantile(confidence, 1.0 / inverse)?.ln();
        }
        let coefficients = std::array::from_fn(|term| {
            let wave = |(node, value): (usize, &f64)| value * (term as f64 * angle(node)).cos();
            let share = if term == 0 { 1.0 } else { 2.0 };
            share / terms * values.iter().enumerate().map(wave).sum::<f64>()
        });
        Some(Interpolation { coefficients })
    }

    /// Clenshaw's recurrence.
    fn quantile(&self, df: f64) -> f64 {
        let x = 2.0 / df - 1.0;
        let (mut last, mut before) = (0.0, 0.0);
        for coefficient in self.coefficients.iter().skip(1).rev() {
            (last, before) = (2.0 * x * last - before + coefficient, last);
        }
        (x * last - before + self.coefficients[0]).exp()
    }
}

/// The quantile from Hill's expansion, made exact by Halley steps on the distribution function.
///
/// Source: G. W. Hill, "Algorithm 396: Student's t-quantiles", CACM 13 (1970) 619-620.
fn exact_quantile(confidence: f64, df: f64) -> Option<f64> {
    if !(0.0 < confidence && confidence < 1.0 && df > 0.0 && df.is_finite()) {
        return None;
    }
    let tail = 1.0 - confidence;
    let t = StudentsT::new(0.0, 1.0, df).ok()?;
    if df < 1.0 {
        let value = t.inverse_cdf(1.0 - tail / 2.0);
        return value.is_finite().then_some(value);
    }
    let mut x = hill(tail, df)?;
    for _ in 0..8 {
        let density = t.pdf(x);
        if density <= 0.0 || !x.is_finite() {
            return None;
        }
        let step = (t.sf(x) - tail / 2.0) / density;
        // The second derivative of the distribution function is -x (df + 1) / (df + x^2) times
        // the density.
        let curvature = -x * (df + 1.0) / (df + x * x);
        let halley = step / (1.0 - 0.5 * step * curvature).max(0.5);
        x += halley;
        // The steps converge cubically: after one of this size the next would change nothing.
        if halley.abs() <= 1e-6 * x.abs() {
            break;
        }
    }
    (x.is_finite() && x > 0.0).then_some(x)
}

/// Probability that a t variable with `df` degrees of freedom is at least `|t|` in absolute
/// value. `None` for a `df` that is not positive or a `t` that is NaN.
pub fn t_two_sided_p(t: f64, df: f64) -> Option<f64> {
    if t.is_nan() {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, df).ok()?;
    Some((2.0 * distribution.sf(t.abs())).clamp(0.0, 1.0))
}

/// Hill's approximation of the two-sided quantile: `tail` is the probability of both tails.
fn hill(tail: f64, df: f64) -> Option<f64> {
    use std::f64::consts::FRAC_PI_2;
    if (df - 1.0).abs() < 1e-12 {
        let angle = tail * FRAC_PI_2;
        return Some(angle.cos() / angle.sin());
    }
    if (df - 2.0).abs() < 1e-12 {
        return Some((2.0 / (tail * (2.0 - tail)) - 2.0).sqrt());
    }
    let a = 1.0 / (df - 0.5);
    let b = (48.0 / a) * (1.0 / a);
    let mut c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * FRAC_PI_2).sqrt() * df;
    let mut y = (d * tail).powf(2.0 / df);
    if y > 0.05 + a {
        let x = normal_upper(tail / 2.0)?;
        y = x * x;
        if df < 5.0 {
            c += 0.3 * (df - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = (a * y * y).exp_m1();
    } else {
        y = ((1.0 / (((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0)
            + 0.5 / (df + 4.0))
            * y
            - 1.0)
            * (df + 1.0)
            / (df + 2.0)
            + 1.0 / y;
    }
    let t = (df * y).sqrt();
    (t.is_finite() && t > 0.0).then_some(t)
}

/// Upper quantile of the normal distribution, to 4.5e-4: good enough to start from.
///
/// Source: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 26.2.23.
fn normal_upper(p: f64) -> Option<f64> {
    if !(0.0 < p && p < 0.5) {
        return None;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    Some(t - above / below)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_of_the_tables() {
        for (confidence, df, expected) in [
            (0.95, 1.0, 12.706204736174698),
            (0.95, 2.0, 4.302652729749464),
            (0.95, 9.0, 2.262157162798205),
            (0.99, 4.0, 4.604094871349993),
            (0.999, 30.0, 3.6459586350420627),
            (0.5, 3.0, 0.7648923284043543),
        ] {
            let value = t_quantile(confidence, df).unwrap();
            assert!((value / expected - 1.0).abs() < 1e-10, "{confidence} {df}: {value}");
        }
    }

    #[test]
    fn senseless_arguments_have_no_answer() {
        for (confidence, df) in
            [(0.0, 5.0), (1.0, 5.0), (0.95, 0.0), (f64::NAN, 2.0), (0.9, f64::NAN)]
        {
            assert_eq!(t_quantile(confidence, df), None);
        }
        assert_eq!(t_two_sided_p(1.0, -1.0), None);
        assert_eq!(t_two_sided_p(f64::NAN, 3.0), None);
        assert_eq!(t_two_sided_p(f64::INFINITY, 3.0), Some(0.0));
    }

    proptest! {
        #[test]
        fn the_quantile_inverts_the_probability(confidence in 0.01..0.9999_f64, df in 1.0..200.0_f64) {
            let t = t_quantile(confidence, df).unwrap();
            prop_assert!((t_two_sided_p(t, df).unwrap() - (1.0 - confidence)).abs() < 1e-10);
        }

        #[test]
        fn the_usual_quantiles_are_as_good_as_the_exact_ones(inverse in 1e-6..1.0_f64) {
            for confidence in [0.95, 0.99, 0.999] {
                let (fast, exact) = (t_quantile(confidence, 1.0 / inverse), exact_quantile(confidence, 1.0 / inverse));
                prop_assert!((fast.unwrap() / exact.unwrap() - 1.0).abs() < 1e-11);
            }
        }
    }
}
