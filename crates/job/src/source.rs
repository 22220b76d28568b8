//! Source texts and where each line of an expanded text came from.

use std::sync::Arc;

use crate::Place;

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) text: Arc<str>,
}

/// The files of one load, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    pub(crate) fn add(&mut self, name: &str, text: &str) -> usize {
        self.files.push(SourceFile { name: name.to_owned(), text: text.into() });
        self.files.len() - 1
    }

    pub(crate) fn get(&self, file: usize) -> Option<&SourceFile> {
        self.files.get(file)
    }
}

/// One line of an expanded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Without the line break.
    pub(crate) text: String,
    /// The file it came from.
    pub(crate) file: usize,
    /// Its line there, from 0.
    pub(crate) line: usize,
    /// How many characters further right it stands than there.
    pub(crate) shift: usize,
}

/// The lines of a file as they are.
pub(crate) fn lines_of(file: usize, text: &str) -> Vec<Line> {
    let lines = text.lines().enumerate();
    lines.map(|(line, text)| Line { text: text.to_owned(), file, line, shift: 0 }).collect()
}

/// The expanded text as one string.
pub(crate) fn join(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// The place in its file of a position in the expanded text (line and column from 0).
pub(crate) fn place(lines: &[Line], line: usize, column: usize) -> Place {
    match lines.get(line).or_else(|| lines.last()) {
        Some(origin) => Place {
            file: origin.file,
            line: origin.line,
            column: column.saturating_sub(origin.shift),
        },
        None => Place::default(),
    }
}
