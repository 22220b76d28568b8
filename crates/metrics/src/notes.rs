//! Notes: what a parser could not use, and where it stood.

use serde::Serialize;

/// At most this many notes of one file are kept; further ones are counted.
const MAX_KEPT: usize = 32;
/// At most this many characters of a note are kept.
const MAX_LENGTH: usize = 200;

/// One thing that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Line number in the raw file, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What was found there and what became of it.
    pub text: String,
}

/// The notes of one raw file. A hostile file makes no more than a screenful of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    kept: Vec<Note>,
    total: usize,
}

impl Notes {
    /// Adds a note on a line. The text is made only when it will be kept.
    pub(crate) fn add(&mut self, line: usize, text: impl FnOnce() -> String) {
        self.total += 1;
        if self.kept.len() < MAX_KEPT {
            let text: String = text()
                .chars()
                .take(MAX_LENGTH)
                .map(|c| if c.is_control() { '\u{fffd}' } else { c })
                .collect();
            self.kept.push(Note { line, text });
        }
    }

    /// The first notes, in order of appearance.
    pub fn kept(&self) -> &[Note] {
        &self.kept
    }

    /// How many notes there were, those that were not kept included.
    pub fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_bounded_and_printable() {
        let mut notes = Notes::default();
        for line in 0..1000 {
            notes.add(line, || "\x1b[2J".repeat(1000));
        }
        assert_eq!((notes.kept().len(), notes.total()), (MAX_KEPT, 1000));
        assert_eq!(notes.kept()[0].text.chars().count(), MAX_LENGTH);
        assert!(!notes.kept()[0].text.contains('\x1b'));
    }
}
