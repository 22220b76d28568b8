//! Writes cpio archives in the "new ASCII" format (`newc`), which is what the kernel unpacks as
//! initramfs: Documentation/driver-api/early-userspace/buffer-format.rst.
//!
//! Archives are reproducible: inode numbers count up, and owner and times are zero.

use std::io::{self, Read, Write};

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const TRAILER: &str = "TRAILER!!!";

/// A `newc` archive under way. Names are written without a leading slash; parent folders must
/// be added before what they hold, as the kernel does not make them.
#[derive(Debug)]
pub(crate) struct CpioWriter<W> {
    out: W,
    next_inode: u32,
    written: u64,
}

impl<W: Write> CpioWriter<W> {
    /// An empty archive.
    pub(crate) fn new(out: W) -> Self {
        CpioWriter { out, next_inode: 1, written: 0 }
    }

    /// Adds a folder.
    pub(crate) fn directory(&mut self, name: &str, permissions: u32) -> io::Result<()> {
        self.header(name, DIRECTORY | permissions, 2, 0, (0, 0))
    }

    /// Adds a regular file from memory.
    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.file_from(name, permissions, content.len() as u64, content)
    }

    /// Adds a regular file of `length` bytes from a stream. A stream that ends early is an
    /// error, as the archive would be damaged.
    pub(crate) fn file_from(
        &mut self,
        name: &str,
        permissions: u32,
        length: u64,
        content: impl Read,
    ) -> io::Result<()> {
        let size = u32::try_from(length).map_err(|_| {
            io::Error::new(io::ErrorKind::FileTooLarge, format!("{name}: over 4 GiB"))
        })?;
        self.header(name, REGULAR | permissions, 1, size, (0, 0))?;
        let copied = io::copy(&mut content.take(length), &mut self.out)?;
        if copied != length {
            let why = format!("{name}: {copied} of {length} bytes");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        self.written += copied;
        self.pad()
    }

    /// Adds a symbolic link.
    pub(crate) fn symlink(&mut self, name: &str, target: &str) -> io::Result<()> {
        let size = u32::try_from(target.len())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
        self.header(name, SYMLINK | 0o777, 1, size, (0, 0))?;
        self.bytes(target.as_bytes())?;
        self.pad()
    }

    /// Adds a character device.
    pub(crate) fn character_device(
        &mut self,
        name: &str,
        permissions: u32,
        device: (u32, u32),
    ) -> io::Result<()> {
        self.header(name, CHARACTER_DEVICE | permissions, 1, 0, device)
    }

    /// Writes the trailer and gives the stream back. The length is then a multiple of four, so
    /// that another archive can follow.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.next_inode = 0;
        self.header(TRAILER, 0, 1, 0, (0, 0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(
        &mut self,
        name: &str,
        mode: u32,
        links: u32,
        size: u32,
        device: (u32, u32),
    ) -> io::Result<()> {
        if name.is_empty() || name.contains('\0') || name.len() >= 4096 {
            let why = format!("`{}` cannot be a name in an archive", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
        }
        let inode = self.next_inode;
        self.next_inode = self.next_inode.wrapping_add(1);
        let name_length = name.len() as u32 + 1;
        let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_length, 0];
        let mut head = String::from("070701");
        for field in fields {
            head.push_str(&format!("{field:08X}"));
        }
        head.push_str(name);
        head.push('\0');
        self.bytes(head.as_bytes())?;
        self.pad()
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn pad(&mut self) -> io::Result<()> {
        let rest = (4 - self.written % 4) % 4;
        self.bytes(&[0; 3][..rest as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sample() -> Vec<u8> {
        let mut archive = CpioWriter::new(Vec::new());
        archive.directory("dev", 0o755).unwrap();
        archive.character_device("dev/console", 0o600, (5, 1)).unwrap();
        archive.file("init", 0o755, b"#!/bin/sh\n").unwrap();
        archive.symlink("bin", "usr/bin").unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn headers_are_as_the_kernel_reads_them() {
        let bytes = sample();
        let head = std::str::from_utf8(&bytes[..114]).unwrap();
        assert_eq!(&head[..6], "070701");
        assert_eq!(&head[6 + 8..6 + 16], "000041ED");
        assert_eq!(&head[110..114], "dev\0");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn the_cpio_program_lists_the_same() {
        let list = Command::new("cpio")
            .args(["-t", "-v", "--quiet", "--numeric-uid-gid"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut list) = list else {
            println!("skipped: cpio is not installed");
            return;
        };
        list.stdin.take().unwrap().write_all(&sample()).unwrap();
        let output = list.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<(String, String)> = text
            .lines()
            .map(|line| {
                let mut words = line.split_whitespace();
                let mode = words.next().unwrap().to_owned();
                let name = line.split("1970 ").nth(1).unwrap_or_default().to_owned();
                (mode, name)
            })
            .collect();
        let expected = [
            ("drwxr-xr-x", "dev"),
            ("crw-------", "dev/console"),
            ("-rwxr-xr-x", "init"),
            ("lrwxrwxrwx", "bin -> usr/bin"),
        ];
        assert_eq!(words.len(), expected.len(), "{text}");
        for ((mode, name), (want_mode, want_name)) in words.iter().zip(expected) {
            assert_eq!((mode.as_str(), name.as_str()), (want_mode, want_name), "{text}");
        }
    }

    #[test]
    fn a_short_stream_is_an_error() {
        let mut archive = CpioWriter::new(Vec::new());
        let error = archive.file_from("a", 0o644, 9, &b"short"[..]).unwrap_err();
        assert_eq!(error.to_string(), "a: 5 of 9 bytes");
    }

    #[test]
    fn names_that_would_damage_the_archive_are_refused() {
        let mut archive = CpioWriter::new(Vec::new());
        assert!(archive.file("", 0o644, b"").is_err());
        assert!(archive.file("a\0b", 0o644, b"").is_err());
    }
}
