//! A kernel out of files of one's own.

use std::path::{Path, PathBuf};

use patchmark_model::{KernelArtefacts, KernelId};

use crate::bzimage;
use crate::error::AtPath;
use crate::{KernelError, config, digest, layout};

/// What a person gave.
pub(crate) struct Given<'a> {
    pub(crate) path: &'a Path,
    pub(crate) modules: Option<&'a Path>,
    pub(crate) config: Option<&'a Path>,
    pub(crate) label: Option<&'a str>,
}

/// Describes an image file, or the image of a build tree. Configuration and System.map are taken
/// from where a build or an installation leaves them when they aren't named.
pub(crate) fn describe(given: &Given<'_>, spec: String) -> Result<KernelArtefacts, KernelError> {
    let path = absolute(given.path)?;
    let image = if path.is_dir() { image_of_tree(&path)? } else { path };
    let header = bzimage::read(&image)?;
    let release = header.release;
    let modules = match given.modules {
        Some(folder) => Some(modules_folder(folder, &release)?),
        None => installed_modules(&image, &release),
    };
    let config_file = match given.config {
        Some(file) => Some(absolute(file)?),
        None => beside(&image, &["config", ".config"], &release),
    };
    let kconfig = match &config_file {
        Some(file) => config::digest_name(&fs_err::read(file).at(file)?),
        None => "unknown".to_owned(),
    };
    Ok(KernelArtefacts {
        id: KernelId {
            spec,
            label: given.label.unwrap_or(&release).to_owned(),
            digest: digest::of_kernel(&image, modules.as_deref())?,
        },
        system_map: beside(&image, &["System.map"], &release),
        compiler: layout::compiler(config_file.as_deref())?,
        image: Some(image),
        release,
        modules,
        config: config_file,
        kconfig,
    })
}

fn absolute(path: &Path) -> Result<PathBuf, KernelError> {
    fs_err::canonicalize(path).map_err(|error| KernelError::Image {
        path: path.to_owned(),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        },
    })
}

fn image_of_tree(tree: &Path) -> Result<PathBuf, KernelError> {
    let image = tree.join("arch/x86/boot/bzImage");
    if image.is_file() {
        return Ok(image);
    }
    Err(KernelError::Image {
        path: tree.to_owned(),
        why: "is a folder without arch/x86/boot/bzImage; give the image itself, or build it with \
              `make bzImage`"
            .to_owned(),
    })
}

/// Accepts the folder of the modules itself and the root they were installed into
/// (`make modules_install INSTALL_MOD_PATH=DIR`).
fn modules_folder(given: &Path, release: &str) -> Result<PathBuf, KernelError> {
    let given = absolute(given)?;
    let candidates = [
        given.clone(),
        given.join(release),
        given.join("lib/modules").join(release),
        given.join("usr/lib/modules").join(release),
    ];
    let is_modules =
        |folder: &&PathBuf| folder.join("modules.dep").is_file() || folder.join("kernel").is_dir();
    let found = candidates.iter().find(is_modules).ok_or_else(|| KernelError::Image {
        path: given.clone(),
        why: format!(
            "holds no modules of {release}; make them with `make modules_install \
             INSTALL_MOD_PATH=DIR` and give DIR"
        ),
    })?;
    if !found.join("modules.dep").is_file() {
        return Err(KernelError::Image {
            path: found.clone(),
            why: format!("has no modules.dep; make it with `depmod -b ROOT {release}`"),
        });
    }
    Ok(found.clone())
}

/// The modules of an image that lies where a package installs it: `boot/` beside `lib/modules/`,
/// or in the modules' folder itself.
fn installed_modules(image: &Path, release: &str) -> Option<PathBuf> {
    let folder = image.parent()?;
    let root = folder.ends_with("boot").then(|| folder.parent()).flatten();
    let installed = root.map(|root| root.join("lib/modules").join(release));
    let own = folder.ends_with(Path::new("modules").join(release)).then(|| folder.to_owned());
    let mut candidates = installed.into_iter().chain(own);
    candidates.find(|path| path.join("modules.dep").is_file())
}

/// `NAME-RELEASE` in the image's folder, or `NAME` at the top of the build tree it lies in.
fn beside(image: &Path, names: &[&str], release: &str) -> Option<PathBuf> {
    let folder = image.parent()?;
    let top = folder.ends_with("arch/x86/boot").then(|| folder.ancestors().nth(3)).flatten();
    let own = folder.ends_with(Path::new("modules").join(release)).then_some(folder);
    let candidates = names.iter().flat_map(|name| {
        [
            own.map(|folder| folder.join(name)),
            Some(folder.join(format!("{name}-{release}"))),
            top.map(|top| top.join(name)),
        ]
    });
    candidates.flatten().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_kernel_is_found_whole() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let modules = root.join("lib/modules/6.1.0-9-amd64");
        fs_err::create_dir_all(root.join("boot")).unwrap();
        fs_err::create_dir_all(&modules).unwrap();
        fs_err::write(modules.join("modules.dep"), "").unwrap();
        let image = root.join("boot/vmlinuz-6.1.0-9-amd64");
        fs_err::write(&image, bzimage::fake("6.1.0-9-amd64 (d@b)")).unwrap();
        fs_err::write(root.join("boot/config-6.1.0-9-amd64"), "CONFIG_GCC_VERSION=120200").unwrap();
        let given = Given { path: &image, modules: None, config: None, label: None };
        let kernel = describe(&given, String::new()).unwrap();
        assert_eq!(kernel.modules, Some(fs_err::canonicalize(&modules).unwrap()));
        assert_eq!(kernel.compiler, "gcc-12");

        fs_err::write(modules.join("config"), "CONFIG_GCC_VERSION=140200").unwrap();
        let image = modules.join("vmlinuz");
        fs_err::write(&image, bzimage::fake("6.1.0-9-amd64 (d@b)")).unwrap();
        let kernel = describe(&Given { path: &image, ..given }, String::new()).unwrap();
        assert_eq!((kernel.modules, kernel.compiler.as_str()), (Some(modules), "gcc-14"));
    }

    #[test]
    fn a_build_tree_gives_image_config_and_symbols() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("linux");
        fs_err::create_dir_all(tree.join("arch/x86/boot")).unwrap();
        let given = |path| Given { path, modules: None, config: None, label: None };
        let no_image = describe(&given(&tree), String::new()).unwrap_err().to_string();
        assert!(no_image.contains("make bzImage"), "{no_image}");

        fs_err::write(tree.join("arch/x86/boot/bzImage"), bzimage::fake("6.9.0-rc1+ (me@here)"))
            .unwrap();
        fs_err::write(tree.join(".config"), "CONFIG_GCC_VERSION=130200\n").unwrap();
        fs_err::write(tree.join("System.map"), "").unwrap();
        let kernel = describe(&given(&tree), "image:linux".to_owned()).unwrap();
        assert_eq!(kernel.release, "6.9.0-rc1+");
        assert_eq!(kernel.compiler, "gcc-13");
        assert!(kernel.kconfig.starts_with("config-") && kernel.kconfig.len() == 19);
        assert!(kernel.system_map.is_some() && kernel.modules.is_none());

        let modules = dir.path().join("root");
        let inner = modules.join("lib/modules/6.9.0-rc1+");
        fs_err::create_dir_all(inner.join("kernel")).unwrap();
        let with_modules = Given { modules: Some(&modules), label: Some("mine"), ..given(&tree) };
        let missing = describe(&with_modules, String::new()).unwrap_err().to_string();
        assert!(missing.contains("depmod"), "{missing}");
        fs_err::write(inner.join("modules.dep"), "").unwrap();
        let kernel = describe(&with_modules, String::new()).unwrap();
        assert_eq!(kernel.id.label, "mine");
        assert!(kernel.modules.unwrap().ends_with("lib/modules/6.9.0-rc1+"));
    }
}
