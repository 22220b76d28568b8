//! The header of a bzImage (Documentation/arch/x86/boot.rst): is it one, and of what release.

use std::io::Read;
use std::path::Path;

use crate::KernelError;
use crate::error::AtPath;
use crate::exec::printable;

/// The header and the version text lie in the first 64 KiB: setup_sects is one byte.
const HEAD_BYTES: u64 = 64 * 1024;

/// What a bzImage's header tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// `uname -r`: the first word of the version text.
    pub(crate) release: String,
    /// The whole version text.
    pub(crate) banner: String,
}

/// Reads the header of an image file; anything but a 64-bit x86 bzImage is refused with the
/// reason.
pub(crate) fn read(path: &Path) -> Result<Header, KernelError> {
    let mut head = Vec::new();
    fs_err::File::open(path).at(path)?.take(HEAD_BYTES).read_to_end(&mut head).at(path)?;
    parse(&head).map_err(|why| KernelError::Image { path: path.to_owned(), why })
}

fn parse(head: &[u8]) -> Result<Header, String> {
    if head.starts_with(b"\x7fELF") {
        return Err("is an ELF file (vmlinux?); give the bzImage, arch/x86/boot/bzImage of a \
                    build tree"
            .to_owned());
    }
    if head.get(56..60) == Some(b"ARM\x64") {
        return Err("is an arm64 image; only x86-64 kernels can be booted".to_owned());
    }
    if head.get(0x1fe..0x200) != Some(&[0x55, 0xaa]) || head.get(0x202..0x206) != Some(b"HdrS") {
        return Err("is no bzImage: the boot header is missing".to_owned());
    }
    let u16_at = |at: usize| -> Option<u16> {
        Some(u16::from_le_bytes([*head.get(at)?, *head.get(at + 1)?]))
    };
    let protocol = u16_at(0x206).unwrap_or(0);
    if protocol < 0x20c || u16_at(0x236).is_none_or(|flags| flags & 1 == 0) {
        return Err("is a 32-bit kernel; only x86-64 kernels can be booted".to_owned());
    }
    let banner = u16_at(0x20e)
        .filter(|pointer| *pointer > 0)
        .and_then(|pointer| head.get(usize::from(pointer) + 0x200..))
        .map(|text| text.split(|byte| *byte == 0).next().unwrap_or_default())
        .map(|text| printable(&String::from_utf8_lossy(text)))
        .unwrap_or_default();
    let release = banner.split_whitespace().next().unwrap_or_default().to_owned();
    if !is_release(&release) {
        return Err("its header names no kernel release; the file is damaged".to_owned());
    }
    Ok(Header { release, banner })
}

/// Whether a text can be a kernel release and a folder's name: it comes out of a file that
/// someone else has made.
pub(crate) fn is_release(text: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "+-._~".contains(c);
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(safe)
}

#[cfg(test)]
pub(crate) fn fake(banner: &str) -> Vec<u8> {
    let mut image = vec![0_u8; 0x1000];
    image[0x1fe] = 0x55;
    image[0x1ff] = 0xaa;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
    image[0x20e..0x210].copy_from_slice(&0x400_u16.to_le_bytes());
    image[0x236] = 1;
    image[0x600..0x600 + banner.len()].copy_from_slice(banner.as_bytes());
    image
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_release_and_refuses_what_cannot_boot() {
        let header = parse(&fake("6.1.0-57-cloud-amd64 (d@b) #1 SMP Debian 6.1.192-3")).unwrap();
        assert_eq!(header.release, "6.1.0-57-cloud-amd64");
        assert!(header.banner.ends_with("6.1.192-3"));
        let mut small = fake("5.4.0");
        small[0x236] = 0;
        let mut arm = vec![0; 100];
        arm[56..60].copy_from_slice(b"ARM\x64");
        for (bytes, hint) in [
            (b"\x7fELF".to_vec(), "give the bzImage"),
            (vec![0; 4096], "no bzImage"),
            (Vec::new(), "no bzImage"),
            (small, "32-bit"),
            (arm, "arm64"),
            (fake("../../etc x"), "damaged"),
            (fake(""), "damaged"),
        ] {
            assert!(parse(&bytes).unwrap_err().contains(hint), "{hint}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_without_panic(pointer in any::<u16>(), tail in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut image = fake("6.1");
            image[0x20e..0x210].copy_from_slice(&pointer.to_le_bytes());
            image.truncate(0x300);
            image.extend(tail);
            let _ = parse(&image);
        }
    }
}
