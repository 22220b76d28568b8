//! What a plain scalar is: Psych's reading of YAML 1.1, which lkp-tests uses. It differs from YAML
//! 1.2 in places that job files meet: `yes`/`on` are booleans, `y`/`n` are text, `010` is octal,
//! `1_000` and `1,000` are numbers, `1:30` is ninety.

use std::sync::LazyLock;

use regex::Regex;

use crate::Value;

macro_rules! pattern {
    ($text:literal) => {{
        static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
        &*PATTERN
    }};
}

fn fits(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Reads a plain scalar.
pub(crate) fn resolve(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let words = pattern!(r"(?m)^[^\d.:-]?[\p{Alphabetic}_\s!@#$%\^&*(){}<>|/\\~;=]+");
    if text.contains('\n') || fits(words, text) {
        return resolve_word(text);
    }
    let is_time = pattern!(
        r"(?m)^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$"
    );
    let is_date = pattern!(r"(?m)^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$");
    if fits(is_time, text) || fits(is_date, text) {
        return Value::Date(text.to_owned());
    }
    match text.to_ascii_lowercase().as_str() {
        ".inf" | "+.inf" => return Value::Float(f64::INFINITY),
        "-.inf" => return Value::Float(f64::NEG_INFINITY),
        ".nan" => return Value::Float(f64::NAN),
        _ => {}
    }
    if let Some(name) = text.strip_prefix(':').filter(|name| !name.is_empty()) {
        return Value::Symbol(name.trim_matches(['"', '\'']).to_owned());
    }
    if fits(pattern!(r"(?m)^[-+]?[0-9][0-9_]*(:[0-5]?[0-9]){1,2}$"), text) {
        return sexagesimal(text);
    }
    if fits(pattern!(r"(?m)^[-+]?([0-9][0-9_,]*)?\.[0-9]*([eE][-+][0-9]+)?$"), text) {
        return float(text);
    }
    integer(text).unwrap_or_else(|| Value::Text(text.to_owned()))
}

fn resolve_word(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "~" | "null" => Value::Null,
        "yes" | "true" | "on" => Value::Bool(true),
        "no" | "false" | "off" => Value::Bool(false),
        _ => Value::Text(text.to_owned()),
    }
}

/// `1:30:00`: seconds, minutes and hours in base 60. With one colon the value is shifted by 60.
fn sexagesimal(text: &str) -> Value {
    let mut sum: i128 = 0;
    for (at, part) in text.split(':').enumerate() {
        let digits: String = part.chars().filter(|c| *c != '_').collect();
        let number: i128 = digits.parse().unwrap_or(0);
        let weight = [3600, 60, 1].get(at).copied().unwrap_or(0);
        sum = sum.saturating_add(number.saturating_mul(weight));
    }
    Value::Integer(sum)
}

fn float(text: &str) -> Value {
    let mut digits: String = text.chars().filter(|c| *c != ',' && *c != '_').collect();
    if digits.ends_with('.') {
        digits.pop();
    }
    let digits = digits.replace(".e", "e").replace(".E", "e");
    match digits.parse() {
        Ok(number) => Value::Float(number),
        Err(_) => Value::Text(text.to_owned()),
    }
}

fn integer(text: &str) -> Option<Value> {
    let is_integer = pattern!(
        r"(?m)^(?:[-+]?0b[0-1_,]+|[-+]?0[0-7_,]+|[-+]?(?:0|[1-9](?:[0-9]|,[0-9]|_[0-9])*)|[-+]?0x[0-9a-fA-F_,]+)$"
    );
    if !fits(is_integer, text) {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != ',' && *c != '_').collect();
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(&digits)),
    };
    let (radix, digits) = if let Some(rest) = digits.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = digits.strip_prefix("0b") {
        (2, rest)
    } else if digits.len() > 1 && digits.starts_with('0') {
        (8, &digits[1..])
    } else {
        (10, digits)
    };
    let number = i128::from_str_radix(digits, radix).ok()?;
    Some(Value::Integer(if negative { -number } else { number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_read_as_psych_reads_them() {
        for (text, value) in [
            ("", Value::Null),
            ("~", Value::Null),
            ("Null", Value::Null),
            ("yes", Value::Bool(true)),
            ("OFF", Value::Bool(false)),
            ("y", Value::Text("y".into())),
            ("60s", Value::Text("60s".into())),
            ("100%", Value::Text("100%".into())),
            ("16", Value::Integer(16)),
            ("-3", Value::Integer(-3)),
            ("0x1f", Value::Integer(31)),
            ("010", Value::Integer(8)),
            ("08", Value::Text("08".into())),
            ("1_000", Value::Integer(1000)),
            ("1,000", Value::Integer(1000)),
            ("1:30", Value::Integer(5400)),
            ("0.5", Value::Float(0.5)),
            ("1.", Value::Float(1.0)),
            ("1e5", Value::Text("1e5".into())),
            ("-.inf", Value::Float(f64::NEG_INFINITY)),
            (":sym", Value::Symbol("sym".into())),
            ("2024-02-06", Value::Date("2024-02-06".into())),
            ("5.10-rc1", Value::Text("5.10-rc1".into())),
            ("-", Value::Text("-".into())),
        ] {
            assert_eq!(resolve(text), value, "{text}");
        }
    }
}
