//! Monitors that copy a file: a `time:` line, then the text.

use std::collections::HashSet;
use std::io::{self, Write};

use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

/// How exact the `time:` line is; lkp-tests' monitors write either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// `time: 1796070605`
    Seconds,
    /// `time: 1796070605.146368192`
    Nanoseconds,
}

impl Stamp {
    /// Appends the line.
    pub(crate) fn write(self, moment: &Moment, out: &mut Vec<u8>) -> io::Result<()> {
        let seconds = moment.wall.as_secs();
        match self {
            Stamp::Seconds => writeln!(out, "time: {seconds}"),
            Stamp::Nanoseconds => {
                writeln!(out, "time: {seconds}.{:09}", moment.wall.subsec_nanos())
            }
        }
    }
}

/// A monitor that copies one file.
pub(crate) struct FileText {
    file: FileId,
    stamp: Stamp,
    repeated: Option<RepeatedKeys>,
}

impl FileText {
    /// Opens the first of the paths that exists.
    pub(crate) fn open(
        place: &Place,
        files: &mut ProcFiles,
        paths: &[&str],
        stamp: Stamp,
    ) -> Result<FileText, String> {
        let mut first_error = None;
        for path in paths {
            match files.open(place, path) {
                Ok(file) => return Ok(FileText { file, stamp, repeated: None }),
                Err(why) => {
                    first_error.get_or_insert(why);
                }
            }
        }
        Err(first_error.unwrap_or_default())
    }

    /// Leaves out lines whose first word came before: some kernels list a counter of
    /// /proc/vmstat twice, and lkp-tests keeps the first.
    pub(crate) fn without_repeated_keys(self) -> FileText {
        FileText { repeated: Some(RepeatedKeys::default()), ..self }
    }
}

impl Source for FileText {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        self.stamp.write(moment, out)?;
        let text = files.read(self.file, moment.round)?;
        match &mut self.repeated {
            None => out.extend_from_slice(text),
            Some(repeated) => repeated.copy(text, out),
        }
        Ok(())
    }
}

/// Copies a text without the lines whose first word has been there before. Which lines these
/// are is fixed for a kernel, so it is found out once.
#[derive(Default)]
pub(crate) struct RepeatedKeys {
    lines: Option<Vec<usize>>,
}

impl RepeatedKeys {
    /// Appends the text without its repeated lines.
    pub(crate) fn copy(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let repeated = self.lines.get_or_insert_with(|| find_repeated(text));
        if repeated.is_empty() {
            out.extend_from_slice(text);
            return;
        }
        let lines = text.split_inclusive(|byte| *byte == b'\n').enumerate();
        for (_, line) in lines.filter(|(number, _)| !repeated.contains(number)) {
            out.extend_from_slice(line);
        }
    }
}

fn find_repeated(text: &[u8]) -> Vec<usize> {
    let mut seen = HashSet::new();
    let key = |line: &'_ [u8]| line.split(|byte| *byte == b' ').next().map(<[u8]>::to_vec);
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !seen.insert(key(line)))
        .map(|(number, _)| number)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_repeated_counter_stays() {
        let mut keys = RepeatedKeys::default();
        let mut out = Vec::new();
        keys.copy(b"a 1\nb 2\na 3\nc 4\n", &mut out);
        keys.copy(b"a 5\nb 6\na 7\nc 8\n", &mut out);
        assert_eq!(out, b"a 1\nb 2\nc 4\na 5\nb 6\nc 8\n");
    }
}
