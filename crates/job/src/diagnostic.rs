//! Diagnostics: what is wrong with a job file, where, and what to write instead.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::Place;
use crate::source::Sources;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used as it is.
    Error,
    /// The file works, perhaps not as meant.
    Warning,
}

/// One thing found in a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, as a sentence without its end.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The file, as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes of the source that are meant.
    pub span: Range<usize>,
    /// The whole source of the file.
    pub source: Arc<str>,
}

impl Diagnostic {
    pub(crate) fn new(
        severity: Severity,
        sources: &Sources,
        place: Place,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        let (file, source) = match sources.get(place.file) {
            Some(source) => (source.name.clone(), source.text.clone()),
            None => (String::new(), Arc::from("")),
        };
        let span = span(&source, place);
        Diagnostic {
            severity,
            message: message.into(),
            help,
            file,
            line: place.line + 1,
            column: place.column + 1,
            span,
            source,
        }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error: message; help`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_error() { "error" } else { "warning" };
        write!(f, "{}:{}:{}: {word}: {}", self.file, self.line, self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// The word that begins at a place: up to a blank, a comment or a key's colon; at least one
/// character, unless the source ends there.
fn span(source: &str, place: Place) -> Range<usize> {
    let mut start = 0;
    let mut lines = source.split_inclusive('\n');
    for _ in 0..place.line {
        start += lines.next().map_or(0, str::len);
    }
    let line = lines.next().unwrap_or_default().trim_end_matches(['\n', '\r']);
    let from = line.char_indices().nth(place.column).map_or(line.len(), |(at, _)| at);
    let rest = line.get(from..).unwrap_or_default();
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'');
    let length = match quote {
        Some(quote) => rest.get(1..).and_then(|inner| inner.find(quote)).map(|at| at + 2),
        None => rest.find(|c: char| c.is_whitespace() || ",]}".contains(c)),
    };
    let word = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest);
    let word = word.strip_suffix(':').filter(|word| !word.is_empty()).unwrap_or(word);
    start + from..start + from + word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_the_word() {
        let source = "suite: x\nstres-ng:\n  test: [ab, 'c d']\n";
        let text = |line, column| &source[span(source, Place { file: 0, line, column })];
        assert_eq!(text(1, 0), "stres-ng");
        assert_eq!(text(2, 9), "ab");
        assert_eq!(text(2, 13), "'c d'");
        assert_eq!(text(9, 9), "");
    }
}
