//! Which kernel modules to load, in which order, and their plain bytes.
//!
//! `depmod` need not have run: distribution packages come without `modules.dep`, and then the
//! dependencies are read from the modules themselves (`depends=` and `softdep=` in `.modinfo`,
//! kernel/module/main.c and kmod's libkmod-module.c).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, elf};

use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Largest module that is unpacked, in bytes.
const MAX_MODULE: u64 = 256 << 20;
const MAX_DEPTH: usize = 64;

/// One module, ready to be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// With underscores, as `/proc/modules` names it.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

/// The modules of one kernel.
#[derive(Debug)]
pub(crate) struct ModuleTree {
    files: HashMap<String, PathBuf>,
    /// Transitive dependencies by name, when `modules.dep` is there.
    known: Option<HashMap<String, Vec<String>>>,
}

impl ModuleTree {
    /// Indexes the folder that holds `kernel/`, `modules.dep` and the like.
    pub(crate) fn open(folder: &Path) -> Result<ModuleTree, TestboxError> {
        let mut files = HashMap::new();
        for part in ["kernel", "extra", "updates"] {
            index(&folder.join(part), &mut files, 0)?;
        }
        let known = read_modules_dep(&folder.join("modules.dep"));
        Ok(ModuleTree { files, known })
    }

    /// The modules to load for `wanted`, dependencies first. Names that the kernel has built in
    /// or lacks are passed over.
    pub(crate) fn load_order(&self, wanted: &[&str]) -> Result<Vec<Module>, TestboxError> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.visit(&normalise(name), &mut seen, &mut order, 0)?;
        }
        Ok(order)
    }

    fn visit(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<Module>,
        depth: usize,
    ) -> Result<(), TestboxError> {
        let Some(file) = self.files.get(name) else { return Ok(()) };
        if depth > MAX_DEPTH {
            return Err(Error::malformed(file, "its dependencies go too deep"));
        }
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let info = ModuleInfo::read(file)?;
        let known = self.known.as_ref().and_then(|known| known.get(name));
        let before = info.soft_before.iter().chain(known.unwrap_or(&info.depends));
        for dependency in before {
            self.visit(&normalise(dependency), seen, order, depth + 1)?;
        }
        order.push(Module { name: name.to_owned(), file: file.clone() });
        for dependency in &info.soft_after {
            self.visit(&normalise(dependency), seen, order, depth + 1)?;
        }
        Ok(())
    }
}

/// `virtio-pci.ko.xz` and `virtio-pci` are `virtio_pci`.
fn normalise(name: &str) -> String {
    let stem = name.split(".ko").next().unwrap_or(name);
    stem.replace('-', "_")
}

fn index(
    folder: &Path,
    files: &mut HashMap<String, PathBuf>,
    depth: usize,
) -> Result<(), TestboxError> {
    if !folder.is_dir() || depth > MAX_DEPTH {
        return Ok(());
    }
    let entries = fs_err::read_dir(folder).map_err(|error| Error::read(folder, error))?;
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Error::read(folder, error))?;
        let kind = entry.file_type().map_err(|error| Error::read(folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            folders.push(entry.path());
        } else if [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].iter().any(|end| name.ends_with(end)) {
            files.insert(normalise(&name), entry.path());
        }
    }
    folders.into_iter().try_for_each(|folder| index(&folder, files, depth + 1))
}

/// `kernel/a.ko: kernel/c.ko kernel/b.ko` lines: the last is to be loaded first.
fn read_modules_dep(path: &Path) -> Option<HashMap<String, Vec<String>>> {
    let text = fs_err::read_to_string(path).ok()?;
    let name = |path: &str| normalise(path.rsplit('/').next().unwrap_or(path));
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let entries = lines.map(|(module, needed)| {
        (name(module), needed.split_whitespace().rev().map(name).collect())
    });
    let known: HashMap<String, Vec<String>> = entries.collect();
    (!known.is_empty()).then_some(known)
}

/// What a module says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct ModuleInfo {
    depends: Vec<String>,
    soft_before: Vec<String>,
    soft_after: Vec<String>,
}

impl ModuleInfo {
    fn read(path: &Path) -> Result<ModuleInfo, TestboxError> {
        let data = plain_bytes(path)?;
        let fields = modinfo(&data).map_err(|error| Error::malformed(path, error))?;
        let mut info = ModuleInfo::default();
        let values = |key: &str| fields.get(key).into_iter().flatten();
        for value in values("depends") {
            let names = value.split(',').filter(|name| !name.is_empty());
            info.depends.extend(names.map(str::to_owned));
        }
        for value in values("softdep") {
            let mut list = None;
            for word in value.split_whitespace() {
                match (word, &mut list) {
                    ("pre:" | "post:", _) => list = Some(word == "pre:"),
                    (name, Some(true)) => info.soft_before.push(name.to_owned()),
                    (name, Some(false)) => info.soft_after.push(name.to_owned()),
                    (_, None) => {}
                }
            }
        }
        Ok(info)
    }
}

/// The `key=value` strings of the `.modinfo` section.
fn modinfo(data: &[u8]) -> object::Result<BTreeMap<String, Vec<String>>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let file = ElfFile64::<Endianness>::parse(data)?;
    let header: &elf::FileHeader64<Endianness> = file.elf_header();
    let endian = header.endian()?;
    let Some((_, section)) = file.elf_section_table().section_by_name(endian, b".modinfo") else {
        return Ok(fields);
    };
    for string in section.data(endian, data)?.split(|byte| *byte == 0) {
        let string = String::from_utf8_lossy(string);
        if let Some((key, value)) = string.split_once('=') {
            fields.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    Ok(fields)
}

/// A module's bytes, decompressed when the file is `.ko.xz`, `.ko.zst` or `.ko.gz`: kernels
/// without in-kernel decompression take plain modules only, and `finit_module` without flags
/// takes nothing else on any.
pub(crate) fn plain_bytes(path: &Path) -> Result<Vec<u8>, TestboxError> {
    let file = fs_err::File::open(path).map_err(|error| Error::read(path, error))?;
    let mut input = std::io::BufReader::new(file);
    let malformed = |why: String| Error::malformed(path, why);
    let bytes = match path.extension().and_then(|end| end.to_str()) {
        Some("xz") => {
            let mut out = Bounded(Vec::new());
            lzma_rs::xz_decompress(&mut input, &mut out)
                .map_err(|error| malformed(format!("{error:?}")))?;
            Ok(out.0)
        }
        Some("zst") => zstd::stream::read::Decoder::new(input).and_then(read_bounded),
        Some("gz") => read_bounded(flate2::read::GzDecoder::new(input)),
        _ => read_bounded(input),
    };
    bytes.map_err(|error| malformed(error.to_string()))
}

fn read_bounded(input: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_MODULE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MODULE {
        return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > MAX_MODULE {
            return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relocatable ELF file with nothing but a `.modinfo` section.
    fn fake_module(info: &[&str]) -> Vec<u8> {
        let names = b"\0.modinfo\0.shstrtab\0";
        let modinfo: Vec<u8> =
            info.iter().flat_map(|field| [field.as_bytes(), b"\0"]).flatten().copied().collect();
        let (names_at, info_at) = (64_u64, 64 + names.len() as u64);
        let table_at = (info_at + modinfo.len() as u64).next_multiple_of(8);
        let mut file = Vec::new();
        file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        for half in [1_u16, 62] {
            file.extend(half.to_le_bytes());
        }
        file.extend(1_u32.to_le_bytes());
        for word in [0, 0, table_at] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0_u32.to_le_bytes());
        for half in [64_u16, 0, 0, 64, 3, 2] {
            file.extend(half.to_le_bytes());
        }
        file.extend(names);
        file.extend(&modinfo);
        file.resize(table_at as usize, 0);
        for (name, kind, at, size) in [
            (0_u32, 0_u32, 0, 0),
            (1, 1, info_at, modinfo.len() as u64),
            (10, 3, names_at, names.len() as u64),
        ] {
            file.extend(name.to_le_bytes());
            file.extend(kind.to_le_bytes());
            for word in [0, 0, at, size] {
                file.extend(word.to_le_bytes());
            }
            file.extend([0; 8]);
            for word in [1_u64, 0] {
                file.extend(word.to_le_bytes());
            }
        }
        file
    }

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let drivers = folder.path().join("kernel/drivers");
        fs_err::create_dir_all(&drivers).unwrap();
        let write = |name: &str, bytes: &[u8]| fs_err::write(drivers.join(name), bytes).unwrap();
        write("virtio.ko", &fake_module(&["license=GPL", "depends="]));
        let ring = fake_module(&["depends=virtio"]);
        write("virtio_ring.ko.zst", &zstd::encode_all(&ring[..], 1).unwrap());
        let mut console = Vec::new();
        let source =
            fake_module(&["depends=virtio_ring,virtio", "softdep=pre: hvc-base absent post: late"]);
        lzma_rs::xz_compress(&mut &source[..], &mut console).unwrap();
        write("virtio_console.ko.xz", &console);
        write("hvc-base.ko", &fake_module(&["depends="]));
        write("late.ko", &fake_module(&["depends="]));
        folder
    }

    fn names(order: &[Module]) -> Vec<&str> {
        order.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn dependencies_come_first_without_depmod() {
        let folder = tree();
        let tree = ModuleTree::open(folder.path()).unwrap();
        let order = tree.load_order(&["virtio-console", "built_in", "virtio"]).unwrap();
        assert_eq!(names(&order), ["hvc_base", "virtio", "virtio_ring", "virtio_console", "late"]);
        let bytes = plain_bytes(&order[2].file).unwrap();
        assert!(bytes.starts_with(b"\x7fELF"));
    }

    #[test]
    fn modules_dep_is_believed_when_it_is_there() {
        let folder = tree();
        let text = "kernel/drivers/virtio_console.ko.xz: kernel/drivers/virtio_ring.ko.zst \
                    kernel/drivers/virtio.ko\nkernel/drivers/virtio.ko:\n";
        fs_err::write(folder.path().join("modules.dep"), text).unwrap();
        let tree = ModuleTree::open(folder.path()).unwrap();
        let order = tree.load_order(&["virtio_console"]).unwrap();
        assert_eq!(names(&order), ["hvc_base", "virtio", "virtio_ring", "virtio_console", "late"]);
    }

    #[test]
    fn a_cycle_ends_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("kernel");
        fs_err::create_dir_all(&kernel).unwrap();
        fs_err::write(kernel.join("a.ko"), fake_module(&["depends=b"])).unwrap();
        fs_err::write(kernel.join("b.ko"), fake_module(&["depends=a"])).unwrap();
        fs_err::write(kernel.join("bad.ko.xz"), b"not xz").unwrap();
        let tree = ModuleTree::open(folder.path()).unwrap();
        assert_eq!(names(&tree.load_order(&["a"]).unwrap()), ["b", "a"]);
        let error = tree.load_order(&["bad"]).unwrap_err().to_string();
        assert!(error.contains("bad.ko.xz"), "{error}");
    }
}
