//! What a kernel is by content.

use std::path::{Path, PathBuf};

use crate::KernelError;
use crate::error::AtPath;

/// Hex digest over an image and a modules folder: names, kinds and contents of all files, in
/// order of their names. What depmod derives (`modules.dep` and the like) and the links to the
/// build tree are left out: they say nothing of the kernel.
pub(crate) fn of_kernel(image: &Path, modules: Option<&Path>) -> Result<String, KernelError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"patchmark kernel 1\0");
    hash_file(&mut hasher, image)?;
    if let Some(folder) = modules {
        let mut files = Vec::new();
        list(folder, folder, &mut files)?;
        files.sort();
        for file in files {
            hasher.update(file.as_os_str().as_encoded_bytes());
            hasher.update(b"\0");
            hash_file(&mut hasher, &folder.join(&file))?;
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The length is hashed before the content, so that no two lists of files run together.
fn hash_file(hasher: &mut blake3::Hasher, path: &Path) -> Result<(), KernelError> {
    let mut file = fs_err::File::open(path).at(path)?;
    let length = file.metadata().at(path)?.len();
    hasher.update(&length.to_le_bytes());
    hasher.update_reader(&mut file).at(path)?;
    Ok(())
}

/// All regular files below a folder, relative to `top`; links are not followed.
fn list(top: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), KernelError> {
    for entry in fs_err::read_dir(folder).at(folder)? {
        let entry = entry.at(folder)?;
        let path = entry.path();
        let kind = entry.file_type().at(&path)?;
        if kind.is_dir() {
            list(top, &path, files)?;
        } else if kind.is_file() && !(folder == top && is_derived(&entry.file_name())) {
            files.push(path.strip_prefix(top).unwrap_or(&path).to_owned());
        }
    }
    Ok(())
}

/// Whether depmod makes the file; `modules.order` and `modules.builtin*` come from the build,
/// but depmod indexes the latter as `.bin`.
fn is_derived(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let built =
        ["modules.order", "modules.builtin", "modules.builtin.modinfo", "modules.builtin.ranges"];
    name.starts_with("modules.") && !built.contains(&name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_tells_contents_and_names_but_not_what_depmod_adds() {
        let dir = tempfile::tempdir().unwrap();
        let (image, modules) = (dir.path().join("vmlinuz"), dir.path().join("m"));
        fs_err::create_dir_all(modules.join("kernel/fs")).unwrap();
        fs_err::write(&image, b"image").unwrap();
        fs_err::write(modules.join("kernel/fs/a.ko"), b"a").unwrap();
        let digest = || of_kernel(&image, Some(&modules)).unwrap();
        let first = digest();
        fs_err::write(modules.join("modules.dep"), b"kernel/fs/a.ko:").unwrap();
        assert_eq!(digest(), first);
        assert_ne!(of_kernel(&image, None).unwrap(), first);
        fs_err::write(modules.join("kernel/fs/a.ko"), b"b").unwrap();
        assert_ne!(digest(), first);
        fs_err::rename(modules.join("kernel/fs/a.ko"), modules.join("kernel/fs/b.ko")).unwrap();
        fs_err::write(modules.join("kernel/fs/b.ko"), b"a").unwrap();
        assert_ne!(digest(), first);
    }
}
