//! The run directory on its way to the host: tar in zstd, in pieces.

use std::io::{self, Write};
use std::path::Path;

use patchmark_model::wire::Frame;

use super::channel::Channel;

/// Bytes in one piece; small enough that a damaged one on a serial line costs little.
const PIECE: usize = 64 << 10;

/// Sends a directory and then the number of compressed bytes.
pub(super) fn send(dir: &Path, channel: &mut Channel) -> io::Result<()> {
    let mut total = 0;
    let pieces = Pieces {
        held: Vec::with_capacity(PIECE),
        send: |piece: Vec<u8>| {
            total += piece.len() as u64;
            channel.send(&Frame::Data(piece))
        },
    };
    pack(dir, pieces)?;
    channel.send(&Frame::End(total))?;
    channel.drain()
}

/// Writes a directory as tar in zstd. Most files in it are compressed already.
fn pack<S: FnMut(Vec<u8>) -> io::Result<()>>(dir: &Path, pieces: Pieces<S>) -> io::Result<()> {
    let encoder = zstd::stream::write::Encoder::new(pieces, 1)?;
    let mut tar = tar::Builder::new(encoder);
    tar.mode(tar::HeaderMode::Deterministic);
    tar.follow_symlinks(false);
    let mut files: Vec<_> = std::fs::read_dir(dir)?.collect::<Result<_, _>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        // A run directory is flat; what else lies there is not part of it.
        if file.file_type()?.is_file() {
            tar.append_path_with_name(file.path(), file.file_name())?;
        }
    }
    tar.into_inner()?.finish()?.flush_rest()
}

/// A writer that gives away what it has in pieces of one size.
struct Pieces<S> {
    held: Vec<u8>,
    send: S,
}

impl<S: FnMut(Vec<u8>) -> io::Result<()>> Pieces<S> {
    fn flush_rest(mut self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { (self.send)(std::mem::take(&mut self.held)) }
    }
}

impl<S: FnMut(Vec<u8>) -> io::Result<()>> Write for Pieces<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE - self.held.len();
        let taken = bytes.get(..bytes.len().min(room)).unwrap_or_default();
        self.held.extend_from_slice(taken);
        if self.held.len() == PIECE {
            let piece = std::mem::replace(&mut self.held, Vec::with_capacity(PIECE));
            (self.send)(piece)?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_comes_out_of_its_pieces() {
        let dir = tempfile::tempdir().unwrap();
        // Noise that does not compress makes several pieces.
        let noise: Vec<u8> =
            (0..200_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        std::fs::write(dir.path().join("a"), &noise).unwrap();
        std::fs::write(dir.path().join("run.json"), "{}").unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let send = |piece: Vec<u8>| {
            sent.push(piece);
            Ok(())
        };
        pack(dir.path(), Pieces { held: Vec::new(), send }).unwrap();
        assert!(sent.iter().all(|piece| piece.len() <= PIECE));
        let tar = zstd::decode_all(sent.concat().as_slice()).unwrap();
        let mut archive = tar::Archive::new(tar.as_slice());
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["a", "run.json"]);
    }
}
