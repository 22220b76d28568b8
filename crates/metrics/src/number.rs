//! Numbers as programs print them.

/// Reads a whole word as a finite decimal number: sign, digits, fraction, exponent. `None` for
/// anything else, `inf` and `nan` included: those are no measurements.
pub(crate) fn parse(word: &str) -> Option<f64> {
    if let Some(value) = parse_short_integer(word.as_bytes()) {
        return Some(value);
    }
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    word.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The common case of counters, without the general machinery.
fn parse_short_integer(digits: &[u8]) -> Option<f64> {
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    Some(value as f64)
}

/// The number a word begins with, 0 when it begins with none: how C's `strtod` and scripting
/// languages read `2147 kB`.
pub(crate) fn leading_float(word: &str) -> f64 {
    let bytes = word.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(end);
    if whole == 0 {
        return 0.0;
    }
    end += whole;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent_at = end + 1 + sign;
        if exponent_at < bytes.len() && digits(exponent_at) > 0 {
            end = exponent_at + digits(exponent_at);
        }
    }
    parse(&word[..end]).unwrap_or(0.0)
}

/// The integer a word begins with, 0 when it begins with none.
pub(crate) fn leading_integer(word: &str) -> f64 {
    let (negative, unsigned) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let end = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let value = parse(&unsigned[..end]).unwrap_or(0.0);
    if negative { -value } else { value }
}

/// A value as `printf("%.Nf")` would print it, read back.
pub(crate) fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// A value with two decimals, a half away from zero: of two neighbours in binary, the one that
/// looks right in decimal (8.395 is 8.40 although its double is a little less).
pub(crate) fn rounded_to_cents(value: f64) -> f64 {
    let cents = (value * 100.0).round() / 100.0;
    if cents.is_finite() { cents } else { value }
}

/// Sum with Neumaier's compensation ("Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", 1974): the error does not grow with the number of terms.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = 0.0f64;
    let mut lost = 0.0f64;
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_as_a_whole_or_not_at_all() {
        assert_eq!(parse("0"), Some(0.0));
        assert_eq!(parse("18446744073709551615"), Some(18446744073709551615.0));
        assert_eq!(parse("-1.5"), Some(-1.5));
        assert_eq!(parse("1e3"), Some(1000.0));
        for word in ["", "-", "nan", "inf", "1k", "0x10", "1.2.3", "<not counted>", "1e999"] {
            assert_eq!(parse(word), None, "{word}");
        }
    }

    #[test]
    fn a_leading_number_is_read_and_the_rest_is_left() {
        assert_eq!(leading_float("12.5kB"), 12.5);
        assert_eq!(leading_float("1.e"), 1.0);
        assert_eq!(leading_float("3e"), 3.0);
        assert_eq!(leading_float("3e-1x"), 0.3);
        assert_eq!(leading_float("é"), 0.0);
        assert_eq!(leading_integer("-7.9"), -7.0);
        assert_eq!(leading_integer("x"), 0.0);
    }

    #[test]
    fn a_sum_keeps_what_plain_addition_loses() {
        assert_eq!(sum([1e16, 1.0, -1e16]), 1.0);
        assert_eq!(rounded(2650.126, 2), 2650.13);
        assert_eq!(rounded_to_cents(8.395), 8.4);
    }
}
