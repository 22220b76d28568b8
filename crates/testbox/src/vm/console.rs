//! A guest's console: kept in a file of bounded size, and read for the few lines that matter.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Bytes kept from the start of the log.
const MAX_HEAD: u64 = 8 << 20;
/// Bytes kept from its end, once it is longer than that.
const MAX_TAIL: usize = 256 << 10;
/// Longest line that is looked at; the rest of a longer one is passed over.
const MAX_LINE: usize = 1024;
/// A log longer than this is compressed when it is complete.
const PLAIN_LIMIT: u64 = 64 << 10;
/// What the agent prints first.
const AGENT_MARKER: &str = "patchmark: init";
const PANIC_MARKER: &str = "Kernel panic";

/// The file name of the log in a run directory; `.zst` is added when it is compressed.
pub(crate) const LOG_NAME: &str = "console.log";

/// What comes from `ttyS0`.
#[derive(Debug)]
pub(super) struct Console {
    path: PathBuf,
    file: fs_err::File,
    written: u64,
    left_out: u64,
    tail: VecDeque<u8>,
    text: EscapeFilter,
    line: String,
    lines: Lines,
}

/// What the lines told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The agent has begun.
    pub(super) agent_began: bool,
    /// The first line that tells of a panic.
    pub(super) panic: Option<String>,
    /// The last line with anything on it.
    pub(super) last: Option<String>,
}

impl Console {
    /// Begins the log in a run directory.
    pub(super) fn create(dir: &Path) -> io::Result<Console> {
        let path = dir.join(LOG_NAME);
        Ok(Console {
            file: fs_err::File::create(&path)?,
            path,
            written: 0,
            left_out: 0,
            tail: VecDeque::new(),
            text: EscapeFilter::default(),
            line: String::new(),
            lines: Lines::default(),
        })
    }

    /// What the lines told so far; a last line without an end counts.
    pub(super) fn lines(&self) -> Lines {
        let mut lines = self.lines.clone();
        lines.see(&self.line);
        lines
    }

    /// Takes bytes as they come.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            match self.text.pass(*byte) {
                Some('\n') => {
                    self.lines.see(&self.line);
                    self.line.clear();
                }
                Some(c) if self.line.len() < MAX_LINE => self.line.push(c),
                _ => {}
            }
        }
        let room = usize::try_from(MAX_HEAD - self.written).unwrap_or(0).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.file.write_all(head)?;
        self.written += head.len() as u64;
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(MAX_TAIL);
        self.tail.drain(..surplus);
        self.left_out += surplus as u64;
        Ok(())
    }

    /// Completes the log; a long one is compressed.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.left_out > 0 {
            write!(self.file, "\n[{} bytes left out]\n", self.left_out)?;
        }
        let (front, back) = self.tail.as_slices();
        self.file.write_all(front)?;
        self.file.write_all(back)?;
        self.file.flush()?;
        if self.written + self.tail.len() as u64 <= PLAIN_LIMIT {
            return Ok(());
        }
        let packed = self.path.with_extension("log.zst");
        let plain = fs_err::File::open(&self.path)?;
        zstd::stream::copy_encode(plain, fs_err::File::create(packed)?, 3)?;
        fs_err::remove_file(&self.path)
    }
}

impl Lines {
    fn see(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.agent_began |= line.contains(AGENT_MARKER);
        if self.panic.is_none()
            && let Some(at) = line.find(PANIC_MARKER)
        {
            self.panic = line.get(at..).map(str::to_owned);
        }
        self.last = Some(line.to_owned());
    }
}

/// Takes terminal escapes and control characters out of a stream of bytes. Bytes outside ASCII
/// become `?`: what is kept of the console for messages is plain text.
#[derive(Debug, Default)]
enum EscapeFilter {
    #[default]
    Text,
    Escape,
    /// `ESC [` up to a letter.
    Control,
    /// `ESC ]` up to BEL or the next escape.
    Command,
}

impl EscapeFilter {
    fn pass(&mut self, byte: u8) -> Option<char> {
        let (next, out) = match (&self, byte) {
            (_, b'\n') => (EscapeFilter::Text, Some('\n')),
            (_, 0x1b) => (EscapeFilter::Escape, None),
            (EscapeFilter::Text, b'\t') => (EscapeFilter::Text, Some(' ')),
            (EscapeFilter::Text, 0x20..=0x7e) => (EscapeFilter::Text, Some(char::from(byte))),
            (EscapeFilter::Text, 0x80..) => (EscapeFilter::Text, Some('?')),
            (EscapeFilter::Text, _) => (EscapeFilter::Text, None),
            (EscapeFilter::Escape, b'[') => (EscapeFilter::Control, None),
            (EscapeFilter::Escape, b']') => (EscapeFilter::Command, None),
            (EscapeFilter::Escape, _) => (EscapeFilter::Text, None),
            (EscapeFilter::Control, 0x40..=0x7e) => (EscapeFilter::Text, None),
            (EscapeFilter::Control, _) => (EscapeFilter::Control, None),
            (EscapeFilter::Command, 0x07) => (EscapeFilter::Text, None),
            (EscapeFilter::Command, _) => (EscapeFilter::Command, None),
        };
        *self = next;
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8]) -> Lines {
        let folder = tempfile::tempdir().unwrap();
        let mut console = Console::create(folder.path()).unwrap();
        for chunk in bytes.chunks(3) {
            console.push(chunk).unwrap();
        }
        console.lines()
    }

    #[test]
    fn escapes_of_the_firmware_are_no_trouble() {
        let seen = lines(b"\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS\r\n\x1b]0;title\x07patch\x1b[1mmark: init 1.25\r\n");
        assert!(seen.agent_began);
        assert_eq!(seen.last.as_deref(), Some("patchmark: init 1.25"));
    }

    #[test]
    fn the_first_panic_line_is_kept_even_without_an_end() {
        let seen = lines(b"[    0.9] Kernel panic - not syncing: VFS: Unable to mount root fs");
        let expected = "Kernel panic - not syncing: VFS: Unable to mount root fs";
        assert_eq!(seen.panic.as_deref(), Some(expected));
        let seen = lines(b"Kernel panic - not syncing: a\n---[ end Kernel panic - not syncing: a");
        assert_eq!(seen.panic.as_deref(), Some("Kernel panic - not syncing: a"));
    }

    #[test]
    fn a_flood_is_bounded_and_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut console = Console::create(folder.path()).unwrap();
        let noise = vec![b'x'; 1 << 20];
        for _ in 0..12 {
            console.push(&noise).unwrap();
        }
        console.push(b"\nKernel panic - not syncing: flood\n").unwrap();
        assert!(console.lines().panic.is_some());
        console.finish().unwrap();
        let packed = fs_err::read(folder.path().join("console.log.zst")).unwrap();
        let plain = zstd::decode_all(&packed[..]).unwrap();
        assert!(plain.len() as u64 <= MAX_HEAD + MAX_TAIL as u64 + 100);
        assert!(plain.ends_with(b"flood\n"));
        assert!(String::from_utf8_lossy(&plain).contains("bytes left out]"));
        assert!(!folder.path().join(LOG_NAME).exists());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let seen = lines(&bytes);
            let printable = |line: String| line.chars().all(|c| (' '..='~').contains(&c));
            prop_assert!(seen.last.is_none_or(printable));
        }
    }
}
