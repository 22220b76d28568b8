//! Debian version numbers.

use std::cmp::Ordering;

/// Orders two Debian versions, `epoch:upstream-revision`, by the rules of Debian policy 5.6.12:
/// `~` sorts before everything, letters before other characters, runs of digits as numbers.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let (epoch_a, rest_a) = split_epoch(a);
    let (epoch_b, rest_b) = split_epoch(b);
    let (upstream_a, revision_a) = split_revision(rest_a);
    let (upstream_b, revision_b) = split_revision(rest_b);
    compare_digits(epoch_a, epoch_b)
        .then_with(|| compare_part(upstream_a, upstream_b))
        .then_with(|| compare_part(revision_a, revision_b))
}

fn split_epoch(version: &str) -> (&str, &str) {
    version.split_once(':').unwrap_or(("", version))
}

fn split_revision(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, ""))
}

/// Compares two parts: text and digits by turns.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !(a.is_empty() && b.is_empty()) {
        let (text_a, rest_a) = split_at(a, |c| c.is_ascii_digit());
        let (text_b, rest_b) = split_at(b, |c| c.is_ascii_digit());
        let (digits_a, rest_a) = split_at(rest_a, |c| !c.is_ascii_digit());
        let (digits_b, rest_b) = split_at(rest_b, |c| !c.is_ascii_digit());
        let order = compare_text(text_a, text_b).then_with(|| compare_digits(digits_a, digits_b));
        if order.is_ne() {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
    Ordering::Equal
}

fn split_at(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

fn compare_text(a: &str, b: &str) -> Ordering {
    let weights = |text: &str| text.chars().map(weight).chain([0]).collect::<Vec<i32>>();
    weights(a).cmp(&weights(b))
}

/// The end of a text weighs 0.
fn weight(c: char) -> i32 {
    match c {
        '~' => -1,
        c if c.is_ascii_alphabetic() => c as i32,
        c => c as i32 + 256,
    }
}

fn compare_digits(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn orders_as_dpkg_does() {
        for (low, high) in [
            ("6.1.192-3", "6.12.117-1"),
            ("6.1.9-1", "6.1.192-1"),
            ("7.3.4-1~bpo13+1", "7.3.4-1"),
            ("6.1.0-0.deb11.52", "6.1.0-57"),
            ("6.12.90+deb12", "6.12.90+deb12.1"),
            ("6.12.90+deb12", "6.12.90+deb13"),
            ("9.9", "1:0.1"),
            ("1.0~rc1", "1.0"),
            ("1.0a", "1.0+"),
            ("1.0", "1.0-1"),
        ] {
            assert_eq!(compare_versions(low, high), Ordering::Less, "{low} {high}");
            assert_eq!(compare_versions(high, low), Ordering::Greater, "{high} {low}");
        }
        assert_eq!(compare_versions("0:1.00-0", "1.0"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn is_a_total_order(a in "[0-9a-z.+~:-]{0,8}", b in "[0-9a-z.+~:-]{0,8}", c in "[0-9a-z.+~:-]{0,8}") {
            prop_assert_eq!(compare_versions(&a, &b), compare_versions(&b, &a).reverse());
            if compare_versions(&a, &b).is_le() && compare_versions(&b, &c).is_le() {
                prop_assert!(compare_versions(&a, &c).is_le());
            }
        }
    }
}
