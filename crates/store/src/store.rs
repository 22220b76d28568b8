//! The store: its folder, its connection, and who this process is in it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use patchmark_model::RunId;
use rusqlite::{Connection, Transaction};
use ulid::Ulid;

use crate::error::AtPath;
use crate::owner::Owner;
use crate::{StoreError, database, reconcile};

/// Everything that is known, in one folder. May be shared by threads; several processes may have
/// the same store open.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    connection: Mutex<Connection>,
    /// `None` for a store that is only read.
    owner: Option<Owner>,
    held: Held,
    notes: Vec<String>,
}

/// The runs that this process works on: `id.attempt`.
pub(crate) type Held = Arc<Mutex<HashSet<String>>>;

impl Store {
    /// Opens the store in a folder, makes it when it is not there, and heals what killed
    /// processes have left (see [`Store::notes`]).
    ///
    /// # Errors
    /// A damaged, foreign or newer database; a folder that cannot be written; a full disk.
    pub fn open(dir: &Path, now: f64) -> Result<Self, StoreError> {
        for sub in ["runs", "tmp"] {
            let path = dir.join(sub);
            fs_err::create_dir_all(&path).at(&path)?;
        }
        let dir = fs_err::canonicalize(dir).at(dir)?;
        let connection = database::open(&database_path(&dir))?;
        let owner = Owner::register(&dir.join("owners"), new_id(now))?;
        let mut store = Store {
            dir,
            connection: Mutex::new(connection),
            owner: Some(owner),
            held: Held::default(),
            notes: Vec::new(),
        };
        store.notes = reconcile::heal(&store, now)?;
        Ok(store)
    }

    /// Opens a store for reading alone; nothing is healed or changed.
    ///
    /// # Errors
    /// There is no store in the folder, or it cannot be read.
    pub fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        let path = database_path(dir);
        if !path.is_file() {
            let why = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(StoreError::Io { path, source: why });
        }
        Ok(Store {
            dir: fs_err::canonicalize(dir).at(dir)?,
            connection: Mutex::new(database::open_read_only(&path)?),
            owner: None,
            held: Held::default(),
            notes: Vec::new(),
        })
    }

    /// What was healed when the store was opened, for people: `2 runs of a process that has
    /// ended are queued again`.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The store's folder, absolute.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory of a run that has ended.
    pub fn run_dir(&self, run: &RunId) -> PathBuf {
        self.dir.join("runs").join(run.as_str())
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub(crate) fn owners(&self) -> PathBuf {
        self.dir.join("owners")
    }

    pub(crate) fn owner(&self) -> Result<&Owner, StoreError> {
        self.owner
            .as_ref()
            .ok_or_else(|| StoreError::Misuse("the store was opened for reading alone".to_owned()))
    }

    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Runs a piece of work in one writing transaction: committed when it answers `Ok`, else
    /// undone.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.owner()?;
        let mut connection = self.lock();
        let transaction = database::begin(&mut connection).map_err(|e| self.wrong(e))?;
        let answer = work(&transaction)?;
        crate::crash::point();
        transaction.commit().map_err(|error| self.wrong(error))?;
        crate::crash::point();
        Ok(answer)
    }

    /// Runs a piece of work on one consistent state of the database.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(|error| self.wrong(error))?;
        work(&transaction).map_err(|error| self.wrong(error))
    }

    pub(crate) fn wrong(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(&database_path(&self.dir), error)
    }

    /// A thread that panicked in the middle has left no half transaction: it was undone.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn database_path(dir: &Path) -> PathBuf {
    dir.join("patchmark.sqlite")
}

/// A new id: sorts by time, and never twice the same.
pub(crate) fn new_id(now: f64) -> String {
    // A time before 1970 counts as 1970; the conversion saturates.
    Ulid::from_parts((now * 1000.0) as u64, Ulid::generate().random()).to_string()
}
