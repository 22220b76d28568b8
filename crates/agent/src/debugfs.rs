//! debugfs, where the scheduler shows its state; mounted for a run where it is not.

use std::path::PathBuf;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::Place;

/// debugfs mounted for a run; unmounted when dropped.
pub(crate) struct Debugfs(PathBuf);

/// Mounts debugfs in its usual place if it is nowhere there and the agent may.
pub(crate) fn mount_if_needed(place: &Place) -> Option<Debugfs> {
    let point = place.path("/sys/kernel/debug");
    let is_empty = std::fs::read_dir(&point).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty {
        return None;
    }
    rustix::mount::mount("debugfs", &point, "debugfs", MountFlags::empty(), None).ok()?;
    Some(Debugfs(point))
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        // A file in it may be open elsewhere meanwhile; it stays then, as on most systems.
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::empty());
    }
}
