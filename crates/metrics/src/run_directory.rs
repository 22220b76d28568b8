//! The one place that reads files.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::run::RunFiles;

/// Most bytes that are read of one file.
const MAX_FILE: u64 = 1 << 30;

/// A run directory on disk.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// The run directory at a path. Nothing is read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RunDirectory { path: path.into() }
    }

    fn with_path(&self, what: &str, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {what}: {error}", self.path.display()))
    }
}

impl RunFiles for RunDirectory {
    /// Regular files only: what a guest sent may hold links to anywhere.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let entries = fs::read_dir(&self.path).map_err(|e| self.with_path("not readable", e))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        if name.contains('/') || name == ".." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = self.path.join(name);
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut bytes = Vec::new();
        fs::File::open(&path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, run_metrics};

    #[test]
    fn a_directory_is_read_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("uptime"), "time: 1\n10.0 20.0\n").unwrap();
        std::os::unix::fs::symlink("/proc/meminfo", folder.path().join("meminfo")).unwrap();
        let directory = RunDirectory::new(folder.path());
        let run = run_metrics(&directory, &ParseOptions::default()).unwrap();
        assert_eq!(run.metrics.get("uptime.boot"), Some(&10.0));
        assert_eq!(run.metrics.len(), 2);
        assert!(directory.read("../x").is_err() && directory.read("meminfo").is_err());
        assert!(RunDirectory::new("/nowhere").names().is_err());
    }
}
