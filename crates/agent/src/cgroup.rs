//! The workload's own cgroup (version 2), by which everything it started can be found and
//! ended. No controller is switched on for that, so the workload runs as it would without;
//! where there is no such cgroup the workload's process group serves instead.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Place;

/// How long killed processes may take to go away.
const PATIENCE: Duration = Duration::from_secs(5);

/// A cgroup that ends with this value.
#[derive(Debug)]
pub(crate) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Makes the cgroup of a run below the agent's own. The error says why there is none.
    pub(crate) fn create(place: &Place, name: &str) -> Result<Cgroup, String> {
        let mount = version_2_mount(place).ok_or("no cgroup version 2 hierarchy is mounted")?;
        let own = own_path(place).unwrap_or_default();
        let candidates = [mount.join(own.trim_start_matches('/')), mount];
        let mut why = String::new();
        for parent in candidates {
            let folder = parent.join(format!("patchmark-{name}"));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Cgroup { folder }),
                Err(error) => why = format!("{}: {error}", folder.display()),
            }
        }
        Err(why)
    }

    /// The open file through which a process enters the cgroup.
    pub(crate) fn entrance(&self) -> io::Result<OwnedFd> {
        Ok(OpenOptions::new().write(true).open(self.folder.join("cgroup.procs"))?.into())
    }

    /// Sets one of the cgroup's limits: `memory.max`. The controller is switched on in the
    /// parent first.
    pub(crate) fn limit(&self, file: &str, value: &str) -> io::Result<()> {
        let target = self.folder.join(file);
        if !target.exists()
            && let (Some(parent), Some((controller, _))) =
                (self.folder.parent(), file.split_once('.'))
        {
            write_file(&parent.join("cgroup.subtree_control"), &format!("+{controller}"))?;
        }
        write_file(&target, value)
    }

    /// Kills all processes in it; false when some are left after a while (in uninterruptible
    /// sleep).
    pub(crate) fn kill(&self) -> bool {
        let end = Instant::now() + PATIENCE;
        // The file exists since 5.14.
        let by_file = write_file(&self.folder.join("cgroup.kill"), "1").is_ok();
        loop {
            let pids = self.pids();
            if pids.is_empty() {
                return true;
            }
            if Instant::now() > end {
                return false;
            }
            if !by_file {
                for pid in pids {
                    // It may have gone meanwhile.
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn pids(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What cannot be removed is empty and costs nothing.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

fn version_2_mount(place: &Place) -> Option<PathBuf> {
    let mounts = place.text("/proc/self/mounts")?;
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let line = fields.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(place.path(line.get(1)?))
}

fn own_path(place: &Place) -> Option<String> {
    let groups = place.text("/proc/self/cgroup")?;
    groups.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::{Process, Waited};
    use crate::sys;

    #[test]
    fn what_the_workload_left_behind_is_killed() {
        let name = format!("test-{}", std::process::id());
        let Ok(cgroup) = Cgroup::create(&Place::local(), &name) else {
            println!("skipped: no writable cgroup version 2 here");
            return;
        };
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 60 >/dev/null 2>&1 & exit 0"]);
        sys::isolate(&mut command, Some(cgroup.entrance().unwrap()));
        let mut process = Process::start(&mut command).unwrap();
        let waited = process.wait_for(Duration::from_secs(10)).unwrap();
        assert!(matches!(waited, Waited::Ended { .. }));
        assert_eq!(cgroup.pids().len(), 1, "the sleep is there");
        assert!(cgroup.kill());
        let folder = cgroup.folder.clone();
        drop(cgroup);
        assert!(!folder.exists());
    }

    #[test]
    fn without_cgroups_there_is_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let why = Cgroup::create(&Place::local().with_root(dir.path()), "x").unwrap_err();
        assert!(why.contains("no cgroup version 2"));
    }
}
