//! Kernel modules, loaded from the initramfs in the order the host has found.

use std::fs::{self, File};
use std::path::Path;

use rustix::io::Errno;
use rustix::system::finit_module;

/// Loads the modules that the list names, one path a line. Returns what went wrong: a module
/// that is not needed in the end does no harm by failing.
pub(super) fn load(list: &Path) -> Vec<String> {
    let Ok(text) = fs::read_to_string(list) else { return Vec::new() };
    let paths = text.lines().map(str::trim).filter(|line| !line.is_empty());
    paths.filter_map(|path| load_one(path).err()).collect()
}

fn load_one(path: &str) -> Result<(), String> {
    let file = File::open(path).map_err(|error| format!("module {path}: {error}"))?;
    match finit_module(&file, c"", 0) {
        // EEXIST: it is built in, or came with another.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        // ENODEV: its hardware is not here.
        Err(Errno::NODEV) => Ok(()),
        Err(error) => Err(format!("module {path} could not be loaded: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_no_module_and_a_missing_module_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("modules.list");
        assert!(load(&list).is_empty());
        fs::write(&list, "/not/there.ko\n\n").unwrap();
        assert_eq!(load(&list).len(), 1);
    }
}
