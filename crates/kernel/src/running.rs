//! The kernel that this machine runs.

use std::path::{Path, PathBuf};

use patchmark_model::{KernelArtefacts, KernelId};

use crate::error::AtPath;
use crate::{KernelError, config};

/// Describes the running kernel from `/proc` and `/sys` below a root (`/` but in tests). Its
/// digest is over release, version text and the ELF notes with the build id, none of which
/// changes from boot to boot.
pub(crate) fn describe(root: &Path, spec: String) -> Result<KernelArtefacts, KernelError> {
    let proc = root.join("proc/sys/kernel");
    let release = text(&proc.join("osrelease"))?;
    let version = text(&proc.join("version"))?;
    let banner = text(&root.join("proc/version")).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"patchmark running kernel 1\0");
    for part in [release.as_bytes(), version.as_bytes()] {
        hasher.update(part);
        hasher.update(b"\0");
    }
    // Old kernels have no notes; release and version text must do then.
    hasher.update(&fs_err::read(root.join("sys/kernel/notes")).unwrap_or_default());
    let modules_folder = root.join("lib/modules").join(&release);
    let first = |candidates: Vec<PathBuf>| candidates.into_iter().find(|path| path.is_file());
    let config_file =
        first(vec![root.join(format!("boot/config-{release}")), modules_folder.join("config")]);
    let config_bytes = config_file.as_ref().and_then(|path| fs_err::read(path).ok());
    let kconfig = match (&config_bytes, config::flavour(&release)) {
        (_, Some(flavour)) if version.contains("Debian") => format!("debian-{flavour}"),
        (_, Some(flavour)) if version.contains("Ubuntu") => format!("ubuntu-{flavour}"),
        (Some(bytes), _) => config::digest_name(bytes),
        (None, _) => "unknown".to_owned(),
    };
    let compiler = config_bytes
        .and_then(|bytes| config::compiler(&String::from_utf8_lossy(&bytes)))
        .or_else(|| config::compiler_of_banner(&banner))
        .unwrap_or_else(|| "unknown".to_owned());
    Ok(KernelArtefacts {
        id: KernelId {
            spec,
            label: release.clone(),
            digest: hasher.finalize().to_hex().to_string(),
        },
        system_map: first(vec![
            root.join(format!("boot/System.map-{release}")),
            modules_folder.join("System.map"),
        ]),
        modules: modules_folder.is_dir().then_some(modules_folder),
        release,
        image: None,
        config: config_file,
        kconfig,
        compiler,
    })
}

fn text(path: &Path) -> Result<String, KernelError> {
    Ok(String::from_utf8_lossy(&fs_err::read(path).at(path)?).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_of_this_machine_is_the_same_each_time() {
        let first = describe(Path::new("/"), "running".to_owned()).unwrap();
        assert_eq!(describe(Path::new("/"), "running".to_owned()).unwrap(), first);
        assert_eq!(first.image, None);
        assert!(!first.release.is_empty() && first.id.digest.len() == 64);
    }

    #[test]
    fn what_distinguishes_builds_changes_the_digest() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.1.0-57-cloud-amd64\n");
        write("proc/sys/kernel/version", "#1 SMP Debian 6.1.192-3 (2026-01-01)\n");
        write("proc/version", "Linux version 6.1.0 (a@b) (gcc-12 (Debian 12.2.0) 12.2.0)\n");
        write("sys/kernel/notes", "build id 1");
        let kernel = describe(dir.path(), "running".to_owned()).unwrap();
        assert_eq!(
            (kernel.kconfig.as_str(), kernel.compiler.as_str()),
            ("debian-cloud-amd64", "gcc-12")
        );
        assert_eq!((kernel.modules, kernel.config), (None, None));
        write("sys/kernel/notes", "build id 2");
        let other = describe(dir.path(), "running".to_owned()).unwrap();
        assert_ne!(other.id.digest, kernel.id.digest);
    }
}
