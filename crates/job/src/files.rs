//! Access to files, as narrow as job files need it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Where job files, include files and an lkp-tests source folder are read from.
pub trait Files {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// Whether the path is a regular file.
    fn is_file(&self, path: &Path) -> bool;

    /// Whether the path is a folder.
    fn is_folder(&self, path: &Path) -> bool;

    /// The entries of a folder, sorted; empty when there is no such folder.
    fn list(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

/// Job and include files are small; what is larger is none.
const LARGEST: u64 = 4 << 20;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        if std::fs::metadata(path)?.len() > LARGEST {
            return Err(io::Error::other("it is larger than 4 MiB"));
        }
        std::fs::read_to_string(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }
}

/// Files in memory: tests, and job files that come from elsewhere than a disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, String>,
}

impl MemoryFiles {
    /// Files from path and text pairs.
    pub fn new<P: Into<PathBuf>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        MemoryFiles { files: files.into_iter().map(|(p, t)| (p.into(), t.into())).collect() }
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_file(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.files.keys().any(|file| file != path && file.starts_with(path))
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let mut entries: Vec<PathBuf> = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(folder).ok())
            .filter_map(|rest| rest.components().next())
            .map(|first| folder.join(first))
            .collect();
        entries.dedup();
        entries
    }
}
