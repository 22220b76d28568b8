//! Raw files of a run directory: compressed with zstd, written in large pieces, bounded.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use zstd::stream::write::Encoder;
use zstd::zstd_safe::CParameter;

/// Uncompressed bytes kept in memory before they are compressed and written. Compressing while
/// the workload runs would steal its CPU time, so most files are compressed once, at the end.
const HELD: usize = 1 << 20;

/// Most uncompressed bytes of one raw file; what comes after is left out.
pub(crate) const MAX_RAW: u64 = 512 << 20;

/// A raw file under way: `<name>.zst`.
pub(crate) struct RawFile {
    path: PathBuf,
    held: Vec<u8>,
    encoder: Option<Encoder<'static, File>>,
    total: u64,
}

impl RawFile {
    /// A raw file of this name in a run directory; nothing is written before there is content.
    pub(crate) fn new(dir: &Path, name: &str) -> RawFile {
        let path = dir.join(format!("{name}.zst"));
        RawFile { path, held: Vec::with_capacity(HELD + HELD / 4), encoder: None, total: 0 }
    }

    /// Where to append to; call [`RawFile::settle`] after it.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.held
    }

    /// Uncompressed bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.total + self.held.len() as u64
    }

    /// Whether the file has grown to [`MAX_RAW`] and takes no more.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MAX_RAW
    }

    /// Moves what is held to the file when it is much.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        if self.held.len() >= HELD { self.flush() } else { Ok(()) }
    }

    /// Writes all and closes the file; a file without content is not made. Returns whether
    /// there was any.
    pub(crate) fn finish(mut self) -> io::Result<bool> {
        if self.len() == 0 {
            return Ok(false);
        }
        self.flush()?;
        if let Some(encoder) = self.encoder.take() {
            encoder.finish()?;
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(new_encoder(&self.path, 1)?),
        };
        encoder.write_all(&self.held)?;
        self.total += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}

/// Compresses a finished file to `<file>.zst` beside it and removes it; an empty one is only
/// removed. Returns whether it was longer than `limit` bytes, where it is cut.
pub(crate) fn compress(file: &Path, limit: u64) -> io::Result<bool> {
    let mut source = File::open(file)?;
    let length = source.metadata()?.len();
    if length > 0 {
        let mut name = file.as_os_str().to_owned();
        name.push(".zst");
        let mut encoder = new_encoder(Path::new(&name), 3)?;
        let mut piece = vec![0; 1 << 17];
        let mut rest = limit;
        while rest > 0 {
            let n = source.read(&mut piece)?;
            let Some(read) = piece.get(..n).filter(|read| !read.is_empty()) else { break };
            let take = read.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
            encoder.write_all(read.get(..take).unwrap_or(read))?;
            rest -= take as u64;
        }
        encoder.finish()?;
    }
    std::fs::remove_file(file)?;
    Ok(length > limit)
}

/// Writes a whole text as `<name>.zst`.
pub(crate) fn write_compressed(dir: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut encoder = new_encoder(&dir.join(format!("{name}.zst")), 3)?;
    encoder.write_all(content)?;
    encoder.finish()?;
    Ok(())
}

/// A window of 256 KiB finds what repeats from sample to sample and keeps a dozen encoders
/// within the memory of a small guest.
fn new_encoder(path: &Path, level: i32) -> io::Result<Encoder<'static, File>> {
    let mut encoder = Encoder::new(File::create(path)?, level)?;
    encoder.set_parameter(CParameter::WindowLog(18))?;
    Ok(encoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_whatever_its_size() {
        let dir = tempfile::tempdir().unwrap();
        for length in [1, HELD - 1, 3 * HELD] {
            let mut file = RawFile::new(dir.path(), "slabinfo");
            for chunk in vec![7; length].chunks(1000) {
                file.buffer().extend_from_slice(chunk);
                file.settle().unwrap();
            }
            assert!(file.finish().unwrap());
            let back =
                zstd::decode_all(File::open(dir.path().join("slabinfo.zst")).unwrap()).unwrap();
            assert_eq!(back.len(), length);
        }
    }

    #[test]
    fn nothing_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!RawFile::new(dir.path(), "x").finish().unwrap());
        assert!(!dir.path().join("x.zst").exists());
    }

    #[test]
    fn a_long_file_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        std::fs::write(&file, vec![b'x'; 5000]).unwrap();
        assert!(compress(&file, 4000).unwrap());
        assert!(!file.exists());
        let back = zstd::decode_all(File::open(dir.path().join("out.zst")).unwrap()).unwrap();
        assert_eq!(back.len(), 4000);
    }
}
