//! Kernel images: takes the ELF kernel out of a bzImage, for guests that are emulated.
//!
//! A bzImage unpacks itself, which an emulated CPU takes seconds for (xz) where the host needs
//! a fraction, once. QEMU starts an ELF kernel through its PVH entry
//! (Documentation/arch/x86/boot.rst and the Xen ELF notes, include/xen/interface/elfnote.h).

mod lz4;
mod xz;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};

use crate::TestboxError;
use crate::error::TestboxError as Error;

/// Largest kernel that is unpacked, in bytes.
const MAX_KERNEL: usize = 1 << 30;
/// `XEN_ELFNOTE_PHYS32_ENTRY`: the note that holds the PVH entry point.
const NOTE_PHYS32_ENTRY: u32 = 18;
/// Unpacked kernels that are kept in the cache.
const KEPT: usize = 8;

/// The kernel to hand to QEMU: the ELF kernel out of `image`, kept in `cache`, or `image`
/// itself when it holds none that QEMU can start.
pub(crate) fn unpacked(image: &Path, cache: &Path) -> Result<PathBuf, TestboxError> {
    let bytes = fs_err::read(image).map_err(|error| Error::read(image, error))?;
    let digest: String = blake3::hash(&bytes).to_hex().chars().take(32).collect();
    let path = cache.join(format!("{digest}.elf"));
    if path.exists() {
        return Ok(path);
    }
    let Some(kernel) = elf_kernel(&bytes) else { return Ok(image.to_owned()) };
    fs_err::create_dir_all(cache).map_err(|error| Error::write(cache, error))?;
    let mut file = tempfile::Builder::new()
        .prefix(".unpacking-")
        .tempfile_in(cache)
        .map_err(|error| Error::write(cache, error))?;
    io::Write::write_all(&mut file, &kernel).map_err(|error| Error::write(cache, error))?;
    file.persist(&path).map_err(|error| Error::write(cache, error.error))?;
    crate::initramfs::drop_oldest(cache, "elf", KEPT);
    Ok(path)
}

/// The ELF kernel in a bzImage, if it has a PVH entry.
fn elf_kernel(image: &[u8]) -> Option<Vec<u8>> {
    let kernel = decompress(payload(image)?)?;
    has_pvh_entry(&kernel).then_some(kernel)
}

/// The compressed kernel: Documentation/arch/x86/boot.rst, `payload_offset`, since protocol
/// 2.08.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?));
    if image.get(0x202..0x206)? != b"HdrS" || word(0x206)? & 0xffff < 0x208 {
        return None;
    }
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + usize::try_from(word(0x248)?).ok()?;
    image.get(start..start.checked_add(usize::try_from(word(0x24c)?).ok()?)?)
}

/// Decompresses by the first bytes, as `lib/decompress.c` does. The payload ends in the
/// kernel's length, behind the compressed stream.
fn decompress(payload: &[u8]) -> Option<Vec<u8>> {
    match payload {
        [0x1f, 0x8b, ..] => bounded(flate2::read::GzDecoder::new(payload)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::new(payload).ok()?.single_frame();
            decoder.window_log_max(31).ok()?;
            bounded(decoder)
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => xz::decompress(payload, MAX_KERNEL),
        [0x02, 0x21, 0x4c, 0x18, ..] => lz4::decompress(payload, MAX_KERNEL),
        _ => None,
    }
}

fn bounded(input: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_KERNEL as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_KERNEL).then_some(bytes)
}

fn has_pvh_entry(kernel: &[u8]) -> bool {
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(kernel) else { return false };
    let Ok(endian) = header.endian() else { return false };
    let Ok(segments) = header.program_headers(endian, kernel) else { return false };
    segments.iter().any(|segment| {
        let Ok(Some(mut notes)) = segment.notes(endian, kernel) else { return false };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"Xen" && note.n_type(endian).0 == NOTE_PHYS32_ENTRY {
                return true;
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels of the machine that runs the tests, if any: by PATCHMARK_TEST_KERNEL or /boot.
    fn images() -> Vec<PathBuf> {
        let named = std::env::var_os("PATCHMARK_TEST_KERNEL").map(PathBuf::from);
        let boot = fs_err::read_dir("/boot").into_iter().flatten().flatten();
        let installed = boot.map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
        });
        named.into_iter().chain(installed).collect()
    }

    #[test]
    fn real_images_are_unpacked_once() {
        let images = images();
        if images.is_empty() {
            println!("skipped: PATCHMARK_TEST_KERNEL is not set and /boot has no kernel");
        }
        for image in images {
            let cache = tempfile::tempdir().unwrap();
            let kernel = unpacked(&image, cache.path()).unwrap();
            assert_ne!(kernel, image, "{} is not unpacked", image.display());
            assert!(fs_err::read(&kernel).unwrap().starts_with(b"\x7fELF"));
            assert_eq!(unpacked(&image, cache.path()).unwrap(), kernel);
        }
    }

    #[test]
    fn what_is_no_bzimage_is_used_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let mut header = vec![0; 4096];
        for bytes in [&b""[..], b"\x7fELF", &[0xff; 700]] {
            fs_err::write(&image, bytes).unwrap();
            assert_eq!(unpacked(&image, folder.path()).unwrap(), image);
        }
        header[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        header[0x248..0x250].fill(0xff);
        assert_eq!(elf_kernel(&header), None);
        header[0x248..0x250].copy_from_slice(&[0, 0, 0, 0, 8, 0, 0, 0]);
        for magic in
            [&[0x1f, 0x8b][..], &[0x28, 0xb5, 0x2f, 0xfd], b"\xfd7zXZ\0", &[2, 0x21, 0x4c, 0x18]]
        {
            let at = 5 * 512;
            header[at..at + magic.len()].copy_from_slice(magic);
            assert_eq!(elf_kernel(&header), None);
        }
    }
}
