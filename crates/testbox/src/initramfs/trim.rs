//! Cuts off what a program does not load: symbols and debug information make most of a
//! development build, and a guest's memory is small.

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};

/// The part of an ELF executable that its segments and headers cover, with the section table
/// removed from its header. What is not a 64-bit ELF file stays as it is.
pub(crate) fn loaded_part(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(end) = end_of_segments(&bytes).filter(|end| *end < bytes.len()) else {
        return bytes;
    };
    bytes.truncate(end);
    // e_shoff, and e_shnum with e_shstrndx: elf(5).
    for range in [40..48, 60..64] {
        if let Some(field) = bytes.get_mut(range) {
            field.fill(0);
        }
    }
    bytes
}

fn end_of_segments(bytes: &[u8]) -> Option<usize> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?;
    let table = header.e_phoff(endian).checked_add(64 * headers.len() as u64)?;
    let ends = headers.iter().map(|segment| {
        let (offset, length) = segment.file_range(endian);
        offset.checked_add(length)
    });
    let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?.max(table).max(64);
    usize::try_from(end).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_trimmed_program_still_runs() {
        let whole = fs_err::read("/bin/true").unwrap();
        let trimmed = loaded_part(whole.clone());
        assert!(trimmed.len() < whole.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("true");
        fs_err::write(&path, trimmed).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(std::process::Command::new(&path).status().unwrap().success());
    }

    #[test]
    fn other_files_stay_as_they_are() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01", &[0x7f; 100]] {
            assert_eq!(loaded_part(bytes.to_vec()), bytes);
        }
    }
}
