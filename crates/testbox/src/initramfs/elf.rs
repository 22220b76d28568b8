//! What an executable needs to start: its interpreter and shared libraries, found as glibc's
//! dynamic loader finds them (ld.so(8)), but without running it.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn as _, ElfFile, FileHeader, ProgramHeader as _};

use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Where the loader looks when no file says otherwise; Debian's multiarch folders come first.
const DEFAULT_FOLDERS: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// No real program needs more; a cycle cannot occur, but a hostile tree could be deep.
const MAX_LIBRARIES: usize = 4096;

/// The loader's view of one ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElfNeeds {
    pub(crate) is_64: bool,
    pub(crate) interpreter: Option<PathBuf>,
    pub(crate) libraries: Vec<String>,
    rpath: Vec<String>,
    runpath: Vec<String>,
}

impl ElfNeeds {
    /// Reads the needs of an ELF file; `None` when `data` is not ELF.
    pub(crate) fn read(path: &Path, data: &[u8]) -> Result<Option<ElfNeeds>, TestboxError> {
        if !data.starts_with(&elf::ELFMAG) {
            return Ok(None);
        }
        let needs = if data.get(4) == Some(&elf::ELFCLASS64.0) {
            read_needs::<FileHeader64<Endianness>>(data)
        } else {
            read_needs::<FileHeader32<Endianness>>(data)
        };
        needs.map(Some).map_err(|error| Error::malformed(path, error))
    }
}

fn read_needs<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> object::Result<ElfNeeds> {
    let file = ElfFile::<Elf>::parse(data)?;
    let endian = file.endian();
    let mut needs = ElfNeeds { is_64: file.elf_header().is_type_64(), ..ElfNeeds::default() };
    for header in file.elf_program_headers() {
        if let Some(interpreter) = header.interpreter(endian, data)? {
            needs.interpreter = Some(PathBuf::from(text(interpreter)));
        }
    }
    let table = file.elf_dynamic_table()?;
    for entry in table.dynamics() {
        let tag = entry.d_tag(endian);
        if tag == elf::DT_NULL {
            break;
        }
        let list = match tag {
            elf::DT_NEEDED => &mut needs.libraries,
            elf::DT_RPATH => &mut needs.rpath,
            elf::DT_RUNPATH => &mut needs.runpath,
            _ => continue,
        };
        let offset = u32::try_from(entry.d_val(endian).into()).unwrap_or(u32::MAX);
        let value = text(table.strings().get(offset).unwrap_or_default());
        if tag == elf::DT_NEEDED {
            list.push(value);
        } else {
            list.extend(value.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned));
        }
    }
    Ok(needs)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Finds libraries on the host.
#[derive(Debug)]
pub(crate) struct LibraryFinder {
    configured: Vec<PathBuf>,
}

impl LibraryFinder {
    /// A finder that knows the host's `/etc/ld.so.conf` and the default folders.
    pub(crate) fn of_host() -> LibraryFinder {
        let mut configured = Vec::new();
        read_ld_so_conf(Path::new("/etc/ld.so.conf"), &mut configured, 0);
        configured.extend(DEFAULT_FOLDERS.map(PathBuf::from));
        LibraryFinder { configured }
    }

    /// Every file that must lie beside `program` for it to start: its interpreter and all
    /// shared libraries, by the path the loader will open, in the order found.
    pub(crate) fn closure(&self, program: &Path) -> Result<Vec<PathBuf>, TestboxError> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut by_name: HashMap<String, PathBuf> = HashMap::new();
        let mut queue = VecDeque::from([(program.to_owned(), Vec::new())]);
        let mut is_64 = None;
        while let Some((path, inherited)) = queue.pop_front() {
            let data = fs_err::read(&path).map_err(|error| Error::read(&path, error))?;
            let Some(needs) = ElfNeeds::read(&path, &data)? else { continue };
            let is_64 = *is_64.get_or_insert(needs.is_64);
            if let Some(interpreter) = &needs.interpreter
                && !found.contains(interpreter)
            {
                found.push(interpreter.clone());
            }
            let own = |folders: &[String]| -> Vec<PathBuf> {
                folders.iter().map(|folder| expand(folder, &path)).collect()
            };
            // DT_RPATH counts for the whole tree below, DT_RUNPATH for this file only and
            // makes its DT_RPATH void.
            let runpath = own(&needs.runpath);
            let mut rpath = if runpath.is_empty() { own(&needs.rpath) } else { Vec::new() };
            rpath.extend(inherited);
            for library in &needs.libraries {
                if by_name.contains_key(library) {
                    continue;
                }
                let folders: Vec<&PathBuf> =
                    rpath.iter().chain(&runpath).chain(&self.configured).collect();
                let at = find_library(library, &folders, is_64).ok_or_else(|| {
                    let searched: Vec<_> =
                        folders.iter().map(|folder| folder.to_string_lossy()).collect();
                    Error::MissingLibrary {
                        library: library.clone(),
                        needed_by: path.clone(),
                        searched: searched.join(":"),
                    }
                })?;
                by_name.insert(library.clone(), at.clone());
                if !found.contains(&at) {
                    found.push(at.clone());
                }
                queue.push_back((at, rpath.clone()));
                if by_name.len() > MAX_LIBRARIES {
                    return Err(Error::malformed(program, "needs too many libraries"));
                }
            }
        }
        // glibc opens this by name when a thread is cancelled or exits by itself, and aborts
        // the program when it is missing; no DT_NEEDED says so.
        if by_name.contains_key("libc.so.6")
            && !by_name.contains_key("libgcc_s.so.1")
            && let Some(at) = find_library(
                "libgcc_s.so.1",
                &self.configured.iter().collect::<Vec<_>>(),
                is_64.unwrap_or(true),
            )
        {
            found.push(at);
        }
        Ok(found)
    }
}

/// The folder with `$ORIGIN` replaced by where the file really lies.
fn expand(folder: &str, file: &Path) -> PathBuf {
    if !folder.contains('$') {
        return PathBuf::from(folder);
    }
    let file = fs_err::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let origin = file.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let folder = folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
    let folder = folder.replace("${LIB}", "lib/x86_64-linux-gnu");
    PathBuf::from(folder.replace("$LIB", "lib/x86_64-linux-gnu"))
}

fn find_library(name: &str, folders: &[&PathBuf], is_64: bool) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).is_file().then(|| PathBuf::from(name));
    }
    folders.iter().map(|folder| folder.join(name)).find(|candidate| has_class(candidate, is_64))
}

/// Whether the file is an ELF file of the wanted class: the loader passes over 32-bit
/// libraries when it starts a 64-bit program, and the other way round.
fn has_class(path: &Path, is_64: bool) -> bool {
    use std::io::Read as _;
    let mut head = [0; 5];
    let read = fs_err::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let class = if is_64 { elf::ELFCLASS64 } else { elf::ELFCLASS32 };
    read.is_ok() && head[..4] == elf::ELFMAG && head[4] == class.0
}

/// Adds the folders of an `ld.so.conf`, following `include` patterns like `conf.d/*.conf`.
fn read_ld_so_conf(path: &Path, folders: &mut Vec<PathBuf>, depth: u32) {
    let Ok(text) = fs_err::read_to_string(path) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line.strip_prefix("include ").filter(|_| depth < 4) {
            for included in matching_files(Path::new(pattern.trim())) {
                read_ld_so_conf(&included, folders, depth + 1);
            }
        } else if line.starts_with('/') && !folders.contains(&PathBuf::from(line)) {
            folders.push(PathBuf::from(line));
        }
    }
}

/// Files for a pattern with at most one `*`, in its last component; sorted.
fn matching_files(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((head, tail)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let folder = pattern.parent().unwrap_or(Path::new("/"));
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        })
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;

    /// What `ldd` says, by real path; it is run here on trusted programs only.
    fn ldd(program: &Path) -> Option<BTreeSet<PathBuf>> {
        let output = Command::new("ldd").arg(program).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let paths = text.split_whitespace().filter(|word| word.starts_with('/'));
        Some(paths.map(|path| fs_err::canonicalize(path).unwrap()).collect())
    }

    #[test]
    fn the_closure_is_what_ldd_says() {
        let programs = ["/bin/ls", "/usr/bin/stress-ng", "/usr/bin/perf", "/bin/sh"];
        let finder = LibraryFinder::of_host();
        for program in programs.map(Path::new).into_iter().filter(|path| path.exists()) {
            let Some(expected) = ldd(program) else { continue };
            let found: BTreeSet<PathBuf> = finder
                .closure(program)
                .unwrap()
                .into_iter()
                .map(|path| fs_err::canonicalize(path).unwrap())
                .collect();
            let missing: Vec<_> = expected.difference(&found).collect();
            let surplus: Vec<_> = found
                .difference(&expected)
                .filter(|path| !path.to_string_lossy().contains("libgcc_s"))
                .collect();
            assert!(
                missing.is_empty() && surplus.is_empty(),
                "{program:?} {missing:?} {surplus:?}"
            );
        }
    }

    #[test]
    fn a_static_program_needs_nothing() {
        let closure = LibraryFinder::of_host().closure(&std::env::current_exe().unwrap()).unwrap();
        if cfg!(target_feature = "crt-static") {
            assert_eq!(closure, Vec::<PathBuf>::new());
        }
    }

    #[test]
    fn what_is_not_elf_or_is_cut_short_is_no_panic() {
        let path = Path::new("/x");
        assert_eq!(ElfNeeds::read(path, b"#!/bin/sh\n").unwrap(), None);
        let whole = fs_err::read("/bin/ls").unwrap();
        for length in [4, 5, 16, 63, 64, 100, 500, 4096] {
            drop(ElfNeeds::read(path, &whole[..length]));
        }
    }

    #[test]
    fn origin_is_where_the_file_lies() {
        let path = expand("$ORIGIN/../lib", Path::new("/nowhere/bin/tool"));
        assert_eq!(path, Path::new("/nowhere/bin/../lib"));
        let path = expand("${ORIGIN}/lib", Path::new("/nowhere/bin/tool"));
        assert_eq!(path, Path::new("/nowhere/bin/lib"));
    }

    #[test]
    fn a_library_that_is_nowhere_is_named() {
        let finder = LibraryFinder { configured: vec![PathBuf::from("/nowhere")] };
        let error = finder.closure(Path::new("/bin/ls")).unwrap_err().to_string();
        assert!(error.starts_with("/bin/ls needs the library lib"), "{error}");
        assert!(error.ends_with("none of /nowhere has"), "{error}");
    }
}
