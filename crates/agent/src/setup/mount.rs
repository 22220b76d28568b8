//! File systems for the workload.
//!
//! - `fs: tmpfs`, or `fs: {fs: tmpfs, nr_tmpfs: 2, mount_option: size=1g}`: as in lkp-tests, on
//!   /fs/tmpfs-0, /fs/tmpfs-1...
//! - `tmpfs: {point: /mnt, options: size=1g}`
//! - `mount: {device: /dev/vdb, type: ext4, point: /mnt, options: noatime}`

use std::ffi::CString;
use std::path::{Path, PathBuf};

use patchmark_model::Setup;
use rustix::mount::{MountFlags, UnmountFlags};

use super::{Applied, Refusal, Undo};

/// What to mount where.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    device: String,
    kind: String,
    point: PathBuf,
    options: String,
}

impl Applied<'_> {
    /// Mounts what the setup asks for; the workload runs in the first mount point.
    pub(super) fn apply_mount(&mut self, setup: &Setup) -> Result<(), Refusal> {
        for wanted in wanted(setup)? {
            let made = !wanted.point.exists();
            std::fs::create_dir_all(&wanted.point)
                .map_err(|error| refusal(&wanted.point, &error))?;
            mount(&wanted).map_err(|error| refusal(&wanted.point, &error.into()))?;
            let point = wanted.point.clone();
            self.undo.push((setup.program.clone(), Undo::Unmount { point, made }));
            self.mount_points.push(wanted.point);
        }
        Ok(())
    }
}

fn wanted(setup: &Setup) -> Result<Vec<Wanted>, Refusal> {
    let option = |key: &str| setup.options.get(key).cloned();
    let single = |device: String, kind: String| {
        let point = option("point").filter(|point| point.starts_with('/'));
        let point = point.ok_or_else(|| {
            Refusal::Failed(format!("setup `{}` needs `point`, an absolute path", setup.program))
        })?;
        let options = option("options").unwrap_or_default();
        Ok(vec![Wanted { device, kind, point: PathBuf::from(point), options }])
    };
    match setup.program.as_str() {
        "tmpfs" => single("tmpfs".to_owned(), "tmpfs".to_owned()),
        "mount" => {
            let kind = option("type").unwrap_or_else(|| "tmpfs".to_owned());
            single(option("device").unwrap_or_else(|| kind.clone()), kind)
        }
        _ => {
            let kind = setup.value.clone().or_else(|| option("fs"));
            if kind.as_deref() != Some("tmpfs") {
                let kind = kind.unwrap_or_default();
                return Err(Refusal::Failed(format!(
                    "setup `fs`: `{kind}` needs a disk, and this testbox offers none to jobs; \
                     `tmpfs` works, and setup `mount` for a device of your own"
                )));
            }
            let count: u32 = option("nr_tmpfs").and_then(|n| n.parse().ok()).unwrap_or(1);
            let one = |number| Wanted {
                device: "tmpfs".to_owned(),
                kind: "tmpfs".to_owned(),
                point: PathBuf::from(format!("/fs/tmpfs-{number}")),
                options: option("mount_option").unwrap_or_default(),
            };
            Ok((0..count.clamp(1, 64)).map(one).collect())
        }
    }
}

fn mount(wanted: &Wanted) -> rustix::io::Result<()> {
    let (flags, data) = flags_and_data(&wanted.options);
    let data = CString::new(data).map_err(|_| rustix::io::Errno::INVAL)?;
    rustix::mount::mount(
        wanted.device.as_str(),
        &wanted.point,
        wanted.kind.as_str(),
        flags,
        data.as_c_str(),
    )
}

/// Splits mount options into the kernel's flags and what is the file system's own.
fn flags_and_data(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut data = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "noatime" => flags |= MountFlags::NOATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "ro" => flags |= MountFlags::RDONLY,
            "defaults" | "rw" => {}
            other => data.push(other),
        }
    }
    (flags, data.join(","))
}

pub(super) fn unmount(point: &Path, made: bool) -> Result<(), String> {
    rustix::mount::unmount(point, UnmountFlags::DETACH)
        .map_err(|error| format!("unmounting {}: {error}", point.display()))?;
    if made {
        // Left behind it does no harm.
        let _ = std::fs::remove_dir(point);
    }
    Ok(())
}

fn refusal(point: &Path, error: &std::io::Error) -> Refusal {
    let why = format!("mounting on {}: {error}", point.display());
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => Refusal::LeftOut(format!("{why}: run as root")),
        _ => Refusal::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::setup;
    use super::*;
    use crate::Place;

    #[test]
    fn a_tmpfs_comes_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().join("t");
        let place = Place::local();
        let mut applied = Applied::new(&place);
        let options = [("point", point.to_str().unwrap()), ("options", "size=1m,noatime")];
        match applied.apply(&setup("tmpfs", None, &options)) {
            Ok(()) => {}
            Err(why) => return println!("skipped: no mounting here: {why:?}"),
        }
        assert_eq!(applied.mount_points(), std::slice::from_ref(&point));
        std::fs::write(point.join("x"), "x").unwrap();
        assert!(applied.restore().is_empty());
        assert!(!point.exists());
    }

    #[test]
    fn a_file_system_that_needs_a_disk_fails_with_a_way_out() {
        let Err(Refusal::Failed(why)) = wanted(&setup("fs", Some("ext4"), &[])) else { panic!() };
        assert!(why.contains("tmpfs"));
        let two = wanted(&setup("fs", None, &[("fs", "tmpfs"), ("nr_tmpfs", "2")])).unwrap();
        assert_eq!(two.len(), 2);
    }
}
