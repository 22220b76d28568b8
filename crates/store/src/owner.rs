//! Who holds runs, and whether it lives.
//!
//! Each open store has a file `owners/<id>` that it keeps locked (flock). The kernel drops the
//! lock when the process ends in whatever way, also across containers. Where the filesystem has
//! no locks, process id, start time and boot id tell.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::StoreError;
use crate::error::AtPath;

/// What is recorded of a process, for messages and for filesystems without locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Clock ticks between boot and the process's start (field 22 of `/proc/PID/stat`).
    pub(crate) start_time: u64,
    pub(crate) boot_id: String,
}

/// This process as a holder of runs; dropping it lets go of the lock.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) id: String,
    pub(crate) process: Process,
    path: PathBuf,
    _lock: fs_err::File,
}

impl Owner {
    /// Registers this process in `owners/`. The file appears under its name when it is locked
    /// already, so that nobody can take it for a dead process's.
    pub(crate) fn register(folder: &Path, id: String) -> Result<Self, StoreError> {
        fs_err::create_dir_all(folder).at(folder)?;
        let new = folder.join(format!(".new-{id}"));
        let file = fs_err::File::create(&new).at(&new)?;
        match file.file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(StoreError::io(&new, error)),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Misuse(format!("{} is locked already", new.display())));
            }
        }
        let path = folder.join(&id);
        fs_err::rename(&new, &path).at(&path)?;
        Ok(Owner { id, process: this_process(), path, _lock: file })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next process clears the file away.
        let _ = fs_err::remove_file(&self.path);
    }
}

/// Whether the process behind an owner's file lives.
pub(crate) fn is_alive(folder: &Path, id: &str, process: &Process) -> bool {
    let Ok(file) = fs_err::File::open(folder.join(id)) else { return false };
    match file.file().try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => {
            process.boot_id == boot_id() && start_time(process.pid) == Some(process.start_time)
        }
    }
}

/// Removes the files of owners that are dead.
pub(crate) fn clear_dead(folder: &Path) {
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_free = fs_err::File::open(entry.path())
            .is_ok_and(|file| file.file().try_lock_shared().is_ok());
        // A file that is not yet under its name may be locked in the next moment.
        let is_new = entry.file_name().to_string_lossy().starts_with(".new-");
        let age = entry.metadata().and_then(|data| data.modified()).map(|time| time.elapsed());
        let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > Duration::from_secs(60)));
        if is_free && (!is_new || is_old) {
            let _ = fs_err::remove_file(entry.path());
        }
    }
}

fn this_process() -> Process {
    let pid = std::process::id();
    Process { pid, start_time: start_time(pid).unwrap_or(0), boot_id: boot_id() }
}

fn boot_id() -> String {
    let text = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold spaces and brackets itself.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_as_long_as_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let owner = Owner::register(dir.path(), "one".to_owned()).unwrap();
        let process = owner.process.clone();
        assert!(process.start_time > 0 && !process.boot_id.is_empty());
        assert!(is_alive(dir.path(), "one", &process));
        clear_dead(dir.path());
        assert!(is_alive(dir.path(), "one", &process));
        drop(owner);
        assert!(!is_alive(dir.path(), "one", &process));
        fs_err::write(dir.path().join("two"), "").unwrap();
        assert!(!is_alive(dir.path(), "two", &process));
        clear_dead(dir.path());
        assert!(!dir.path().join("two").exists());
    }
}
