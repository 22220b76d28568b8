//! Stanzas of `Field: value` lines: apt's sources, `apt-cache show`, package control files.
//! The format is deb822(5).

/// One stanza: its fields in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stanza(pub(crate) Vec<(String, String)>);

impl Stanza {
    /// The value of a field, whatever the case of its name.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(field)).map(|(_, v)| v.as_str())
    }

    /// A field's value as words.
    pub(crate) fn words(&self, field: &str) -> Vec<String> {
        self.get(field).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }
}

/// Reads stanzas. Continuation lines keep their line breaks (an inline key needs them), comment
/// lines are left out, lines that are neither are passed over.
pub(crate) fn parse(text: &str) -> Vec<Stanza> {
    let mut stanzas = Vec::new();
    let mut stanza = Stanza::default();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            if !stanza.0.is_empty() {
                stanzas.push(std::mem::take(&mut stanza));
            }
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.0.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            stanza.0.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    stanzas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_continuations_and_blank_lines() {
        let stanzas =
            parse("Types: deb\n# why\nURIs: http://m/debian\nSigned-By:\n KEY\n .\n\n\nx: y");
        assert_eq!(stanzas.len(), 2);
        assert_eq!(stanzas[0].get("signed-by"), Some("\n KEY\n ."));
        assert_eq!(stanzas[0].words("URIs"), ["http://m/debian"]);
        assert_eq!(stanzas[1].get("x"), Some("y"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "(?s).{0,200}") {
            let _ = parse(&text);
        }
    }
}
