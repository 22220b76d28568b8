//! Files below /proc and /sys that are opened once and read again and again.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::Place;

/// Most bytes taken from one file at a time; the largest, sched_debug of a machine with
/// hundreds of CPUs, has a few.
const MAX_FILE: usize = 64 << 20;

/// A file in [`ProcFiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(usize);

/// The open files, each with what was read from it last.
#[derive(Default)]
pub(crate) struct ProcFiles {
    files: Vec<OpenFile>,
}

struct OpenFile {
    path: PathBuf,
    file: File,
    content: Vec<u8>,
    length: usize,
    round: u64,
}

impl ProcFiles {
    /// Opens a file, or finds it open. The error names the path and what to do.
    pub(crate) fn open(&mut self, place: &Place, absolute: &str) -> Result<FileId, String> {
        let path = place.path(absolute);
        if let Some(known) = self.files.iter().position(|file| file.path == path) {
            return Ok(FileId(known));
        }
        let file = File::open(&path).map_err(|error| explain(absolute, &error))?;
        self.files.push(OpenFile { path, file, content: vec![0; 8192], length: 0, round: 0 });
        Ok(FileId(self.files.len() - 1))
    }

    /// The file's content as of this round.
    pub(crate) fn read(&mut self, id: FileId, round: u64) -> io::Result<&[u8]> {
        let file = self.files.get_mut(id.0).ok_or(io::ErrorKind::NotFound)?;
        if file.round != round {
            file.refresh().map_err(|error| name_path(&file.path, &error))?;
            file.round = round;
        }
        Ok(file.content.get(..file.length).unwrap_or_default())
    }
}

impl OpenFile {
    /// Reads from the start to the end; /proc gives one page or one record at a time.
    fn refresh(&mut self) -> io::Result<()> {
        let mut filled = 0;
        loop {
            if self.content.len() - filled < 4096 && self.content.len() < MAX_FILE {
                self.content.resize(self.content.len() * 2, 0);
            }
            let room = self.content.get_mut(filled..).unwrap_or_default();
            match self.file.read_at(room, filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.length = filled;
        Ok(())
    }
}

fn name_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn explain(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("this kernel has no {path}"),
        io::ErrorKind::PermissionDenied => format!("{path} is for root: run as root"),
        _ => format!("{path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_a_round() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::local().with_root(dir.path());
        std::fs::write(dir.path().join("stat"), "old").unwrap();
        let mut files = ProcFiles::default();
        let id = files.open(&place, "/stat").unwrap();
        assert_eq!(files.open(&place, "/stat"), Ok(id));
        assert_eq!(files.read(id, 1).unwrap(), b"old");
        std::fs::write(dir.path().join("stat"), "newer").unwrap();
        assert_eq!(files.read(id, 1).unwrap(), b"old");
        assert_eq!(files.read(id, 2).unwrap(), b"newer");
    }

    #[test]
    fn a_long_file_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::local().with_root(dir.path());
        std::fs::write(dir.path().join("big"), vec![b'x'; 100_000]).unwrap();
        let mut files = ProcFiles::default();
        let id = files.open(&place, "/big").unwrap();
        assert_eq!(files.read(id, 1).unwrap().len(), 100_000);
    }
}
