//! The whole way from a spec to artefacts, with a package repository made on the spot: no network.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use patchmark_model::KernelArtefacts;

use crate::{AptSources, FetchEvent, KernelCache, KernelError, KernelSpec, bzimage};

/// A folder that apt can fetch from.
struct Repository {
    dir: tempfile::TempDir,
    index: String,
}

/// A file of a package: its path and its content.
type File<'a> = (&'a str, Vec<u8>);

impl Repository {
    /// `None` on a machine without Debian's tools.
    fn new() -> Option<Self> {
        let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        if !["apt-get", "dpkg-deb", "depmod"].into_iter().all(there) {
            println!("skipped: apt-get, dpkg-deb or depmod is not here");
            return None;
        }
        Some(Repository { dir: tempfile::tempdir().unwrap(), index: String::new() })
    }

    fn add(&mut self, name: &str, version: &str, depends: &str, files: &[File<'_>]) {
        let build = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = build.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, content).unwrap();
        }
        let mut control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: amd64\n\
             Maintainer: Debian Kernel Team <kernel@example.org>\nDescription: a kernel\n"
        );
        if !depends.is_empty() {
            writeln!(control, "Depends: {depends}").unwrap();
        }
        fs_err::create_dir(build.path().join("DEBIAN")).unwrap();
        fs_err::write(build.path().join("DEBIAN/control"), &control).unwrap();
        let file = format!("{name}_{version}_amd64.deb");
        let target = self.dir.path().join(&file);
        let made = Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Znone", "-b"])
            .args([build.path(), &target])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let sum = Command::new("sha256sum").arg(&target).output().unwrap().stdout;
        let sum = String::from_utf8(sum).unwrap();
        let size = fs_err::metadata(&target).unwrap().len();
        write!(
            self.index,
            "{control}Filename: ./{file}\nSize: {size}\nSHA256: {}\n\n",
            sum.split_whitespace().next().unwrap()
        )
        .unwrap();
        fs_err::write(self.dir.path().join("Packages"), &self.index).unwrap();
    }

    /// A kernel in one package, as most distributions make it.
    fn add_kernel(&mut self, release: &str, version: &str) {
        let banner = format!("{release} (d@b) #1 SMP Debian {version}");
        self.add(
            &format!("linux-image-{release}"),
            version,
            "kmod, linux-base (>= 4.3~), initramfs-tools | dracut",
            &[
                (&format!("boot/vmlinuz-{release}"), bzimage::fake(&banner)),
                (&format!("boot/config-{release}"), b"CONFIG_GCC_VERSION=120200\n".to_vec()),
                (&format!("boot/System.map-{release}"), b"0 A _text\n".to_vec()),
                (&format!("lib/modules/{release}/modules.order"), Vec::new()),
                (&format!("lib/modules/{release}/modules.builtin"), Vec::new()),
                (&format!("lib/modules/{release}/kernel/version"), version.into()),
            ],
        );
    }

    fn sources(&self) -> AptSources {
        sources_of(self.dir.path())
    }
}

fn sources_of(dir: &Path) -> AptSources {
    let near = format!("Types: deb\nURIs: file:{}\nSuites: ./\nTrusted: yes\n", dir.display());
    AptSources { near, far: String::new() }
}

fn cache(dir: &Path, repository: &Repository) -> KernelCache {
    KernelCache::new(dir).with_sources(repository.sources())
}

fn resolve(cache: &KernelCache, spec: &str) -> Result<KernelArtefacts, KernelError> {
    cache.resolve(&KernelSpec::parse(spec).unwrap(), &mut |_| {})
}

fn entries(dir: PathBuf) -> usize {
    fs_err::read_dir(dir).map_or(0, Iterator::count)
}

#[test]
fn a_series_a_release_and_a_version_find_their_packages() {
    let Some(mut repository) = Repository::new() else { return };
    repository.add_kernel("6.1.0-9-cloud-amd64", "6.1.9-1");
    repository.add_kernel("6.1.0-57-cloud-amd64", "6.1.192-2");
    repository.add_kernel("6.1.0-57-cloud-amd64", "6.1.192-3");
    repository.add_kernel("6.1.0-57-amd64", "6.1.192-3");
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), &repository);
    let newest = resolve(&cache, "deb:6.1").unwrap();
    assert_eq!(newest.release, "6.1.0-57-cloud-amd64");
    assert_eq!(newest.id.label, newest.release);
    assert_eq!(newest.id.spec, "deb:6.1-cloud-amd64");
    assert_eq!(
        (newest.kconfig.as_str(), newest.compiler.as_str()),
        ("debian-cloud-amd64", "gcc-12")
    );
    assert!(newest.modules.as_ref().unwrap().join("modules.dep").is_file());
    assert!(newest.image.as_ref().unwrap().ends_with("boot/vmlinuz-6.1.0-57-cloud-amd64"));
    assert!(newest.config.is_some() && newest.system_map.is_some());

    let named = resolve(&cache, "deb:linux-image-6.1.0-57-cloud-amd64").unwrap();
    assert_eq!(named.id.digest, newest.id.digest, "the same kernel, named in another way");
    let older = resolve(&cache, "deb:linux-image-6.1.0-57-cloud-amd64=6.1.192-2").unwrap();
    assert_ne!(older.id.digest, newest.id.digest);
    let full = resolve(&cache, "deb:6.1-amd64").unwrap();
    assert_eq!(full.kconfig, "debian-amd64");
    let mut labelled = [newest, older, full];
    crate::distinct_labels(&mut labelled);
    let labels: Vec<_> = labelled.iter().map(|kernel| kernel.id.label.as_str()).collect();
    assert!(labels[0].starts_with("6.1.0-57-cloud-amd64~") && labels[0] != labels[1]);
    assert_eq!(labels[2], "6.1.0-57-amd64");
    assert_eq!(entries(dir.path().join("tmp")), 0, "nothing half done is left");

    // What is here needs no repository any more.
    drop(repository);
    resolve(&cache, "deb:linux-image-6.1.0-57-cloud-amd64=6.1.192-2").unwrap();
    resolve(&cache, "deb:6.1").unwrap();
    let stamp = fs_err::OpenOptions::new().append(true).open(dir.path().join("apt/near.updated"));
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 3600);
    stamp.unwrap().file().set_modified(two_days_ago).unwrap();
    let mut notes = Vec::new();
    let spec = KernelSpec::parse("deb:6.1").unwrap();
    cache.resolve(&spec, &mut |event| notes.push(event)).unwrap();
    let is_old =
        |event: &FetchEvent| matches!(event, FetchEvent::Note(n) if n.starts_with("older"));
    assert_eq!(notes.iter().filter(|event| is_old(event)).count(), 1, "{notes:?}");
    let gone = resolve(&cache, "deb:linux-image-6.1.0-9-cloud-amd64").unwrap_err();
    assert!(matches!(gone, KernelError::Download { .. }), "{gone}");
}

#[test]
fn a_kernel_split_over_packages_is_put_together() {
    let Some(mut repository) = Repository::new() else { return };
    let (release, version) = ("7.3.4+deb13-cloud-amd64", "7.3.4-1~bpo13+1");
    let folder = format!("usr/lib/modules/{release}");
    let exact = |part: &str| format!("linux-{part}-{release} (= {version})");
    let parts = ["base", "binary", "modules"].map(exact).join(", ");
    repository.add(
        &format!("linux-image-{release}"),
        version,
        &format!("dracut | initramfs-tools, {parts}"),
        &[],
    );
    repository.add(
        &format!("linux-base-{release}"),
        version,
        "",
        &[
            (&format!("{folder}/config"), b"CONFIG_GCC_VERSION=140200\n".to_vec()),
            (&format!("{folder}/System.map"), Vec::new()),
        ],
    );
    let image = bzimage::fake(&format!("{release} (d@b)"));
    let binary = [(&*format!("{folder}/vmlinuz"), image)];
    repository.add(&format!("linux-binary-{release}"), version, &exact("base"), &binary);
    repository.add(
        &format!("linux-modules-{release}"),
        version,
        &format!("kmod, {}", exact("base")),
        &[(&format!("{folder}/modules.order"), Vec::new())],
    );
    repository.add("linux-image-cloud-amd64", version, &exact("image"), &[]);
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), &repository);
    let kernel = resolve(&cache, "deb:7.3").unwrap();
    assert_eq!((kernel.release.as_str(), kernel.compiler.as_str()), (release, "gcc-14"));
    assert!(kernel.image.unwrap().ends_with(format!("{folder}/vmlinuz")));
    assert!(kernel.modules.unwrap().join("modules.dep").is_file());
    assert!(kernel.config.is_some() && kernel.system_map.is_some());
    let through_meta = resolve(&cache, "deb:linux-image-cloud-amd64").unwrap();
    assert_eq!(through_meta.id.digest, kernel.id.digest);
}

#[test]
fn what_cannot_be_had_is_told_with_what_can() {
    let Some(mut repository) = Repository::new() else { return };
    repository.add_kernel("6.1.0-57-cloud-amd64", "6.1.192-3");
    repository.add("linux-image-6.9.0-1-cloud-amd64", "6.9.1-1", "", &[("usr/x", Vec::new())]);
    repository.add("linux-image-6.8.0-1-cloud-amd64", "6.8.1-1", "", &[("usr/x", Vec::new())]);
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), &repository);
    let message = |spec: &str| resolve(&cache, spec).unwrap_err().to_string();
    for (spec, hints) in [
        ("deb:linux-image-6.1.0-58-cloud-amd64", ["no package for", "linux-image-6.1.0-57-cloud"]),
        ("deb:6.2", ["no package for `6.2-cloud-amd64`", "near to it"]),
        ("deb:linux-image-6.1.0-57-cloud-amd64=6.1.1-1", ["no version 6.1.1-1", "6.1.192-3"]),
        ("deb:6.9", ["holds no bootable", "no vmlinuz"]),
    ] {
        let message = message(spec);
        assert!(hints.iter().all(|hint| message.contains(hint)), "{spec}: {message}");
    }
    // A file that is not what the index says is not unpacked.
    let broken = repository.dir.path().join("linux-image-6.8.0-1-cloud-amd64_6.8.1-1_amd64.deb");
    fs_err::write(&broken, b"not a package").unwrap();
    let message = message("deb:6.8");
    assert!(message.contains("could not be fetched"), "{message}");
    assert_eq!(entries(dir.path().join("deb")), 0);
}

#[test]
fn without_any_lists_the_network_is_named() {
    if Repository::new().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let nowhere = sources_of(&dir.path().join("nowhere"));
    let cache = KernelCache::new(dir.path().join("cache")).with_sources(nowhere);
    let error = resolve(&cache, "deb:6.1").unwrap_err();
    assert!(matches!(error, KernelError::NoLists { .. }), "{error}");
    assert!(error.to_string().contains("check the network"), "{error}");
}

#[test]
fn two_at_once_fetch_once_and_what_a_killed_one_left_is_cleared() {
    let Some(mut repository) = Repository::new() else { return };
    repository.add_kernel("6.1.0-57-cloud-amd64", "6.1.192-3");
    let dir = tempfile::tempdir().unwrap();
    let left = dir.path().join("tmp/deb-killed/files");
    fs_err::create_dir_all(&left).unwrap();
    fs_err::write(left.join("half.deb"), b"half").unwrap();
    // An entry without its last file is not there at all.
    let half = dir.path().join("deb/linux-image-6.1.0-57-cloud-amd64_6.1.192-3/root");
    fs_err::create_dir_all(half).unwrap();
    let cache = cache(dir.path(), &repository);
    let spec = KernelSpec::parse("deb:6.1").unwrap();
    let fetches = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut count = |event| {
                    if matches!(event, FetchEvent::Ready { cached: false, .. }) {
                        fetches.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    }
                };
                cache.resolve(&spec, &mut count).unwrap();
            });
        }
    });
    assert_eq!(fetches.into_inner(), 1);
    assert_eq!(entries(dir.path().join("tmp")), 0);
}

#[test]
fn a_full_disk_is_told() {
    let Some(mut repository) = Repository::new() else { return };
    let release = "6.1.0-57-cloud-amd64";
    let image = bzimage::fake(&format!("{release} x"));
    repository.add(
        &format!("linux-image-{release}"),
        "6.1.192-3",
        "",
        &[(&format!("boot/vmlinuz-{release}"), image), ("boot/big", vec![1; 40 << 20])],
    );
    let disk = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=60m", "patchmark-test"])
        .arg(disk.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: no filesystem may be mounted here");
        return;
    }
    let cache = cache(disk.path(), &repository);
    let error = resolve(&cache, "deb:6.1").map(|kernel| kernel.release);
    let left = entries(disk.path().join("deb"));
    let unmounted = Command::new("umount").arg(disk.path()).status().unwrap();
    assert!(unmounted.success());
    let error = error.unwrap_err();
    assert!(matches!(error, KernelError::DiskFull { .. }), "{error}");
    assert_eq!(left, 0);
}
