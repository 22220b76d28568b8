//! Kernels that are here: resolves specs, and keeps what was fetched.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::process::Command;

use patchmark_model::{KernelArtefacts, KernelId};
use serde::{Deserialize, Serialize};

use crate::apt::{Apt, Part};
use crate::error::AtPath;
use crate::image::{self, Given};
use crate::layout::Layout;
use crate::package::Package;
use crate::sources::AptSources;
use crate::spec::DebSelector;
use crate::{FetchEvent, KernelError, KernelSpec};
use crate::{config, digest, exec, layout, pick, running};

/// A folder of fetched kernels. Several processes may use one at once.
///
/// `deb/<package>_<version>/` holds an unpacked kernel and `kernel.json`; `apt/` is apt's private
/// folder; `tmp/` what is under way and is cleared by the next process that holds the lock.
#[derive(Clone, Debug)]
pub struct KernelCache {
    dir: PathBuf,
    sources: Option<AptSources>,
}

/// `kernel.json`: written last, so its presence says that the entry is whole.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    package: String,
    version: String,
    /// Every package that was unpacked, as `name=version`.
    parts: Vec<String>,
    vendor: String,
    digest: String,
}

/// Deepest chain of packages that depend on each other: a package that stands for a series, the
/// image, its parts.
const MAX_PARTS: usize = 16;

impl KernelCache {
    /// A cache in a folder, which is made when it is first needed.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        KernelCache { dir: dir.into(), sources: None }
    }

    /// The same cache with apt sources other than those derived from the machine's.
    pub fn with_sources(mut self, sources: AptSources) -> Self {
        self.sources = Some(sources);
        self
    }

    /// Turns a spec into files on this machine, fetching what is missing. `events` hears what
    /// happens on the way.
    ///
    /// # Errors
    /// Everything a [`KernelError`] can be; nothing half done is ever left in the cache.
    pub fn resolve(
        &self,
        spec: &KernelSpec,
        events: &mut dyn FnMut(FetchEvent),
    ) -> Result<KernelArtefacts, KernelError> {
        match spec {
            KernelSpec::Running => running::describe(Path::new("/"), spec.to_string()),
            KernelSpec::Image { path, modules, config, label } => {
                events(FetchEvent::Hashing);
                let given = Given {
                    path,
                    modules: modules.as_deref(),
                    config: config.as_deref(),
                    label: label.as_deref(),
                };
                image::describe(&given, spec.to_string())
            }
            KernelSpec::Deb(selector) => self.resolve_deb(selector, &spec.to_string(), events),
        }
    }

    fn resolve_deb(
        &self,
        selector: &DebSelector,
        spec: &str,
        events: &mut dyn FnMut(FetchEvent),
    ) -> Result<KernelArtefacts, KernelError> {
        if let DebSelector::Package { name, version: Some(version) } = selector
            && let Some(found) = self.load(name, version, spec)?
        {
            events(FetchEvent::Ready { release: found.release.clone(), cached: true });
            return Ok(found);
        }
        let _lock = self.lock(events)?;
        let tmp = self.dir.join("tmp");
        clear(&tmp)?;
        let apt = self.apt()?;
        let package = find(&apt, selector, events)?;
        let cached = self.load(&package.name, &package.version, spec)?;
        let is_cached = cached.is_some();
        let kernel = match cached {
            Some(kernel) => kernel,
            None => {
                let parts = parts_of(&apt, &package)?;
                self.fetch(&apt, &package, &parts, &tmp, events)?;
                self.load(&package.name, &package.version, spec)?
                    .ok_or_else(|| no_kernel(&package, "its entry in the cache has vanished"))?
            }
        };
        events(FetchEvent::Ready { release: kernel.release.clone(), cached: is_cached });
        Ok(kernel)
    }

    fn apt(&self) -> Result<Apt, KernelError> {
        let sources = match &self.sources {
            Some(sources) => sources.clone(),
            None => AptSources::of_machine(Path::new("/etc/apt"))?,
        };
        Apt::open(&self.dir.join("apt"), sources)
    }

    /// Holds the cache for this process until the file is closed; the kernel lets go of it when
    /// the process dies.
    fn lock(&self, events: &mut dyn FnMut(FetchEvent)) -> Result<fs_err::File, KernelError> {
        fs_err::create_dir_all(&self.dir).at(&self.dir)?;
        let path = self.dir.join("lock");
        let file = fs_err::File::create(&path).at(&path)?;
        match file.file().try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                events(FetchEvent::Waiting);
                file.file().lock().at(&path)?;
            }
            Err(TryLockError::Error(error)) => return Err(KernelError::io(&path, error)),
        }
        Ok(file)
    }

    fn entry_dir(&self, package: &str, version: &str) -> PathBuf {
        // `:` of an epoch is written as apt writes it in file names.
        self.dir.join("deb").join(format!("{package}_{}", version.replace(':', "%3a")))
    }

    /// The artefacts of a package that is in the cache, whole.
    fn load(
        &self,
        package: &str,
        version: &str,
        spec: &str,
    ) -> Result<Option<KernelArtefacts>, KernelError> {
        let dir = self.entry_dir(package, version);
        let Ok(text) = fs_err::read(dir.join("kernel.json")) else { return Ok(None) };
        let Ok(entry) = serde_json::from_slice::<Entry>(&text) else { return Ok(None) };
        // A damaged entry is fetched anew.
        let Ok(Some(found)) = layout::find(&dir.join("root")) else { return Ok(None) };
        let flavour = config::flavour(&found.release);
        let kconfig = match (flavour, &found.config) {
            (Some(flavour), _) => format!("{}-{flavour}", entry.vendor),
            (None, Some(file)) => config::digest_name(&fs_err::read(file).at(file)?),
            (None, None) => "unknown".to_owned(),
        };
        Ok(Some(KernelArtefacts {
            id: KernelId {
                spec: spec.to_owned(),
                label: found.release.clone(),
                digest: entry.digest,
            },
            compiler: layout::compiler(found.config.as_deref())?,
            release: found.release,
            image: Some(found.image),
            modules: found.modules,
            system_map: found.system_map,
            config: found.config,
            kconfig,
        }))
    }

    /// Fetches and unpacks packages beside the cache and moves the whole into it.
    fn fetch(
        &self,
        apt: &Apt,
        package: &Package,
        parts: &[Package],
        tmp: &Path,
        events: &mut dyn FnMut(FetchEvent),
    ) -> Result<(), KernelError> {
        let work = tempfile::Builder::new().prefix("deb-").tempdir_in(tmp).at(tmp)?;
        let (files, root, scratch) =
            (work.path().join("files"), work.path().join("entry/root"), work.path().join("said"));
        for folder in [&files, &root, &scratch] {
            fs_err::create_dir_all(folder).at(folder)?;
        }
        let total = parts.iter().map(|part| part.size).sum();
        for part in parts {
            let mut tell = |done| {
                events(FetchEvent::Downloading {
                    package: part.name.clone(),
                    version: part.version.clone(),
                    done,
                    total,
                });
            };
            apt.download(part, &files, &scratch, &mut tell)?;
        }
        unpack(&files, &root, events)?;
        let found = layout::find(&root)?
            .ok_or_else(|| no_kernel(package, "there is no vmlinuz in it nor in what it needs"))?;
        index_modules(&root, &found)?;
        events(FetchEvent::Hashing);
        let entry = Entry {
            package: package.name.clone(),
            version: package.version.clone(),
            parts: parts.iter().map(|part| format!("{}={}", part.name, part.version)).collect(),
            vendor: package.vendor().to_owned(),
            digest: digest::of_kernel(&found.image, found.modules.as_deref())?,
        };
        let json = work.path().join("entry/kernel.json");
        let text = serde_json::to_vec_pretty(&entry).map_err(std::io::Error::from).at(&json)?;
        fs_err::write(&json, text).at(&json)?;
        let target = self.entry_dir(&package.name, &package.version);
        let parent = self.dir.join("deb");
        fs_err::create_dir_all(&parent).at(&parent)?;
        if target.exists() {
            // An entry that could not be read: damaged by hand or by the disk.
            fs_err::remove_dir_all(&target).at(&target)?;
        }
        fs_err::rename(work.path().join("entry"), &target).at(&target)
    }
}

/// Removes what killed processes have left; the lock is held, so nobody is at work there.
fn clear(tmp: &Path) -> Result<(), KernelError> {
    fs_err::create_dir_all(tmp).at(tmp)?;
    for entry in fs_err::read_dir(tmp).at(tmp)? {
        let path = entry.at(tmp)?.path();
        fs_err::remove_dir_all(&path).at(&path)?;
    }
    Ok(())
}

/// Finds the package, fetching lists only as far as needed.
fn find(
    apt: &Apt,
    selector: &DebSelector,
    events: &mut dyn FnMut(FetchEvent),
) -> Result<Package, KernelError> {
    if apt.is_stale(Part::Near) {
        apt.update(Part::Near, events)?;
    }
    if let Some(found) = look_up(apt, selector)? {
        return Ok(found);
    }
    for part in [Part::Far, Part::Near] {
        if apt.may_have_news(part) {
            apt.update(part, events)?;
            if let Some(found) = look_up(apt, selector)? {
                return Ok(found);
            }
        }
    }
    Err(explain_unknown(apt, selector)?)
}

fn look_up(apt: &Apt, selector: &DebSelector) -> Result<Option<Package>, KernelError> {
    match selector {
        DebSelector::Package { name, version } => {
            Ok(pick::version(&apt.show(name)?, version.as_deref()).cloned())
        }
        DebSelector::Series { prefix, flavour } => {
            let names = apt.names("linux-image-")?;
            for name in pick::of_series(&names, prefix, flavour) {
                // Names also come from other packages' dependencies; such have no version.
                if let Some(found) = pick::version(&apt.show(&name)?, None) {
                    return Ok(Some(found.clone()));
                }
            }
            Ok(None)
        }
    }
}

fn explain_unknown(apt: &Apt, selector: &DebSelector) -> Result<KernelError, KernelError> {
    if let DebSelector::Package { name, version: Some(version) } = selector {
        let known = pick::versions(&apt.show(name)?);
        if !known.is_empty() {
            let (package, version) = (name.clone(), version.clone());
            return Ok(KernelError::UnknownVersion { package, version, known });
        }
    }
    let wanted = match selector {
        DebSelector::Package { name, .. } => name.clone(),
        DebSelector::Series { .. } => selector.to_string(),
    };
    let names = apt.names("linux-image-")?;
    let nearest = pick::nearest(&names, &wanted);
    Ok(KernelError::UnknownPackage { wanted, searched: apt.searched(), nearest })
}

/// The package and the other packages that its kernel is split into.
fn parts_of(apt: &Apt, package: &Package) -> Result<Vec<Package>, KernelError> {
    if package.architecture != "amd64" {
        let why = format!("it is for {}", exec::printable(&package.architecture));
        return Err(no_kernel(package, &why));
    }
    let mut parts = vec![package.clone()];
    let mut next = 0;
    while let Some(part) = parts.get(next).cloned() {
        next += 1;
        for (name, version) in part.kernel_parts() {
            if parts.iter().any(|known| known.name == *name) || parts.len() >= MAX_PARTS {
                continue;
            }
            // Beside the parts, image packages of some releases name programs by the same
            // pattern; what does not exist or is for all machines holds no kernel.
            let found = pick::version(&apt.show(name)?, version.as_deref()).cloned();
            parts.extend(found.filter(|found| found.architecture == "amd64"));
        }
    }
    Ok(parts)
}

fn unpack(
    files: &Path,
    root: &Path,
    events: &mut dyn FnMut(FetchEvent),
) -> Result<(), KernelError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs_err::read_dir(files).at(files)? {
        paths.push(entry.at(files)?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let package = name.split('_').next().unwrap_or_default().to_owned();
        events(FetchEvent::Unpacking { package });
        let ran = exec::run(Command::new("dpkg-deb").arg("-x").args([&path, root]), "dpkg")?;
        if ran.disk_was_full() {
            return Err(KernelError::DiskFull { path: root.to_owned() });
        }
        if !ran.status.success() {
            return Err(KernelError::Unpack { file: name, detail: ran.complaint() });
        }
    }
    Ok(())
}

/// Makes `modules.dep`: packages leave that to their installation.
fn index_modules(root: &Path, found: &Layout) -> Result<(), KernelError> {
    let Some(modules) = &found.modules else { return Ok(()) };
    if modules.join("modules.dep").is_file() {
        return Ok(());
    }
    let lib = root.join("lib");
    if !lib.exists() {
        // depmod looks below lib/modules only.
        std::os::unix::fs::symlink("usr/lib", &lib).at(&lib)?;
    }
    let mut depmod = Command::new("depmod");
    depmod.arg("-b").arg(root).arg(&found.release);
    if std::env::var_os("PATH").is_none_or(|path| !path.to_string_lossy().contains("sbin")) {
        // Users other than root often lack the folder that depmod lies in.
        depmod.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    }
    let ran = exec::run(&mut depmod, "kmod")?;
    if ran.disk_was_full() {
        return Err(KernelError::DiskFull { path: root.to_owned() });
    }
    if !ran.status.success() || !modules.join("modules.dep").is_file() {
        let command = format!("depmod -b {} {}", root.display(), found.release);
        return Err(KernelError::Tool { command, detail: ran.complaint() });
    }
    Ok(())
}

fn no_kernel(package: &Package, why: &str) -> KernelError {
    KernelError::NoKernel {
        package: package.name.clone(),
        version: package.version.clone(),
        why: why.to_owned(),
    }
}

/// Makes the labels of different kernels differ: two builds of one release get the beginning of
/// their digest behind it (`6.12.0~3fa94c01`). Kernels with equal digests keep equal labels.
pub fn distinct_labels(kernels: &mut [KernelArtefacts]) {
    let before: Vec<KernelId> = kernels.iter().map(|kernel| kernel.id.clone()).collect();
    for kernel in kernels {
        let id = &mut kernel.id;
        if before.iter().any(|other| other.label == id.label && other.digest != id.digest) {
            let mark = id.digest.get(..8).unwrap_or(&id.digest).to_owned();
            id.label = format!("{}~{mark}", id.label);
        }
    }
}
