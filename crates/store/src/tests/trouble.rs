//! Full disks, lost databases, folders that cannot be written.

use std::process::Command;

use super::*;
use crate::StoreError;

/// A small filesystem of its own; `None` where one may not be mounted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(bytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={bytes}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "patchmark-test"])
            .arg(dir.path())
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk(dir));
        }
        println!("skipped: no filesystem may be mounted here");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).output();
    }
}

#[test]
fn a_full_disk_is_told_and_finished_runs_are_kept() {
    let Some(disk) = SmallDisk::mount(2 << 20) else { return };
    let store = Store::open(disk.path(), NOW).unwrap();
    let planned = store.plan(&wish(2), NOW).unwrap();
    finish(&store, &claim(&store, &planned), 1.0);
    let second = claim(&store, &planned);
    fs_err::write(second.dir().join("stress-ng.zst"), "raw").unwrap();
    let ballast = disk.path().join("ballast");
    // Fills the disk; the write itself fails at the end.
    assert!(fs_err::write(&ballast, vec![1_u8; 3 << 20]).is_err());
    let full =
        store.finish(&second, &record(second.id()), &metrics(2.0), &kpis(), NOW).unwrap_err();
    assert!(matches!(full, StoreError::DiskFull { .. }), "{full}");
    assert!(full.to_string().contains("make room"), "{full}");
    // The claim is still good when there is room again.
    fs_err::remove_file(&ballast).unwrap();
    store.finish(&second, &record(second.id()), &metrics(2.0), &kpis(), NOW).unwrap();
    drop(store);
    let store = Store::open(disk.path(), NOW).unwrap();
    assert_sound(&store);
    assert_eq!(store.finished_runs(&key("bbbb")).unwrap().len(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_can_be_read() {
    let Some(disk) = SmallDisk::mount(4 << 20) else { return };
    drop(Store::open(disk.path(), NOW).unwrap());
    let remount =
        Command::new("mount").args(["-o", "remount,ro"]).arg(disk.path()).output().unwrap();
    assert!(remount.status.success());
    let error = Store::open(disk.path(), NOW).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("--store"), "{error}");
    let reader = Store::open_read_only(disk.path()).unwrap();
    assert!(reader.runs(&crate::Query::default()).unwrap().is_empty());
}

#[test]
fn a_lost_database_is_made_again_from_the_run_directories() {
    let dir = scratch();
    let store = Store::open(dir.path(), NOW).unwrap();
    let planned = store.plan(&wish(2), NOW).unwrap();
    for number in 0..3 {
        finish(&store, &claim(&store, &planned), f64::from(number));
    }
    let finished = crate::Query { states: vec![RunState::Finished], ..Default::default() };
    let before = store.runs(&finished).unwrap();
    drop(store);
    let database = dir.path().join("patchmark.sqlite");
    fs_err::write(&database, vec![0x55; 20_000]).unwrap();
    let damaged = Store::open(dir.path(), NOW).unwrap_err();
    assert!(damaged.to_string().contains("move it away"), "{damaged}");
    for name in ["patchmark.sqlite", "patchmark.sqlite-wal", "patchmark.sqlite-shm"] {
        let _ = fs_err::remove_file(dir.path().join(name));
    }
    let store = Store::open(dir.path(), NOW).unwrap();
    assert_eq!(store.notes(), ["3 runs read in again from their directories"]);
    assert_eq!(store.runs(&finished).unwrap(), before);
    assert_sound(&store);
    assert!(store.plan(&wish(2), NOW).unwrap().runs[0].has_ended());
}

#[test]
fn directories_removed_or_left_by_hand_are_told() {
    let dir = scratch();
    let store = Store::open(dir.path(), NOW).unwrap();
    let planned = store.plan(&wish(1), NOW).unwrap();
    let claim = claim(&store, &planned);
    finish(&store, &claim, 1.0);
    fs_err::remove_dir_all(store.run_dir(claim.id())).unwrap();
    fs_err::create_dir(dir.path().join("runs/holiday pictures")).unwrap();
    let id = claim.id().clone();
    drop((claim, store));
    let store = Store::open(dir.path(), NOW).unwrap();
    let run = store.run(id.as_str()).unwrap();
    assert_eq!(run.state, RunState::Failed);
    assert!(run.kpis.is_empty());
    assert!(store.notes()[0].contains("directory is gone"), "{:?}", store.notes());
    assert!(store.notes()[1].contains("holiday"), "{:?}", store.notes());
    assert!(dir.path().join("runs/holiday pictures").is_dir());
}
