//! Where a package's files lie, in all the ways distributions lay them.

use std::path::{Path, PathBuf};

use crate::bzimage;
use crate::error::AtPath;
use crate::{KernelError, config};

/// A kernel's files below an unpacked root or in a build tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) release: String,
    pub(crate) banner: String,
    pub(crate) image: PathBuf,
    pub(crate) modules: Option<PathBuf>,
    pub(crate) system_map: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
}

/// Finds the kernel in the root that packages were unpacked into: the image at
/// `boot/vmlinuz-RELEASE` or `{usr/,}lib/modules/RELEASE/vmlinuz`. `None` when there is no image.
pub(crate) fn find(root: &Path) -> Result<Option<Layout>, KernelError> {
    let mut images = Vec::new();
    for (name, path) in entries(&root.join("boot"))? {
        if name.starts_with("vmlinuz-") {
            images.push(path);
        }
    }
    for folder in ["usr/lib/modules", "lib/modules"] {
        let inner = entries(&root.join(folder))?.into_iter().map(|(_, path)| path.join("vmlinuz"));
        images.extend(inner.filter(|path| path.is_file()));
    }
    let Some(image) = images.into_iter().next() else { return Ok(None) };
    let header = bzimage::read(&image)?;
    let release = header.release;
    let modules = ["lib/modules", "usr/lib/modules"]
        .map(|folder| root.join(folder).join(&release))
        .into_iter()
        .find(|path| path.is_dir());
    let beside = |name: &str| {
        let in_modules = modules.as_ref().map(|folder| folder.join(name));
        let candidates = [Some(root.join(format!("boot/{name}-{release}"))), in_modules];
        candidates.into_iter().flatten().find(|path| path.is_file())
    };
    Ok(Some(Layout {
        system_map: beside("System.map"),
        config: beside("config"),
        banner: header.banner,
        release,
        image,
        modules,
    }))
}

/// The compiler axis: from the configuration, else unknown.
pub(crate) fn compiler(config_file: Option<&Path>) -> Result<String, KernelError> {
    let Some(path) = config_file else { return Ok("unknown".to_owned()) };
    let text = fs_err::read(path).at(path)?;
    let found = config::compiler(&String::from_utf8_lossy(&text));
    Ok(found.unwrap_or_else(|| "unknown".to_owned()))
}

/// The entries of a folder by name, sorted; none when it does not exist. Names that are not
/// Unicode are passed over: no kernel has one.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, KernelError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).at(folder)? {
        let entry = entry.at(folder)?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
