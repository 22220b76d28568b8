//! Frames between the agent in a guest and the host, over any byte stream: a virtio port or a
//! plain serial line. The host trusts none of it.
//!
//! A frame is `MAGIC`, kind (1 byte), payload length (u32, little endian), payload, CRC-32 of
//! kind, length and payload (u32, little endian). Bytes between frames are skipped, so a line that
//! firmware has written to before is no trouble.

use serde::{Deserialize, Serialize};

use crate::Event;

/// Begins each frame.
pub const MAGIC: [u8; 4] = [0xf0, b'P', b'M', b'K'];

/// Longest payload that is written or accepted.
pub const MAX_PAYLOAD: usize = 1 << 18;

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Frame {
    /// Something happened (JSON).
    Event(Event),
    /// A piece of the run directory: a zstd-compressed tar stream, in order.
    Data(Vec<u8>),
    /// The end of the run directory and its length in bytes, compressed.
    End(u64),
}

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The checksum of a frame does not fit its content.
    #[error("a frame of kind {kind} with {length} bytes has a wrong checksum")]
    Checksum {
        /// The kind byte.
        kind: u8,
        /// The payload's length.
        length: usize,
    },
    /// A frame claims more than [`MAX_PAYLOAD`].
    #[error("a frame claims {0} bytes, more than {MAX_PAYLOAD}")]
    TooLong(usize),
    /// A kind or content that this version does not know.
    #[error("a frame of kind {0} cannot be read")]
    Unreadable(u8),
}

/// The bytes of a frame. A payload over [`MAX_PAYLOAD`] is the caller's mistake and is refused.
pub fn encode(frame: &Frame) -> Result<Vec<u8>, WireError> {
    let (kind, payload) = match frame {
        Frame::Event(event) => {
            (1, serde_json::to_vec(event).map_err(|_| WireError::Unreadable(1))?)
        }
        Frame::Data(bytes) => (2, bytes.clone()),
        Frame::End(length) => (3, length.to_le_bytes().to_vec()),
    };
    if payload.len() > MAX_PAYLOAD {
        return Err(WireError::TooLong(payload.len()));
    }
    let mut bytes = Vec::with_capacity(payload.len() + 13);
    bytes.extend_from_slice(&MAGIC);
    bytes.push(kind);
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&payload);
    let checksum = crc32fast::hash(&bytes[MAGIC.len()..]);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// Takes bytes as they come and gives frames back.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
}

impl Decoder {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame; `None` when more bytes are needed. After an error the decoder goes on
    /// behind the damaged frame's magic.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        self.skip_to_magic();
        const HEAD: usize = 9;
        if self.buffer.len() < HEAD {
            return Ok(None);
        }
        let kind = self.buffer[4];
        let length = le_u32(&self.buffer[5..HEAD]) as usize;
        if length > MAX_PAYLOAD {
            self.buffer.drain(..MAGIC.len());
            return Err(WireError::TooLong(length));
        }
        let end = HEAD + length + 4;
        if self.buffer.len() < end {
            return Ok(None);
        }
        let checksum = le_u32(&self.buffer[end - 4..end]);
        if crc32fast::hash(&self.buffer[MAGIC.len()..end - 4]) != checksum {
            self.buffer.drain(..MAGIC.len());
            return Err(WireError::Checksum { kind, length });
        }
        let payload: Vec<u8> = self.buffer.drain(..end).skip(HEAD).take(length).collect();
        read_payload(kind, payload).map(Some)
    }

    /// Drops what cannot begin a frame; keeps a tail that may be the start of a magic.
    fn skip_to_magic(&mut self) {
        let start =
            self.buffer.windows(MAGIC.len()).position(|window| window == MAGIC).unwrap_or_else(
                || {
                    let tail = self.buffer.len().saturating_sub(MAGIC.len() - 1);
                    let is_prefix = |at: &usize| MAGIC.starts_with(&self.buffer[*at..]);
                    (tail..self.buffer.len()).find(is_prefix).unwrap_or(self.buffer.len())
                },
            );
        self.buffer.drain(..start);
    }
}

fn read_payload(kind: u8, payload: Vec<u8>) -> Result<Frame, WireError> {
    match kind {
        1 => {
            serde_json::from_slice(&payload).map(Frame::Event).map_err(|_| WireError::Unreadable(1))
        }
        2 => Ok(Frame::Data(payload)),
        3 => {
            let bytes: [u8; 8] = payload.try_into().map_err(|_| WireError::Unreadable(3))?;
            Ok(Frame::End(u64::from_le_bytes(bytes)))
        }
        other => Err(WireError::Unreadable(other)),
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Phase;

    #[test]
    fn frames_survive_noise_between_them() {
        let frames =
            [Frame::Event(Event::Phase(Phase::Run)), Frame::Data(vec![0xf0; 99]), Frame::End(99)];
        let mut stream = b"SeaBIOS \x1b[2J\xf0P".to_vec();
        for frame in &frames {
            stream.extend(encode(frame).unwrap());
            stream.extend(b"noise");
        }
        let mut decoder = Decoder::default();
        let mut seen = Vec::new();
        for byte in stream {
            decoder.push(&[byte]);
            while let Some(frame) = decoder.next_frame().unwrap() {
                seen.push(frame);
            }
        }
        assert_eq!(seen, frames);
    }

    #[test]
    fn a_damaged_frame_is_an_error_and_the_next_one_is_read() {
        let mut bytes = encode(&Frame::Data(b"hello".to_vec())).unwrap();
        bytes[10] ^= 1;
        bytes.extend(encode(&Frame::End(5)).unwrap());
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        assert_eq!(decoder.next_frame(), Err(WireError::Checksum { kind: 2, length: 5 }));
        assert_eq!(decoder.next_frame(), Ok(Some(Frame::End(5))));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.push(&MAGIC);
            decoder.push(&bytes);
            for _ in 0..300 {
                if decoder.next_frame() == Ok(None) { break; }
            }
        }
    }
}
