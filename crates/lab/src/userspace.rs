//! The identity of the user space that a job's programs come from.

use std::path::PathBuf;

use patchmark_model::{Needs, TestboxFacts};

use crate::doctor::find_in_path;

/// The `rootfs` axis of a plan's runs: the testbox's own and a digest of the programs that the
/// plan needs and the C library, `packed-debian-12-3fa9c1d2`. A benchmark that was upgraded makes
/// other numbers, so its runs are not repetitions of the old ones.
pub fn rootfs_axis(facts: &TestboxFacts, needs: &Needs) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut binaries: Vec<&String> = needs.binaries.iter().collect();
    binaries.sort();
    for name in binaries {
        let path =
            if name.starts_with('/') { Some(PathBuf::from(name)) } else { find_in_path(name) };
        hasher.update(name.as_bytes());
        digest_into(&mut hasher, path);
    }
    digest_into(&mut hasher, Some(PathBuf::from("/lib/x86_64-linux-gnu/libc.so.6")));
    format!("{}-{}", facts.rootfs, &hasher.finalize().to_hex()[..8])
}

/// A program that is missing is told by whoever packs or starts it, not here.
fn digest_into(hasher: &mut blake3::Hasher, path: Option<PathBuf>) {
    if let Some(content) = path.and_then(|path| fs_err::read(path).ok()) {
        hasher.update(blake3::hash(&content).as_bytes());
    }
}
