//! A raw file as lines of text: whatever the bytes are, a parser sees bounded lines.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use crate::notes::Notes;

/// Longest line that a parser is given; a longer one is left out.
const MAX_LINE: usize = 1 << 20;

/// What to do with NUL bytes, which a torn write or a serial line leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nul {
    /// Leave the byte out, keep its line: logs of a console.
    Strip,
    /// Leave the line out: a number next to a NUL cannot be trusted.
    DropLine,
}

/// The text of one raw file. A line that was left out is empty, so that line numbers stay.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    text: Cow<'a, str>,
}

/// One line, without its line end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'s> {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) text: &'s str,
}

impl<'a> Source<'a> {
    /// Reads bytes as UTF-8; what is not becomes `_`.
    pub(crate) fn new(bytes: &'a [u8], nul: Nul, notes: &mut Notes) -> Self {
        let bytes = without_bad_lines(bytes, nul, notes);
        let text = match bytes {
            Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(lossy(bytes)),
            },
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => lossy(error.as_bytes()),
            }),
        };
        Source { text }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The lines, numbered from 1.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { rest: &self.text, number: 0 }
    }
}

/// Iterator over the lines of a [`Source`].
#[derive(Clone, Debug)]
pub(crate) struct Lines<'s> {
    rest: &'s str,
    number: usize,
}

impl<'s> Iterator for Lines<'s> {
    type Item = Line<'s>;

    fn next(&mut self) -> Option<Line<'s>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (text, rest) = match memchr(b'\n', self.rest.as_bytes()) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        Some(Line { number: self.number, text })
    }
}

/// Each maximal run of invalid bytes becomes one `_`.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('_');
        }
    }
    text
}

fn without_bad_lines<'a>(bytes: &'a [u8], nul: Nul, notes: &mut Notes) -> Cow<'a, [u8]> {
    let has_nul = memchr(0, bytes).is_some();
    if !has_nul && longest_line(bytes) <= MAX_LINE {
        return Cow::Borrowed(bytes);
    }
    let mut clean = Vec::with_capacity(bytes.len());
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line_has_nul = has_nul && memchr(0, line).is_some();
        let end: &[u8] = if line.ends_with(b"\n") { b"\n" } else { b"" };
        if line_has_nul && nul == Nul::DropLine {
            notes.add(at + 1, || "line with a NUL byte left out".to_owned());
            clean.extend_from_slice(end);
        } else if line.len() > MAX_LINE {
            notes.add(at + 1, || format!("line of {} bytes left out", line.len()));
            clean.extend_from_slice(end);
        } else if line_has_nul {
            clean.extend(line.iter().filter(|byte| **byte != 0));
        } else {
            clean.extend_from_slice(line);
        }
    }
    Cow::Owned(clean)
}

fn longest_line(bytes: &[u8]) -> usize {
    if bytes.len() <= MAX_LINE {
        return bytes.len();
    }
    let mut start = 0;
    let mut longest = 0;
    for end in memchr_iter(b'\n', bytes) {
        longest = longest.max(end - start);
        start = end + 1;
    }
    longest.max(bytes.len() - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], nul: Nul) -> (Vec<String>, usize) {
        let mut notes = Notes::default();
        let source = Source::new(bytes, nul, &mut notes);
        (source.lines().map(|line| line.text.to_owned()).collect(), notes.total())
    }

    #[test]
    fn a_bad_line_costs_itself_only() {
        assert_eq!(
            lines(b"a 1\nb \x002\nc 3\n", Nul::DropLine),
            (vec!["a 1".into(), String::new(), "c 3".into()], 1)
        );
        assert_eq!(lines(b"a\0b\n", Nul::Strip), (vec!["ab".into()], 0));
        let mut long = vec![b'x'; MAX_LINE + 1];
        long.extend_from_slice(b"\nend");
        assert_eq!(lines(&long, Nul::DropLine), (vec![String::new(), "end".into()], 1));
    }

    #[test]
    fn bytes_that_are_no_text_become_underscores() {
        assert_eq!(lines(b"a \xff\xfe b", Nul::DropLine).0, ["a __ b"]);
    }
}
