//! Numbers as Ruby's `format` prints them, which is what lkp-tests' tables are made of.
//!
//! Ruby's `%f` and `%g` go through David Gay's fast digit generation. Where the remainder after
//! the last digit is one half within that algorithm's error bound, Ruby rounds half to even on
//! the digit just produced instead of deciding exactly: 2.675 becomes 2.68 and 1.005 becomes
//! 1.00, where C and Rust print 2.67 and 1.00. Everything else is rounded correctly.
//!
//! Source: David M. Gay, "Correctly rounded binary-decimal and decimal-binary conversions",
//! AT&T Numerical Analysis Manuscript 90-10 (1990); Ruby's `util.c`, `BSD_vfprintf`.

/// `%.<decimals>f`.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if let Some(word) = not_finite(value) {
        return word;
    }
    let Some(half) = near_half(value.abs(), Mode::Fixed(decimals)) else {
        return format!("{value:.decimals$}");
    };
    let (mut digits, mut point) = (half.digits, half.point);
    if point <= 0 {
        digits.insert_str(0, &"0".repeat((1 - point) as usize));
        point = 1;
    }
    let whole = point as usize;
    while digits.len() < whole + decimals {
        digits.push('0');
    }
    let (before, after) = digits.split_at(whole);
    let after: String = after.chars().take(decimals).collect();
    let dot = if decimals == 0 { "" } else { "." };
    format!("{}{before}{dot}{after}", sign(value))
}

/// `%.<digits>g`.
pub(crate) fn general(value: f64, digits: usize) -> String {
    if let Some(word) = not_finite(value) {
        return word;
    }
    if value == 0.0 {
        return format!("{}0", sign(value));
    }
    if let Some(half) = near_half(value.abs(), Mode::General(digits)) {
        let mut shown = half.digits;
        if shown.len() == digits && is_below_half(value.abs(), &shown, half.point) {
            shown = without_zeros(&shown).to_owned();
        }
        return lay_out(value, &shown, half.point - 1, digits);
    }
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let shown: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    lay_out(value, without_zeros(&shown), exponent.parse().unwrap_or(0), digits)
}

/// `%d` of a float: cut towards zero.
pub(crate) fn whole(value: f64) -> String {
    let cut = value.trunc();
    format!("{:.0}", if cut == 0.0 { 0.0 } else { cut })
}

/// The same text with a plus where there is no minus: the `+` flag.
pub(crate) fn signed(text: String) -> String {
    if text.starts_with('-') { text } else { format!("+{text}") }
}

fn not_finite(value: f64) -> Option<String> {
    if value.is_nan() {
        return Some("NaN".to_owned());
    }
    value.is_infinite().then(|| format!("{}Inf", sign(value)))
}

fn sign(value: f64) -> &'static str {
    if value.is_sign_negative() { "-" } else { "" }
}

fn without_zeros(digits: &str) -> &str {
    let trimmed = digits.trim_end_matches('0');
    if trimmed.is_empty() { "0" } else { trimmed }
}

/// Puts digits and exponent together as `%g` does: scientific below 1e-4 and from 10^digits on.
fn lay_out(value: f64, shown: &str, exponent: i32, digits: usize) -> String {
    let sign = sign(value);
    if exponent < -4 || exponent >= digits as i32 {
        let (first, rest) = shown.split_at(1.min(shown.len()));
        let dot = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{dot}{rest}e{direction}{:02}", exponent.abs());
    }
    let point = exponent + 1;
    if point <= 0 {
        return format!("{sign}0.{}{shown}", "0".repeat((-point) as usize));
    }
    let whole = point as usize;
    let padded = format!("{shown:0<whole$}");
    let (before, after) = padded.split_at(whole);
    let dot = if after.is_empty() { "" } else { "." };
    format!("{sign}{before}{dot}{after}")
}

#[derive(Clone, Copy)]
enum Mode {
    /// Digits after the point.
    Fixed(usize),
    /// Digits in all.
    General(usize),
}

/// Digits that the fast path produced at a half, and where the point lies among them.
struct Half {
    digits: String,
    point: i32,
}

const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const BIG_TENS: [f64; 5] = [1e16, 1e32, 1e64, 1e128, 1e256];

/// The digits of a positive `value` when the fast path ends within its error bound of a half;
/// `None` when it decides otherwise, and exact rounding gives the same digits.
fn near_half(value: f64, mode: Mode) -> Option<Half> {
    if value == 0.0 {
        return None;
    }
    let mut exponent: i32 = format!("{value:e}").split_once('e')?.1.parse().ok()?;
    let wanted = match mode {
        Mode::General(digits) => digits as i32,
        Mode::Fixed(decimals) => decimals as i32 + 1 + exponent,
    };
    if !(1..=14).contains(&wanted) {
        return None;
    }
    let (mut rest, roundings) = scaled(value, exponent)?;
    let mut bound = (f64::from(roundings) * rest + 7.0) * 2.0_f64.powi(-52);
    for _ in 1..wanted {
        bound *= 10.0;
    }
    let mut digits: Vec<u8> = Vec::with_capacity(wanted as usize);
    for place in 1..=wanted {
        let digit = rest.trunc();
        rest -= digit;
        digits.push(digit as u8);
        if rest == 0.0 {
            return None;
        }
        if place < wanted {
            rest *= 10.0;
        }
    }
    if rest > 0.5 + bound || rest < 0.5 - bound {
        return None;
    }
    if digits.last().is_some_and(|digit| digit % 2 == 1) {
        while digits.last() == Some(&9) {
            digits.pop();
        }
        match digits.last_mut() {
            Some(digit) => *digit += 1,
            None => {
                digits.push(1);
                exponent += 1;
            }
        }
    }
    let digits = digits.into_iter().map(|digit| char::from(b'0' + digit.min(9))).collect();
    Some(Half { digits, point: exponent + 1 })
}

/// `value` brought to one digit before the point by the fast path's multiplications, and how
/// many roundings its error bound allows for.
fn scaled(value: f64, exponent: i32) -> Option<(f64, i32)> {
    let mut roundings = 2;
    let power = exponent.unsigned_abs() as usize;
    let small = *TENS.get(power & 15)?;
    let mut result = if exponent < 0 { value * small } else { value };
    let mut divisor = small;
    let mut bits = power >> 4;
    for big in BIG_TENS {
        if bits & 1 == 1 {
            roundings += 1;
            divisor *= big;
            if exponent < 0 {
                result *= big;
            }
        }
        bits >>= 1;
    }
    if exponent > 0 {
        result /= divisor;
    }
    Some((result, roundings))
}

/// Whether `value` lies below the half after `digits`, exactly.
fn is_below_half(value: f64, digits: &str, point: i32) -> bool {
    // The exact decimal expansion of a double is finite, and Rust prints all of it.
    let exact = format!("{value:.1100}");
    let (before, after) = exact.split_once('.').unwrap_or((&exact, ""));
    let before = before.trim_start_matches('0');
    let mut all = format!("{before}{after}");
    let mut all_point = before.len() as i32;
    if before.is_empty() {
        let zeros = all.len() - all.trim_start_matches('0').len();
        all = all.split_off(zeros);
        all_point = -(zeros as i32);
    }
    let half = format!("{digits}5");
    if all_point != point {
        return all_point < point;
    }
    all.trim_end_matches('0') < half.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_digit() {
        for (value, decimals, expected) in [
            (2.675, 2, "2.68"),
            (1.005, 2, "1.00"),
            (0.285, 2, "0.28"),
            (508.245, 2, "508.24"),
            (-12.345, 2, "-12.34"),
            (0.005, 2, "0.01"),
            (999.996, 2, "1000.00"),
            (2.5, 0, "2"),
            (3.5, 0, "4"),
            (0.0, 2, "0.00"),
            (-0.04, 1, "-0.0"),
            (1e22, 1, "10000000000000000000000.0"),
        ] {
            assert_eq!(fixed(value, decimals), expected, "{value}");
        }
    }

    #[test]
    fn general_numbers() {
        for (value, digits, expected) in [
            (81805000.0, 4, "8.180e+07"),
            (107200000.0, 4, "1.072e+08"),
            (1e8, 4, "1e+08"),
            (7e102, 2, "7e+102"),
            (123456.0, 2, "1.2e+05"),
            (0.00001234, 4, "1.234e-05"),
            (0.0123, 4, "0.0123"),
            (12.0, 4, "12"),
            (-250000000.0, 4, "-2.5e+08"),
            (0.0, 4, "0"),
        ] {
            assert_eq!(general(value, digits), expected, "{value}");
        }
    }

    #[test]
    fn whole_numbers_are_cut() {
        for (value, expected) in
            [(1999.999, "1999"), (-1234.9, "-1234"), (-0.4, "0"), (1e20, "100000000000000000000")]
        {
            assert_eq!(whole(value), expected);
        }
    }

    #[test]
    fn what_is_no_number_has_a_word() {
        assert_eq!(fixed(f64::NAN, 1), "NaN");
        assert_eq!(general(f64::NEG_INFINITY, 2), "-Inf");
        assert_eq!(signed(fixed(f64::INFINITY, 1)), "+Inf");
    }
}
