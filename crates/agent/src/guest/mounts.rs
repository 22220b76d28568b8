//! The file systems that a system has.

use std::ffi::CStr;
use std::fs;

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

/// Point, kind, options, and whether a run can do without.
const MOUNTS: [(&str, &str, &CStr, bool); 11] = [
    ("/proc", "proc", c"", false),
    ("/sys", "sysfs", c"", false),
    ("/dev", "devtmpfs", c"mode=0755", false),
    ("/dev/pts", "devpts", c"mode=0620,ptmxmode=0666", false),
    ("/dev/shm", "tmpfs", c"mode=1777", false),
    ("/tmp", "tmpfs", c"mode=1777", false),
    ("/run", "tmpfs", c"mode=0755", false),
    ("/sys/kernel/debug", "debugfs", c"", true),
    ("/sys/kernel/tracing", "tracefs", c"", true),
    ("/sys/fs/cgroup", "cgroup2", c"", true),
    ("/dev/mqueue", "mqueue", c"", true),
];

/// Links in /dev that programs expect.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Mounts them all; returns what a run will miss.
pub(super) fn mount_all() -> Vec<String> {
    let mut notes = Vec::new();
    for (point, kind, options, is_optional) in MOUNTS {
        // /sys has its own folders, and refuses others.
        let _ = fs::create_dir_all(point);
        match mount(kind, point, kind, MountFlags::empty(), options) {
            // The kernel mounts /dev itself where it is told to.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(_) if is_optional => {}
            Err(error) => notes.push(format!("{kind} could not be mounted on {point}: {error}")),
        }
    }
    for (target, link) in LINKS {
        let _ = std::os::unix::fs::symlink(target, link);
    }
    notes
}
