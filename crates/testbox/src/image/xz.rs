//! XZ as kernels use it: one block, LZMA2 behind the x86 branch filter. Format: "The .xz File
//! Format" 1.2.1; the filter is section 5.3.2.

const FILTER_X86: u64 = 0x04;
const FILTER_LZMA2: u64 = 0x21;

/// Decompresses the first block of a stream; `None` for damage, unknown filters or checks, or
/// more than `limit` bytes.
pub(super) fn decompress(stream: &[u8], limit: usize) -> Option<Vec<u8>> {
    let check_kind = stream.get(7)? & 15;
    let block = stream.get(12..)?;
    let header_size = (usize::from(*block.first()?) + 1) * 4;
    let header = BlockHeader::read(block.get(1..header_size.checked_sub(4)?)?)?;
    let mut rest = block.get(header_size..)?;
    let before = rest.len();
    let mut out = Limited { bytes: Vec::new(), limit };
    lzma_rs::lzma2_decompress(&mut rest, &mut out).ok()?;
    let mut bytes = out.bytes;
    if let Some(start) = header.branch_filter {
        undo_branch_filter(&mut bytes, start);
    }
    let padding = (4 - (before - rest.len()) % 4) % 4;
    let check = rest.get(padding..)?;
    // CRC-32 is what the kernel's build chooses; a stream without a check is taken as it is.
    let is_whole = match check_kind {
        0 => true,
        1 => check.get(..4)? == crc32fast::hash(&bytes).to_le_bytes(),
        _ => false,
    };
    is_whole.then_some(bytes)
}

struct BlockHeader {
    /// The start offset of the x86 filter, when it is used.
    branch_filter: Option<u32>,
}

impl BlockHeader {
    fn read(mut bytes: &[u8]) -> Option<BlockHeader> {
        let (flags, rest) = bytes.split_first()?;
        bytes = rest;
        for present in [0x40, 0x80] {
            if flags & present != 0 {
                varint(&mut bytes)?;
            }
        }
        let mut filters = Vec::new();
        for _ in 0..=(flags & 3) {
            let id = varint(&mut bytes)?;
            let size = usize::try_from(varint(&mut bytes)?).ok()?;
            filters.push((id, bytes.get(..size)?));
            bytes = bytes.get(size..)?;
        }
        match filters.as_slice() {
            [(FILTER_LZMA2, _)] => Some(BlockHeader { branch_filter: None }),
            [(FILTER_X86, start), (FILTER_LZMA2, _)] => {
                let start = match start {
                    [] => 0,
                    bytes => u32::from_le_bytes((*bytes).try_into().ok()?),
                };
                Some(BlockHeader { branch_filter: Some(start) })
            }
            _ => None,
        }
    }
}

/// An integer of seven bits a byte, lowest first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Turns the absolute targets of CALL (e8) and JMP (e9) back into relative ones.
///
/// The encoder changes an operand only if its top byte is 00 or ff and no opcode close before
/// makes it doubtful; `recent` has a bit for each of the last three bytes that looked like an
/// opcode and was not changed, so that the decoder decides alike.
fn undo_branch_filter(bytes: &mut [u8], start: u32) {
    let mut recent = 0_u32;
    let mut last_opcode: Option<usize> = None;
    let mut at = 0;
    while at + 5 <= bytes.len() {
        if bytes.get(at).is_none_or(|byte| byte & 0xfe != 0xe8) {
            at += 1;
            continue;
        }
        let distance = last_opcode.map_or(usize::MAX, |last| at - last);
        last_opcode = Some(at);
        recent = if distance > 3 { 0 } else { (recent << (distance - 1)) & 7 };
        if !is_operand(bytes, at, recent) {
            recent = (recent << 1) | 1;
            at += 1;
            continue;
        }
        let position = start.wrapping_add(at as u32).wrapping_add(5);
        let Some(operand) = bytes.get_mut(at + 1..).and_then(|tail| tail.first_chunk_mut::<4>())
        else {
            return;
        };
        *operand = relative(u32::from_le_bytes(*operand), position, recent).to_le_bytes();
        recent = 0;
        // The next opcode counts its distance from this one, so at least five.
        at += 5;
    }
}

/// Whether the four bytes behind the opcode were changed by the encoder.
fn is_operand(bytes: &[u8], at: usize, recent: u32) -> bool {
    let is_sign = |byte: Option<&u8>| matches!(byte, Some(0x00 | 0xff));
    if recent != 0 {
        let doubtful = !matches!(recent, 1 | 2 | 4);
        if doubtful || is_sign(bytes.get(at + 4 - bit_number(recent))) {
            return false;
        }
    }
    is_sign(bytes.get(at + 4))
}

fn bit_number(recent: u32) -> usize {
    match recent {
        0 => 0,
        1 => 1,
        2 | 3 => 2,
        _ => 3,
    }
}

fn relative(absolute: u32, position: u32, recent: u32) -> u32 {
    let mut source = absolute;
    let target = loop {
        let target = source.wrapping_sub(position);
        if recent == 0 {
            break target;
        }
        let shift = bit_number(recent) as u32 * 8;
        let byte = (target >> (24 - shift)) & 0xff;
        if byte != 0x00 && byte != 0xff {
            break target;
        }
        source = target ^ ((1_u32 << (32 - shift)) - 1);
    };
    // Sign-extended from 25 bits.
    let low = target & 0x01ff_ffff;
    if low & 0x0100_0000 != 0 { low | 0xfe00_0000 } else { low }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Compresses as the kernel's `scripts/xz_wrap.sh` does.
    fn xz(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut child = Command::new("xz")
            .args(["--check=crc32", "--x86", "--lzma2=preset=1", "-c"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut stdin = child.stdin.take()?;
        let input = bytes.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().ok()?;
        writer.join().ok()?.ok()?;
        output.status.success().then_some(output.stdout)
    }

    #[test]
    fn the_branch_filter_is_undone_as_xz_does_it() {
        // Dense in opcodes and sign bytes: every corner of the filter is met.
        let mut state = 1_u32;
        let mut dense = Vec::new();
        for _ in 0..200_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            dense.push(
                [0xe8, 0xe9, 0x00, 0xff, 0x01, (state >> 8) as u8][(state >> 24) as usize % 6],
            );
        }
        let program = fs_err::read("/bin/ls").unwrap();
        for bytes in [dense, program, Vec::new(), b"\xe8".to_vec(), vec![0xe8; 9]] {
            let Some(packed) = xz(&bytes) else {
                println!("skipped: xz is not installed");
                return;
            };
            if bytes.is_empty() {
                continue;
            }
            assert!(decompress(&packed, 1 << 24).as_deref() == Some(&bytes[..]), "{}", bytes.len());
            assert_eq!(decompress(&packed, bytes.len() - 1), None);
            for length in (0..packed.len() / 2).step_by(packed.len() / 50 + 1) {
                assert_eq!(decompress(&packed[..length], 1 << 24), None);
            }
        }
    }
}
