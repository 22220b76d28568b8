//! Values with units: `100%` of the CPUs, `60s`, `8K`.

use patchmark_catalog::ValueType;
use patchmark_model::TestboxFacts;

/// Why a value is no quantity of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It is written wrong.
    #[error("`{value}` is not {expected}")]
    Malformed {
        /// The value.
        value: String,
        /// How it is written.
        expected: &'static str,
    },
    /// It is too large for a number.
    #[error("`{value}` is too large")]
    TooLarge {
        /// The value.
        value: String,
    },
}

/// A value as a plain number (text stays text) for a testbox. A share of the CPUs is rounded
/// down and is at least one; the second part of the result says so where that was needed.
pub fn resolve_quantity(
    value: &str,
    value_type: ValueType,
    testbox: &TestboxFacts,
) -> Result<(String, Option<String>), QuantityError> {
    let too_large = || QuantityError::TooLarge { value: value.to_owned() };
    let quantity = parse(value, value_type)?;
    let number = match quantity {
        Quantity::Text => return Ok((value.to_owned(), None)),
        Quantity::Number(number) => number,
        Quantity::Scaled(number, scale) => number.checked_mul(scale).ok_or_else(too_large)?,
        Quantity::Percent(share) => {
            let whole = match value_type {
                ValueType::Bytes => testbox.memory,
                _ => u64::from(testbox.nr_cpu),
            };
            let part = (share / 100.0 * whole as f64).floor();
            if part >= u64::MAX as f64 {
                return Err(too_large());
            }
            let part = part as u64;
            if part == 0 && share > 0.0 {
                let note = format!("{value} of {whole} is less than one; taken as 1");
                return Ok(("1".to_owned(), Some(note)));
            }
            part
        }
    };
    Ok((number.to_string(), None))
}

/// Whether a value is written as its type wants it.
pub(crate) fn is_well_formed(value: &str, value_type: ValueType) -> bool {
    parse(value, value_type).is_ok()
}

enum Quantity {
    Text,
    Number(u64),
    Scaled(u64, u64),
    Percent(f64),
}

fn parse(value: &str, value_type: ValueType) -> Result<Quantity, QuantityError> {
    let malformed =
        || QuantityError::Malformed { value: value.to_owned(), expected: value_type.expected() };
    let text = value.trim();
    if value_type == ValueType::Text {
        return Ok(Quantity::Text);
    }
    // A cgroup's way to say that there is no limit.
    if value_type == ValueType::Bytes && text == "max" {
        return Ok(Quantity::Text);
    }
    // The shell's arithmetic is kept as text; only a shell can tell what it means.
    if text.starts_with("$(") && text.ends_with(')') {
        return Err(malformed());
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let has_share = matches!(value_type, ValueType::Count | ValueType::Bytes);
    if let Some(share) = text.strip_suffix('%').filter(|_| has_share) {
        let is_plain = !share.is_empty() && share.chars().all(|c| c.is_ascii_digit() || c == '.');
        let share: f64 = share.parse().map_err(|_| malformed())?;
        return if is_plain { Ok(Quantity::Percent(share)) } else { Err(malformed()) };
    }
    if number.is_empty() {
        let is_signed = value_type == ValueType::Integer && text.starts_with('-');
        return match text.parse::<i64>() {
            Ok(_) if is_signed => Ok(Quantity::Text),
            _ => Err(malformed()),
        };
    }
    let number: u64 =
        number.parse().map_err(|_| QuantityError::TooLarge { value: value.to_owned() })?;
    let scale = match (value_type, unit) {
        (_, "") => return Ok(Quantity::Number(number)),
        // A count can carry a word for people: `2t`.
        (ValueType::Count, unit) if is_word(unit) => 1,
        (ValueType::Times, unit) if is_word(unit) => 1,
        (ValueType::Seconds, "s") => 1,
        (ValueType::Seconds, "m") => 60,
        (ValueType::Seconds, "h") => 3600,
        (ValueType::Seconds, "d") => 24 * 3600,
        (ValueType::Seconds, "w") => 7 * 24 * 3600,
        (ValueType::Seconds, "y") => 365 * 24 * 3600,
        (ValueType::Bytes, unit) => byte_unit(unit).ok_or_else(malformed)?,
        _ => return Err(malformed()),
    };
    Ok(Quantity::Scaled(number, scale))
}

fn is_word(unit: &str) -> bool {
    !unit.is_empty() && unit.chars().all(|c| c.is_ascii_lowercase())
}

fn byte_unit(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_uppercase();
    let letter = match unit.as_str() {
        "B" => return Some(1),
        longer => longer.strip_suffix('B').unwrap_or(longer),
    };
    let power = ["K", "M", "G", "T", "P"].iter().position(|u| *u == letter)?;
    Some(1 << (10 * (power + 1)))
}

#[cfg(test)]
mod tests {
    use patchmark_model::{Clock, TestboxKind};
    use proptest::prelude::*;

    use super::*;

    fn testbox(nr_cpu: u32) -> TestboxFacts {
        TestboxFacts {
            kind: TestboxKind::Vm,
            group: "vm".into(),
            clock: Clock::Icount,
            nr_cpu,
            nr_node: 1,
            memory: 1 << 30,
            rootfs: "packed".into(),
        }
    }

    fn number(value: &str, value_type: ValueType) -> Result<String, QuantityError> {
        resolve_quantity(value, value_type, &testbox(3)).map(|(number, _)| number)
    }

    #[test]
    fn units_become_plain_numbers() {
        for (value, value_type, expected) in [
            ("100%", ValueType::Count, "3"),
            ("50%", ValueType::Count, "1"),
            ("1600%", ValueType::Count, "48"),
            ("12.5%", ValueType::Count, "1"),
            ("2t", ValueType::Count, "2"),
            ("60s", ValueType::Seconds, "60"),
            ("5m", ValueType::Seconds, "300"),
            ("300", ValueType::Seconds, "300"),
            ("8K", ValueType::Bytes, "8192"),
            ("1g", ValueType::Bytes, "1073741824"),
            ("2MB", ValueType::Bytes, "2097152"),
            ("9B", ValueType::Bytes, "9"),
            ("50%", ValueType::Bytes, "536870912"),
            ("100x", ValueType::Times, "100"),
            ("10000000ops", ValueType::Times, "10000000"),
            ("max", ValueType::Bytes, "max"),
            ("-1", ValueType::Integer, "-1"),
            ("any thing", ValueType::Text, "any thing"),
        ] {
            assert_eq!(number(value, value_type).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn wrong_values_say_what_is_expected() {
        for (value, value_type) in [
            ("100%x", ValueType::Count),
            ("60q", ValueType::Seconds),
            ("1.2.3%", ValueType::Count),
            ("-5s", ValueType::Seconds),
            ("8X", ValueType::Bytes),
            ("50%", ValueType::Seconds),
            ("", ValueType::Count),
            ("inf%", ValueType::Count),
            ("$((nr_cpu/2))", ValueType::Count),
            ("99999999999999999999", ValueType::Integer),
            ("99999999P", ValueType::Bytes),
        ] {
            assert!(number(value, value_type).is_err(), "{value}");
        }
        assert_eq!(
            number("60q", ValueType::Seconds).unwrap_err().to_string(),
            "`60q` is not seconds, or a number with s, m, h, d or w: 300, 60s, 5m"
        );
    }

    #[test]
    fn a_share_below_one_is_one_and_says_so() {
        let (number, note) = resolve_quantity("10%", ValueType::Count, &testbox(2)).unwrap();
        assert_eq!(number, "1");
        assert_eq!(note.as_deref(), Some("10% of 2 is less than one; taken as 1"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_without_panic(text in "[0-9.%a-zA-Z$()-]{0,24}") {
            for value_type in [ValueType::Count, ValueType::Seconds, ValueType::Bytes,
                               ValueType::Times, ValueType::Integer] {
                let _ = resolve_quantity(&text, value_type, &testbox(64));
            }
        }
    }
}
