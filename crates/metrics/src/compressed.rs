//! Compressed raw files. A file that was cut off yields what can be read of it.

use std::io::{self, Read, Write};

/// Most bytes that are made of one compressed file.
const MAX_CONTENT: u64 = 1 << 30;

/// How a file is compressed, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Zstd,
    Gzip,
    Xz,
}

/// The name of the raw file without the mark of its compression.
pub(crate) fn split_name(file: &str) -> (&str, Option<Compression>) {
    let kinds = [(".zst", Compression::Zstd), (".gz", Compression::Gzip), (".xz", Compression::Xz)];
    kinds
        .into_iter()
        .find_map(|(end, kind)| file.strip_suffix(end).map(|stem| (stem, Some(kind))))
        .unwrap_or((file, None))
}

/// The content, and what is wrong with it.
pub(crate) fn content(bytes: &[u8], compression: Compression) -> (Vec<u8>, Option<String>) {
    let mut content = Bounded::default();
    let result = match compression {
        Compression::Zstd => zstd::stream::read::Decoder::new(bytes)
            .and_then(|decoder| read_into(decoder, &mut content)),
        Compression::Gzip => read_into(flate2::read::MultiGzDecoder::new(bytes), &mut content),
        Compression::Xz => {
            let mut bytes = io::BufReader::new(bytes);
            lzma_rs::xz_decompress(&mut bytes, &mut content)
                .map_err(|error| io::Error::other(format!("{error:?}")))
        }
    };
    let trouble = if content.is_full {
        Some(format!("more than {MAX_CONTENT} bytes; the rest was left out"))
    } else {
        result.err().map(|error| format!("cut off or damaged, read as far as it goes: {error}"))
    };
    (content.bytes, trouble)
}

fn read_into(mut from: impl Read, to: &mut Bounded) -> io::Result<()> {
    io::copy(&mut from, to).map(|_| ())
}

#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > MAX_CONTENT {
            self.is_full = true;
            return Err(io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn each_compression_is_read_whole_and_cut_off() {
        let text: Vec<u8> = (0..50_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let mut xz = Vec::new();
        lzma_rs::xz_compress(&mut &text[..], &mut xz).unwrap();
        let files = [
            (Compression::Zstd, zstd::encode_all(&text[..], 1).unwrap()),
            (Compression::Gzip, gzip(&text)),
            (Compression::Xz, xz),
        ];
        for (compression, bytes) in files {
            assert_eq!(content(&bytes, compression), (text.clone(), None), "{compression:?}");
            let (part, trouble) = content(&bytes[..bytes.len() / 2], compression);
            assert!(text.starts_with(&part) && trouble.is_some(), "{compression:?}");
        }
    }

    #[test]
    fn compression_is_told_by_the_name() {
        assert_eq!(split_name("dmesg.zst"), ("dmesg", Some(Compression::Zstd)));
        assert_eq!(split_name("stress-ng.time"), ("stress-ng.time", None));
    }
}
