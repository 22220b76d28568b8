//! The recorded cases beside the project.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder of `../shared`; `None`, and a line that says so, when it is not here.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    if !path.is_dir() {
        println!("skipped: ../shared is not here");
        return None;
    }
    Some(path)
}

/// The content of a JSON file.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
