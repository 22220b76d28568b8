//! Words of a program's output as parts of a metric name.

/// Blanks, commas, quotes, colons, parentheses and brackets become one `_`, none at either end;
/// four dots and more become one.
pub(crate) fn normalized(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.trim().chars() {
        let separates =
            c.is_ascii_whitespace() || matches!(c, ',' | '"' | '_' | '[' | ']' | '(' | ')' | ':');
        if !separates {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    without_long_dots(&name)
}

fn without_long_dots(name: &str) -> String {
    if !name.contains("....") {
        return name.to_owned();
    }
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("....") {
        short.push_str(&rest[..at]);
        short.push('.');
        rest = rest[at..].trim_start_matches('.');
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_one_underscore_between_words() {
        assert_eq!(normalized(" memory rate (Mflop per sec) "), "memory_rate_Mflop_per_sec");
        assert_eq!(normalized("write128_MB/sec"), "write128_MB/sec");
        assert_eq!(normalized("a....b...c"), "a.b...c");
        assert_eq!(normalized("__"), "");
    }
}
