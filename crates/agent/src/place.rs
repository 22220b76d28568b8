//! Where the agent acts: whose /proc and /sys, with which variables, stopped by whom.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The surroundings of an execution. [`Place::local`] is the running system, [`Place::guest`] a
/// virtual machine that ends with the run.
#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
    guest: bool,
    stop: Option<Arc<AtomicBool>>,
}

/// The variables of a workload in a guest, where no login has set any.
const GUEST_VARIABLES: [(&str, &str); 4] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("LC_ALL", "C"),
    ("TMPDIR", "/tmp"),
];

impl Place {
    /// The running system: its variables are kept, but for the locale, which is `C`; only what
    /// the kernel logs from now on belongs to the run.
    pub fn local() -> Place {
        Place { root: PathBuf::from("/"), guest: false, stop: None }
    }

    /// A virtual machine that was booted for one run: fixed variables, and the kernel's log from
    /// its first line on belongs to the run.
    pub fn guest() -> Place {
        Place { root: PathBuf::from("/"), guest: true, stop: None }
    }

    /// The same place with /proc, /sys and /dev below `root`: tests build such trees.
    pub fn with_root(mut self, root: impl Into<PathBuf>) -> Place {
        self.root = root.into();
        self
    }

    /// The same place, where the workload is ended, setups are restored and the run has failed
    /// soon after the flag is set: by a signal handler, say.
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Place {
        self.stop = Some(flag);
        self
    }

    /// Where an executable of this name lies in the running system's PATH.
    pub fn local_executable(program: &str) -> Option<PathBuf> {
        Place::local().find_executable(program)
    }

    /// An absolute path (`/proc/stat`) seen from this place.
    pub(crate) fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// The content of a small text file, without surrounding white space; `None` when it cannot
    /// be read.
    pub(crate) fn text(&self, absolute: &str) -> Option<String> {
        read_text(&self.path(absolute))
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.guest
    }

    pub(crate) fn can_be_stopped(&self) -> bool {
        self.stop.is_some()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// A command with this place's variables.
    pub(crate) fn command(&self, program: &str) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        if self.guest {
            command.env_clear().envs(GUEST_VARIABLES);
        } else {
            command.env("LC_ALL", "C");
        }
        command
    }

    /// Where an executable lies: an absolute path as it is, a name by PATH.
    pub(crate) fn find_executable(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            return is_executable(Path::new(program)).then(|| PathBuf::from(program));
        }
        let path = if self.guest {
            GUEST_VARIABLES[0].1.to_owned()
        } else {
            std::env::var("PATH").unwrap_or_default()
        };
        path.split(':')
            .filter(|folder| !folder.is_empty())
            .map(|folder| Path::new(folder).join(program))
            .find(|candidate| is_executable(candidate))
    }
}

/// The content of a small text file, without surrounding white space.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        let place = Place::local().with_root("/tmp/fake");
        assert_eq!(place.path("/proc/stat"), Path::new("/tmp/fake/proc/stat"));
        assert_eq!(Place::local().path("/proc/stat"), Path::new("/proc/stat"));
    }

    #[test]
    fn executables_are_found_by_name_and_by_path() {
        let sh = Place::local().find_executable("sh").unwrap();
        assert!(sh.is_absolute());
        assert!(Place::local().find_executable("/bin/sh").is_some());
        assert!(Place::local().find_executable("no-such-program-here").is_none());
    }
}
