//! What lies where in a guest's root: files of the host under the same paths, with the same
//! symbolic links on the way, so that a merged `/usr` or an alternatives link stays what it is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::elf::LibraryFinder;
use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Folders searched for programs behind those in PATH, as a user's PATH often lacks `sbin`.
const MORE_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const MAX_ENTRIES: usize = 200_000;
const MAX_LINKS: usize = 40;
/// How deep an interpreter may have an interpreter.
const MAX_INTERPRETERS: usize = 4;

/// One thing in the guest's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A folder.
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// As written in the link.
        target: String,
    },
    /// A file of the host.
    File(HostFile),
    /// A kernel module of the host, to be packed decompressed.
    Module(HostFile),
    /// The agent, to be packed without what is not loaded.
    Agent(HostFile),
    /// A file made here.
    Bytes {
        /// Permission bits.
        mode: u32,
        /// The whole content.
        content: Vec<u8>,
    },
    /// A character device.
    Device {
        /// Permission bits.
        mode: u32,
        /// Major and minor number.
        number: (u32, u32),
    },
}

/// A regular file of the host and what tells that it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostFile {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    pub(super) length: u64,
    /// Inode and modification time, for the cache key.
    pub(super) stamp: (u64, i64, i64),
}

impl HostFile {
    pub(super) fn at(path: &Path) -> Result<HostFile, TestboxError> {
        let facts = fs_err::metadata(path).map_err(|error| Error::read(path, error))?;
        if !facts.is_file() {
            return Err(Error::malformed(path, "is not a regular file"));
        }
        Ok(HostFile {
            path: path.to_owned(),
            mode: facts.permissions().mode() & 0o7777,
            length: facts.len(),
            stamp: (facts.ino(), facts.mtime(), facts.mtime_nsec()),
        })
    }
}

/// The guest's root under way.
#[derive(Debug)]
pub(super) struct Layout {
    entries: BTreeMap<String, Entry>,
    libraries: LibraryFinder,
    packages: Vec<String>,
}

impl Layout {
    /// An empty root. `packages` are Debian packages that messages can name.
    pub(super) fn new(packages: &[String]) -> Layout {
        Layout {
            entries: BTreeMap::new(),
            libraries: LibraryFinder::of_host(),
            packages: packages.to_vec(),
        }
    }

    /// Everything, sorted by name: a folder comes before what it holds.
    pub(super) fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// Puts an entry at a path of the guest, making its folders. What is there already stays.
    pub(super) fn put(&mut self, path: &str, entry: Entry) {
        let name = path.trim_matches('/');
        let mut parent = name;
        while let Some((head, _)) = parent.rsplit_once('/') {
            self.entries.entry(head.to_owned()).or_insert(Entry::Directory { mode: 0o755 });
            parent = head;
        }
        self.entries.entry(name.to_owned()).or_insert(entry);
    }

    /// Adds a program with its interpreter and libraries. `program` is an absolute path or a
    /// name to be looked up in the host's PATH.
    pub(super) fn program(&mut self, program: &str) -> Result<(), TestboxError> {
        let path = find_program(program).ok_or_else(|| Error::MissingBinary {
            binary: program.to_owned(),
            packages: self.packages.clone(),
        })?;
        self.executable(&path, 0)
    }

    /// Whether a program is on the host.
    pub(super) fn has_program(program: &str) -> bool {
        find_program(program).is_some()
    }

    /// Adds a file or, with all it holds, a folder of the host. Executables in it bring their
    /// libraries as far as these are found.
    pub(super) fn host_path(&mut self, path: &Path) -> Result<(), TestboxError> {
        if !path.is_absolute() || !path.exists() {
            let packages = self.packages.clone();
            return Err(Error::MissingFile { path: path.to_owned(), packages });
        }
        let real = self.link_path(path)?;
        self.tree(&real)
    }

    /// Libraries and interpreter of an ELF file that is packed by other means.
    pub(super) fn libraries_of(&mut self, path: &Path) -> Result<(), TestboxError> {
        for library in self.libraries.closure(path)? {
            self.file(&library)?;
        }
        Ok(())
    }

    fn executable(&mut self, path: &Path, depth: usize) -> Result<(), TestboxError> {
        let real = self.file(path)?;
        let head = read_head(&real)?;
        if head.starts_with(b"\x7fELF") {
            return self.libraries_of(&real);
        }
        let Some(interpreter) = interpreter_of(&head).filter(|_| depth < MAX_INTERPRETERS) else {
            return Ok(());
        };
        for program in interpreter {
            let path = find_program(&program).ok_or_else(|| Error::MissingBinary {
                binary: program.clone(),
                packages: self.packages.clone(),
            })?;
            self.executable(&path, depth + 1)?;
        }
        Ok(())
    }

    /// Adds one regular file; gives its real path on the host.
    fn file(&mut self, path: &Path) -> Result<PathBuf, TestboxError> {
        let real = self.link_path(path)?;
        let file = HostFile::at(&real)?;
        self.put(&real.to_string_lossy(), Entry::File(file));
        Ok(real)
    }

    fn tree(&mut self, path: &Path) -> Result<(), TestboxError> {
        if self.entries.len() > MAX_ENTRIES {
            return Err(Error::malformed(path, "holds too many files to be packed"));
        }
        let facts = fs_err::symlink_metadata(path).map_err(|error| Error::read(path, error))?;
        let kind = facts.file_type();
        if kind.is_dir() {
            let mode = facts.permissions().mode() & 0o7777;
            self.put(&path.to_string_lossy(), Entry::Directory { mode });
            let entries = fs_err::read_dir(path).map_err(|error| Error::read(path, error))?;
            for entry in entries {
                self.tree(&entry.map_err(|error| Error::read(path, error))?.path())?;
            }
        } else if kind.is_symlink() {
            // A dangling link, or one to a folder above, is packed as the link it is.
            let real = self.link_path(path)?;
            if real.is_file() {
                self.file(&real)?;
            }
        } else if kind.is_file() {
            self.file(path)?;
            if facts.permissions().mode() & 0o111 != 0 {
                // Folders of benchmarks hold programs for other machines, too: what lacks
                // its libraries here is packed without.
                drop(self.executable(path, 0));
            }
        }
        Ok(())
    }

    /// Walks a path of the host and adds each symbolic link on the way; gives the real path.
    fn link_path(&mut self, path: &Path) -> Result<PathBuf, TestboxError> {
        let parts = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
        };
        let mut real = PathBuf::from("/");
        let mut rest = parts(path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == "/" {
                real = PathBuf::from("/");
            } else if part == ".." {
                real.pop();
            } else if part != "." {
                let next = real.join(part);
                let Ok(target) = std::fs::read_link(&next) else {
                    real = next;
                    continue;
                };
                links += 1;
                if links > MAX_LINKS {
                    return Err(Error::malformed(path, "has too many symbolic links"));
                }
                rest.extend(parts(&target));
                let target = target.to_string_lossy().into_owned();
                self.put(&next.to_string_lossy(), Entry::Symlink { target });
            }
        }
        Ok(real)
    }
}

/// Where a program lies on the host: an absolute path as it is, a name by PATH.
fn find_program(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute()).filter(is_program);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .filter(|folder| folder.starts_with('/'))
        .chain(MORE_FOLDERS)
        .map(|folder| Path::new(folder).join(program))
        .find(is_program)
}

fn read_head(path: &Path) -> Result<Vec<u8>, TestboxError> {
    let file = fs_err::File::open(path).map_err(|error| Error::read(path, error))?;
    let mut head = Vec::new();
    file.take(256).read_to_end(&mut head).map_err(|error| Error::read(path, error))?;
    Ok(head)
}

/// The programs of a `#!` line: the interpreter and, when that is `env`, what env looks up.
fn interpreter_of(head: &[u8]) -> Option<Vec<String>> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let mut programs = vec![words.next()?.to_owned()];
    if programs.iter().any(|program| program.ends_with("/env")) {
        let is_program = |word: &&str| !word.starts_with('-') && !word.contains('=');
        programs.extend(words.find(is_program).map(str::to_owned));
    }
    Some(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_comes_with_its_links_libraries_and_folders() {
        let mut layout = Layout::new(&[]);
        layout.program("sh").unwrap();
        let names: Vec<&str> = layout.entries().keys().map(String::as_str).collect();
        assert!(names.iter().any(|name| name.contains("ld-linux-x86-64.so.2")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("libc.so.6")), "{names:?}");
        for name in &names {
            if let Some((parent, _)) = name.rsplit_once('/') {
                let at = names.iter().position(|other| *other == parent).unwrap();
                let own = names.iter().position(|other| other == name).unwrap();
                assert!(at < own, "{parent} is not before {name}");
            }
        }
    }

    #[test]
    fn a_script_brings_its_interpreters() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("job");
        fs_err::write(&script, "#!/usr/bin/env sh\necho\n").unwrap();
        fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut layout = Layout::new(&[]);
        layout.program(script.to_str().unwrap()).unwrap();
        let names: Vec<&String> = layout.entries().keys().collect();
        assert!(names.iter().any(|name| name.ends_with("bin/env")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("libc.so.6")), "{names:?}");
    }

    #[test]
    fn folders_come_whole_and_links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs_err::create_dir_all(root.join("data/deep")).unwrap();
        fs_err::write(root.join("data/deep/file"), b"x").unwrap();
        std::os::unix::fs::symlink("deep/file", root.join("data/near")).unwrap();
        std::os::unix::fs::symlink("gone", root.join("data/dangling")).unwrap();
        std::os::unix::fs::symlink(root, root.join("data/up")).unwrap();
        let mut layout = Layout::new(&[]);
        layout.host_path(&root.join("data")).unwrap();
        let base = root.to_string_lossy().trim_start_matches('/').to_owned();
        let entry = |name: &str| layout.entries().get(&format!("{base}/data/{name}")).unwrap();
        assert!(matches!(entry("deep/file"), Entry::File(_)));
        assert_eq!(entry("near"), &Entry::Symlink { target: "deep/file".to_owned() });
        assert_eq!(entry("dangling"), &Entry::Symlink { target: "gone".to_owned() });
        assert!(matches!(entry("up"), Entry::Symlink { .. }));
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let mut layout = Layout::new(&["some-package".to_owned()]);
        let error = layout.program("no-such-program").unwrap_err().to_string();
        assert!(error.contains("`no-such-program`") && error.contains("some-package"), "{error}");
        let error = layout.host_path(Path::new("/no/such/file")).unwrap_err().to_string();
        assert!(error.contains("/no/such/file") && error.contains("some-package"), "{error}");
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("a");
        std::os::unix::fs::symlink("a", &link).unwrap();
        assert!(Layout::new(&[]).link_path(&link).is_err());
    }
}
