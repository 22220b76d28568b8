//! Why the store cannot do what it is asked, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use patchmark_model::RunId;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error(
        "the disk that holds {path} is full; make room and start again: finished runs are kept"
    )]
    DiskFull {
        /// What was written.
        path: PathBuf,
    },
    /// The store cannot be written.
    #[error(
        "{path} cannot be written; name another store with --store DIR, or mend its permissions"
    )]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// The database is no SQLite database any more.
    #[error(
        "{path} is damaged ({detail}); move it away (mv {path} {path}.damaged; also its -wal and \
         -shm files): the runs are read in again from their folders at the next start"
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        detail: String,
    },
    /// The file is a database of something else.
    #[error("{path} is a database of another program; name another store with --store DIR")]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// A newer version has written the store.
    #[error(
        "{path} was written by a newer patchmark (schema {found}, this one knows up to {known}); \
         use that version, or another store with --store DIR"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The schema it has.
        found: i64,
        /// The newest schema that is known.
        known: i64,
    },
    /// Another process kept the database locked for too long.
    #[error("{path} is kept locked by another process; try again, or end that process")]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The run is not held by this process any more.
    #[error(
        "run {0} is not held by this process any more: its time ran out or it was removed; its \
         result is dropped"
    )]
    ClaimLost(RunId),
    /// The run is under way.
    #[error("run {run} is under way in process {pid}; end it first")]
    UnderWay {
        /// The run.
        run: RunId,
        /// The process that holds it.
        pid: u32,
    },
    /// There is no such run.
    #[error("there is no run {0} in the store; `patchmark results list` shows what there is")]
    NoRun(String),
    /// There is no such comparison.
    #[error("there is no comparison {0} in the store")]
    NoComparison(String),
    /// A caller asked for something that makes no sense.
    #[error("{0}")]
    Misuse(String),
    /// A file of a run cannot be read.
    #[error("{path} cannot be read: {detail}")]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database refused.
    #[error("{path}: {source}")]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(crate) fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref().to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::DiskFull { path }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { path }
            }
            _ => StoreError::Io { path, source },
        }
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::ReadOnly { path }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, detail: source.to_string() }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            _ => StoreError::Database { path, source },
        }
    }
}

/// Adds the path to an I/O error.
pub(crate) trait AtPath<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, StoreError>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, StoreError> {
        self.map_err(|error| StoreError::io(path, error))
    }
}
