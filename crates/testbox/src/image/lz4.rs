//! LZ4's "legacy" frames, which kernels are packed in (`lz4 -l`): independent blocks of at most
//! 8 MiB behind a magic number. Format: lz4_Block_format.md and lz4_Frame_format.md of LZ4.

const MAX_BLOCK: usize = 8 << 20;

/// Decompresses a stream that may be followed by its length as four bytes; `None` for damage or
/// more than `limit` bytes.
pub(super) fn decompress(stream: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut rest = stream.get(4..)?;
    let mut out = Vec::new();
    // The kernel's build appends the length: what is shorter than a block header and one token
    // is not a block.
    while rest.len() > 4 {
        let (size, tail) = rest.split_first_chunk::<4>()?;
        let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        let block = tail.get(..size)?;
        rest = tail.get(size..)?;
        let start = out.len();
        decompress_block(block, &mut out, start + MAX_BLOCK)?;
        if out.len() > limit {
            return None;
        }
    }
    Some(out)
}

fn decompress_block(mut block: &[u8], out: &mut Vec<u8>, end: usize) -> Option<()> {
    let start = out.len();
    while let Some((token, rest)) = block.split_first() {
        block = rest;
        let literals = length(usize::from(token >> 4), &mut block)?;
        out.extend_from_slice(block.get(..literals)?);
        block = block.get(literals..)?;
        if out.len() > end {
            return None;
        }
        // The last sequence has literals only.
        let Some((offset, rest)) = block.split_first_chunk::<2>() else {
            return block.is_empty().then_some(());
        };
        block = rest;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let count = length(usize::from(token & 15), &mut block)? + 4;
        let from = out.len().checked_sub(offset).filter(|from| *from >= start && offset > 0)?;
        if out.len() + count > end {
            return None;
        }
        copy_match(out, from, count);
    }
    Some(())
}

/// A length that goes on in further bytes while they are 255.
fn length(nibble: usize, block: &mut &[u8]) -> Option<usize> {
    let mut length = nibble;
    if nibble == 15 {
        loop {
            let (byte, rest) = block.split_first()?;
            *block = rest;
            length += usize::from(*byte);
            if *byte != 255 {
                break;
            }
        }
    }
    Some(length)
}

/// Copies bytes that may overlap what they make.
fn copy_match(out: &mut Vec<u8>, from: usize, count: usize) {
    let mut left = count;
    while left > 0 {
        let step = left.min(out.len() - from);
        out.extend_from_within(from..from + step);
        left -= step;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(block: &[u8]) -> Vec<u8> {
        let mut stream = vec![0x02, 0x21, 0x4c, 0x18];
        stream.extend((block.len() as u32).to_le_bytes());
        stream.extend(block);
        stream
    }

    #[test]
    fn literals_and_overlapping_matches() {
        // "ab", then 4 + 4 bytes from two back, then "z".
        let block = [0x24, b'a', b'b', 2, 0, 0x10, b'z'];
        let mut bytes = stream(&block);
        bytes.extend(11_u32.to_le_bytes());
        assert_eq!(
            decompress(&bytes, 100).unwrap(),
            b"ababababab".iter().chain(b"z").copied().collect::<Vec<u8>>()
        );
        assert_eq!(decompress(&bytes, 5), None);
    }

    #[test]
    fn a_match_before_the_start_is_damage() {
        assert_eq!(decompress(&stream(&[0x10, b'a', 2, 0, 0, 0]), 100), None);
        assert_eq!(decompress(&stream(&[0x10, b'a', 0, 0, 0, 0]), 100), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decompress(&stream(&block), 1 << 20));
            drop(decompress(&block, 1 << 20));
        }
    }
}
