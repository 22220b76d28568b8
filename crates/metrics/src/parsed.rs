//! One raw file, read.

use std::collections::BTreeMap;

use crate::notes::Notes;
use crate::number;
use crate::options::ParseOptions;
use crate::program::{self, Program};
use crate::samples::Samples;
use crate::source::{Nul, Source};

/// What a raw file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Metrics without the program's prefix, with their values in order of appearance.
    pub samples: Samples,
    /// What is not a number: messages of dmesg and kmsg, values that could not be read.
    pub strings: BTreeMap<String, Vec<String>>,
    /// What was left out, and why.
    pub notes: Notes,
}

/// Why a raw file could not be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No parser is registered under that name.
    #[error("no parser for program `{0}`; there are: {list}", list = program_list())]
    UnknownProgram(String),
}

/// The content of a raw file as it is kept: a name that ends in `.zst`, `.gz` or `.xz` is
/// decompressed, bounded, as far as it can be read; the text says what was wrong with it.
pub fn raw_content(name: &str, bytes: Vec<u8>) -> (Vec<u8>, Option<String>) {
    match crate::compressed::split_name(name).1 {
        Some(compression) => crate::compressed::content(&bytes, compression),
        None => (bytes, None),
    }
}

fn program_list() -> String {
    program::programs().collect::<Vec<_>>().join(" ")
}

/// Reads the raw file of a program. `program` is a name of [`crate::programs`], or
/// `<test>.time` for the resource usage of a test. Never fails on content: a line that cannot
/// be read costs that line and makes a note.
pub fn parse(program: &str, input: &[u8], options: &ParseOptions) -> Result<Parsed, ParseError> {
    let program = program::find(program)
        .ok_or_else(|| ParseError::UnknownProgram(program.escape_debug().to_string()))?;
    Ok(parse_with(program, input, options))
}

pub(crate) fn parse_with(program: &Program, input: &[u8], options: &ParseOptions) -> Parsed {
    let mut parsed = Parsed::default();
    if options.lkp_compatible && program.nul == Nul::DropLine && !program.takes_nul(input) {
        parsed.notes.add(0, || "file with NUL bytes left out, as lkp-tests does".to_owned());
        return parsed;
    }
    let source = Source::new(input, program.nul, &mut parsed.notes);
    (program.parse)(&source, options, &mut parsed);
    parsed
}

impl Parsed {
    /// Adds a value.
    pub(crate) fn push(&mut self, name: &str, value: f64) {
        self.samples.push(name, value);
    }

    /// Adds a value that is still text. Text that is no number is kept as a string and noted.
    pub(crate) fn push_word(&mut self, line: usize, name: &str, word: &str) {
        match number::parse(word) {
            Some(value) => {
                self.samples.push(name, value);
            }
            None => {
                self.samples.reject(name);
                self.push_string(name, word);
                self.notes.add(line, || format!("`{name}` is not a number: `{word}`"));
            }
        }
    }

    /// Adds text that is meant as text.
    pub(crate) fn push_string(&mut self, name: &str, text: &str) {
        const MAX_STRINGS: usize = 1 << 16;
        if self.strings.len() < MAX_STRINGS || self.strings.contains_key(name) {
            self.strings.entry(name.to_owned()).or_default().push(text.to_owned());
        }
    }

    /// Notes a line that is not of the program's format.
    pub(crate) fn unexpected(&mut self, line: usize, text: &str) {
        self.notes.add(line, || format!("not understood: `{}`", text.trim()));
    }
}

/// A metric name under construction; one allocation serves a whole file.
#[derive(Debug, Default)]
pub(crate) struct Name(String);

impl Name {
    /// The parts, one after another.
    pub(crate) fn of(&mut self, parts: &[&str]) -> &str {
        self.0.clear();
        for part in parts {
            self.0.push_str(part);
        }
        &self.0
    }
}
