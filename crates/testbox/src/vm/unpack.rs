//! Unpacks what a guest sent, trusting none of it: plain files and folders below one folder,
//! in bounded number and size.

use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::console::LOG_NAME;
use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Bounds of a run directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of all files together, decompressed.
    pub(super) total: u64,
    /// Bytes of one file.
    pub(super) file: u64,
    /// Number of files and folders.
    pub(super) entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { total: 4 << 30, file: 2 << 30, entries: 20_000 }
    }
}

const MAX_DEPTH: usize = 8;
const MAX_NAME: usize = 200;
/// zstd would allocate a window of this many bits' bytes at a guest's word: 128 MiB.
const MAX_WINDOW_LOG: u32 = 27;

/// Why unpacking stopped.
#[derive(Debug)]
pub(super) enum UnpackError {
    /// The archive's fault, and so the guest's.
    Archive(String),
    /// The host's fault.
    Host(TestboxError),
}

impl From<TestboxError> for UnpackError {
    fn from(error: TestboxError) -> Self {
        UnpackError::Host(error)
    }
}

/// Unpacks a zstd-compressed tar into `dir`. On an error, what came before it stays.
pub(super) fn unpack(archive: &Path, dir: &Path, bounds: Bounds) -> Result<(), UnpackError> {
    let file = fs_err::File::open(archive).map_err(|error| Error::read(archive, error))?;
    let mut plain = zstd::stream::read::Decoder::new(file).map_err(damaged)?;
    plain.window_log_max(MAX_WINDOW_LOG).map_err(damaged)?;
    // Headers and padding come on top of what the files hold.
    let limit = bounds.total + (bounds.entries as u64 + 2) * 1024;
    let mut tar = tar::Archive::new(plain.take(limit));
    let mut total = 0_u64;
    for (count, entry) in tar.entries().map_err(damaged)?.enumerate() {
        if count >= bounds.entries {
            return refuse(format!("more than {} entries", bounds.entries));
        }
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let shown = name.escape_debug().to_string();
        let path = relative(&name)
            .ok_or_else(|| UnpackError::Archive(format!("refused the name `{shown}`")))?;
        if path.as_os_str().is_empty() || is_ours(&path) {
            continue;
        }
        let kind = entry.header().entry_type();
        let to = dir.join(&path);
        if kind.is_dir() {
            make_folder(&to)?;
        } else if kind.is_file() {
            total = total.saturating_add(entry.size());
            if entry.size() > bounds.file || total > bounds.total {
                return refuse(format!("`{shown}` is too large"));
            }
            if let Some(parent) = to.parent() {
                make_folder(parent)?;
            }
            write_file(&mut entry, &to)?;
        } else {
            return refuse(format!("refused `{shown}`, which is neither file nor folder"));
        }
    }
    Ok(())
}

fn refuse(why: String) -> Result<(), UnpackError> {
    Err(UnpackError::Archive(why))
}

fn damaged(error: io::Error) -> UnpackError {
    UnpackError::Archive(format!("damaged archive: {error}"))
}

/// The path of a plain relative name without any `..`; `None` for every other.
fn relative(name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    let mut depth = 0;
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => {
                let part = part.to_str()?;
                let is_plain = !part.chars().any(|c| c.is_control() || c == '\u{fffd}');
                depth += 1;
                if !is_plain || part.len() > MAX_NAME || depth > MAX_DEPTH {
                    return None;
                }
                path.push(part);
            }
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Files that the host writes; a guest's are passed over.
fn is_ours(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let first = name.split('/').next().unwrap_or_default();
    first.starts_with('.') || first == LOG_NAME || first.starts_with("console.log.")
}

fn make_folder(path: &Path) -> Result<(), UnpackError> {
    fs_err::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            UnpackError::Archive("a folder has the name of a file".to_owned())
        }
        _ => UnpackError::Host(Error::write(path, error)),
    })
}

/// Writes one new file; a name that is there already is refused, so nothing is followed or
/// replaced.
fn write_file(content: &mut impl Read, to: &Path) -> Result<(), UnpackError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o644);
    let mut file = options.open(to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => UnpackError::Archive("a name comes twice".to_owned()),
        _ => UnpackError::Host(Error::write(to, error)),
    })?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        // Two kinds of errors meet here: reading is the guest's fault, writing the host's.
        let count = content.read(&mut buffer).map_err(damaged)?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        file.write_all(bytes).map_err(|error| Error::write(to, error))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Build = fn(&mut tar::Builder<Vec<u8>>);

    fn header(kind: tar::EntryType, size: u64) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header
    }

    /// Sets a name that the tar crate itself would refuse to write.
    fn add(builder: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, content: &[u8]) {
        let mut header = header(kind, content.len() as u64);
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }

    fn try_unpack(build: Build, bounds: Bounds) -> (tempfile::TempDir, Result<(), UnpackError>) {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        build(&mut builder);
        let tar = builder.into_inner().unwrap();
        let archive = folder.path().join(".archive");
        fs_err::write(&archive, zstd::encode_all(&tar[..], 1).unwrap()).unwrap();
        let dir = folder.path().join("run");
        fs_err::create_dir(&dir).unwrap();
        let result = unpack(&archive, &dir, bounds);
        (folder, result)
    }

    #[test]
    fn files_and_folders_come_out() {
        let (folder, result) = try_unpack(
            |tar| {
                add(tar, "./", tar::EntryType::Directory, b"");
                add(tar, "./run.json", tar::EntryType::Regular, b"{}");
                add(tar, "sub/deep/file.zst", tar::EntryType::Regular, b"abc");
                add(tar, "console.log", tar::EntryType::Regular, b"not ours");
            },
            Bounds::default(),
        );
        result.unwrap();
        let read = |name: &str| fs_err::read(folder.path().join("run").join(name));
        assert_eq!(read("run.json").unwrap(), b"{}");
        assert_eq!(read("sub/deep/file.zst").unwrap(), b"abc");
        assert!(read("console.log").is_err());
    }

    #[test]
    fn what_could_lead_outside_is_refused() {
        let cases: [Build; 6] = [
            |tar| add(tar, "../evil", tar::EntryType::Regular, b"x"),
            |tar| add(tar, "a/../../evil", tar::EntryType::Regular, b"x"),
            |tar| add(tar, "/tmp/evil", tar::EntryType::Regular, b"x"),
            |tar| add(tar, "link", tar::EntryType::Symlink, b""),
            |tar| add(tar, "link", tar::EntryType::Link, b""),
            |tar| add(tar, "fifo", tar::EntryType::Fifo, b""),
        ];
        for build in cases {
            let (folder, result) = try_unpack(build, Bounds::default());
            assert!(matches!(result, Err(UnpackError::Archive(_))), "{result:?}");
            assert!(!folder.path().join("evil").exists());
            assert_eq!(fs_err::read_dir(folder.path().join("run")).unwrap().count(), 0);
        }
    }

    #[test]
    fn size_and_number_are_bounded() {
        let bounds = Bounds { total: 100, file: 60, entries: 3 };
        let cases: [(Build, &str); 3] = [
            (|tar| add(tar, "a", tar::EntryType::Regular, &[0; 61]), "too large"),
            (
                |tar| {
                    add(tar, "a", tar::EntryType::Regular, &[0; 60]);
                    add(tar, "b", tar::EntryType::Regular, &[0; 60]);
                },
                "too large",
            ),
            (
                |tar| {
                    for name in ["a", "b", "c", "d"] {
                        add(tar, name, tar::EntryType::Regular, b"");
                    }
                },
                "more than 3",
            ),
        ];
        for (build, word) in cases {
            let (_folder, result) = try_unpack(build, bounds);
            assert!(
                matches!(&result, Err(UnpackError::Archive(why)) if why.contains(word)),
                "{result:?}"
            );
        }
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        let (_folder, result) = try_unpack(
            |tar| {
                add(tar, "a", tar::EntryType::Regular, b"1");
                add(tar, "a", tar::EntryType::Regular, b"2");
            },
            Bounds::default(),
        );
        assert!(matches!(result, Err(UnpackError::Archive(_))));
    }

    #[test]
    fn garbage_and_bombs_end_soon() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a");
        fs_err::write(&archive, b"not zstd").unwrap();
        let garbage = unpack(&archive, folder.path(), Bounds::default());
        assert!(matches!(garbage, Err(UnpackError::Archive(_))));
        let zeros = zstd::encode_all(io::repeat(b'a').take(1 << 26), 1).unwrap();
        fs_err::write(&archive, zeros).unwrap();
        let bomb = unpack(&archive, folder.path(), Bounds { total: 1 << 20, ..Bounds::default() });
        assert!(matches!(bomb, Err(UnpackError::Archive(_))));
    }
}
