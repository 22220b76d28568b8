//! Packs a guest's root into an archive, once: the cache key covers every file that goes in.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use patchmark_model::{KernelArtefacts, Needs, RunSpec};

use super::cpio::CpioWriter;
use super::layout::{Entry, HostFile, Layout};
use super::modules::{self, ModuleTree};
use super::trim;
use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Raised when the way of packing changes, so that old archives are not used.
const FORMAT: &str = "patchmark initramfs 1";
/// Modules that every guest needs for its port.
const OWN_MODULES: [&str; 2] = ["virtio_pci", "virtio_console"];
/// Empty folders that the agent mounts on or that programs expect.
const FOLDERS: [&str; 9] =
    ["proc", "sys", "dev", "run", "root", "mnt", "var/tmp", "etc", "patchmark"];
/// Archives that are kept in the cache; the least recently used ones go first.
const KEPT: usize = 12;

/// A packed root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The archive.
    pub(crate) path: PathBuf,
    /// Its length in bytes; it is not compressed.
    pub(crate) length: u64,
}

/// Packs agent, programs, files and modules for `kernel`, or finds them packed in `cache`.
pub(crate) fn pack(
    kernel: &KernelArtefacts,
    needs: &Needs,
    agent: &Path,
    cache: &Path,
) -> Result<Packed, TestboxError> {
    let layout = lay_out(kernel, needs, agent)?;
    let path = cache.join(format!("{}.cpio", key(&layout)));
    if let Ok(facts) = fs_err::metadata(&path) {
        touch(&path);
        return Ok(Packed { path, length: facts.len() });
    }
    fs_err::create_dir_all(cache).map_err(|error| Error::write(cache, error))?;
    // Written under another name first: two processes may pack the same at once, and a killed
    // one must not leave half an archive.
    let mut file = tempfile::Builder::new()
        .prefix(".packing-")
        .tempfile_in(cache)
        .map_err(|error| Error::write(cache, error))?;
    write_archive(&layout, file.as_file_mut(), cache)?;
    let length = file.as_file().metadata().map_err(|error| Error::write(cache, error))?.len();
    file.persist(&path).map_err(|error| Error::write(cache, error.error))?;
    drop_oldest(cache, "cpio", KEPT);
    Ok(Packed { path, length })
}

/// Writes the archive that is handed to the guest: the packed root followed by the job.
pub(crate) fn with_job(packed: &Packed, spec: &RunSpec, out: &Path) -> Result<(), TestboxError> {
    fs_err::copy(&packed.path, out).map_err(|error| Error::write(out, error))?;
    let mut permissions =
        fs_err::metadata(out).map_err(|error| Error::read(out, error))?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs_err::set_permissions(out, permissions).map_err(|error| Error::write(out, error))?;
    let job = serde_json::to_vec(spec).map_err(|error| Error::malformed(out, error))?;
    let append = || -> io::Result<()> {
        let file = fs_err::OpenOptions::new().append(true).open(out)?;
        let mut archive = CpioWriter::new(io::BufWriter::new(file));
        archive.file("patchmark/spec.json", 0o644, &job)?;
        archive.finish()?;
        Ok(())
    };
    append().map_err(|error| Error::write(out, error))
}

fn lay_out(kernel: &KernelArtefacts, needs: &Needs, agent: &Path) -> Result<Layout, TestboxError> {
    let mut layout = Layout::new(&needs.packages);
    for folder in FOLDERS {
        layout.put(folder, Entry::Directory { mode: 0o755 });
    }
    layout.put("tmp", Entry::Directory { mode: 0o1777 });
    // The kernel opens this for init's standard streams before anything is mounted.
    layout.put("dev/console", Entry::Device { mode: 0o600, number: (5, 1) });
    layout.put("dev/null", Entry::Device { mode: 0o666, number: (1, 3) });
    put_accounts(&mut layout);
    layout.libraries_of(agent)?;
    layout.put("init", Entry::Agent(HostFile::at(agent)?));
    for program in &needs.binaries {
        layout.program(program)?;
    }
    for path in &needs.files {
        layout.host_path(Path::new(path))?;
    }
    // Programs call system(3) without telling, and a shell is small.
    if Layout::has_program("/bin/sh") {
        layout.program("/bin/sh")?;
    }
    // The loader finds the folders of /etc/ld.so.conf by this file only.
    let loader_cache = Path::new("/etc/ld.so.cache");
    if loader_cache.exists() {
        layout.host_path(loader_cache)?;
    }
    put_modules(&mut layout, kernel, needs)?;
    Ok(layout)
}

/// A few accounts of our own: the host's are nobody's business in a guest.
fn put_accounts(layout: &mut Layout) {
    let mut put = |path: &str, text: &str| {
        layout.put(path, Entry::Bytes { mode: 0o644, content: text.as_bytes().to_vec() });
    };
    put(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    );
    put("etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n");
    put("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
    put("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
}

fn put_modules(
    layout: &mut Layout,
    kernel: &KernelArtefacts,
    needs: &Needs,
) -> Result<(), TestboxError> {
    let Some(folder) = &kernel.modules else { return Ok(()) };
    let tree = ModuleTree::open(folder)?;
    let wanted: Vec<&str> =
        OWN_MODULES.into_iter().chain(needs.modules.iter().map(String::as_str)).collect();
    let mut list = String::new();
    for module in tree.load_order(&wanted)? {
        let path = format!("/patchmark/modules/{}.ko", module.name);
        layout.put(&path, Entry::Module(HostFile::at(&module.file)?));
        list.push_str(&path);
        list.push('\n');
    }
    if !list.is_empty() {
        let content = list.into_bytes();
        layout.put("patchmark/modules.list", Entry::Bytes { mode: 0o644, content });
    }
    Ok(())
}

/// A digest over names, kinds and the stamps of every file: equal keys are equal archives.
fn key(layout: &Layout) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(FORMAT.as_bytes());
    for (name, entry) in layout.entries() {
        // The debug form names every field, and quotes, so that no two layouts run together.
        hasher.update(format!("\n{name:?} {entry:?}").as_bytes());
    }
    hasher.finalize().to_hex().chars().take(32).collect()
}

fn write_archive(
    layout: &Layout,
    out: &mut std::fs::File,
    cache: &Path,
) -> Result<(), TestboxError> {
    let mut archive = CpioWriter::new(io::BufWriter::with_capacity(1 << 20, out));
    for (name, entry) in layout.entries() {
        write_entry(&mut archive, name, entry, cache)?;
    }
    archive.finish().map_err(|error| Error::write(cache, error))?;
    Ok(())
}

fn write_entry<W: Write>(
    archive: &mut CpioWriter<W>,
    name: &str,
    entry: &Entry,
    cache: &Path,
) -> Result<(), TestboxError> {
    let written = match entry {
        Entry::Directory { mode } => archive.directory(name, *mode),
        Entry::Symlink { target } => archive.symlink(name, target),
        Entry::Bytes { mode, content } => archive.file(name, *mode, content),
        Entry::Device { mode, number } => archive.character_device(name, *mode, *number),
        Entry::Module(file) => archive.file(name, 0o644, &modules::plain_bytes(&file.path)?),
        Entry::Agent(file) => {
            let bytes = fs_err::read(&file.path).map_err(|error| Error::read(&file.path, error))?;
            archive.file(name, 0o755, &trim::loaded_part(bytes))
        }
        Entry::File(file) => {
            let content =
                fs_err::File::open(&file.path).map_err(|error| Error::read(&file.path, error))?;
            archive.file_from(name, file.mode, file.length, content)
        }
    };
    written.map_err(|error| Error::write(cache, error))
}

/// Marks an archive as used; the cache drops the least recently used.
fn touch(path: &Path) {
    if let Ok(file) = std::fs::File::options().append(true).open(path) {
        drop(file.set_modified(std::time::SystemTime::now()));
    }
}

/// Keeps the most recently used files with the extension `end` in a cache folder.
pub(crate) fn drop_oldest(cache: &Path, end: &str, kept: usize) {
    let Ok(entries) = fs_err::read_dir(cache) else { return };
    let mut files: Vec<(std::time::SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_cached = entry.path().extension().is_some_and(|found| found == end);
            is_cached.then_some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let surplus = files.len().saturating_sub(kept);
    for (_, path) in files.into_iter().take(surplus) {
        drop(fs_err::remove_file(path));
    }
}

#[cfg(test)]
mod tests {
    use patchmark_model::KernelId;

    use super::*;

    fn kernel() -> KernelArtefacts {
        KernelArtefacts {
            id: KernelId { spec: "x".into(), label: "x".into(), digest: "0".into() },
            release: "6.1".into(),
            image: None,
            modules: None,
            system_map: None,
            config: None,
            kconfig: "x".into(),
            compiler: "gcc".into(),
        }
    }

    #[test]
    fn the_same_is_packed_once_and_a_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let data = folder.path().join("data");
        fs_err::write(&data, b"one").unwrap();
        let agent = Path::new("/bin/sh");
        let mut needs = Needs::default();
        needs.files.push(data.to_string_lossy().into_owned());
        let first = pack(&kernel(), &needs, agent, &cache).unwrap();
        assert_eq!(pack(&kernel(), &needs, agent, &cache).unwrap(), first);
        fs_err::write(&data, b"three").unwrap();
        let second = pack(&kernel(), &needs, agent, &cache).unwrap();
        assert_ne!(first.path, second.path);
        assert_eq!(fs_err::read_dir(&cache).unwrap().count(), 2);
    }

    #[test]
    fn the_job_follows_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root.cpio");
        let archive = CpioWriter::new(Vec::new()).finish().unwrap();
        fs_err::write(&root, &archive).unwrap();
        let packed = Packed { path: root, length: archive.len() as u64 };
        let out = folder.path().join("job.cpio");
        with_job(&packed, &crate::fixture::spec(), &out).unwrap();
        let bytes = fs_err::read(&out).unwrap();
        assert!(bytes.starts_with(&archive));
        assert!(bytes[archive.len()..].starts_with(b"070701"));
        assert!(String::from_utf8_lossy(&bytes).contains("patchmark/spec.json"));
    }

    #[test]
    fn only_so_many_archives_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..KEPT + 3 {
            fs_err::write(folder.path().join(format!("{number}.cpio")), b"").unwrap();
        }
        drop_oldest(folder.path(), "cpio", KEPT);
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), KEPT);
    }
}
