//! The receiving end of a guest's port: frames in; events and a spooled archive out.

use std::io::{self, Write as _};
use std::path::Path;

use patchmark_model::Event;
use patchmark_model::wire::{Decoder, Frame};

/// Compressed bytes of a run directory that are accepted.
const MAX_ARCHIVE: u64 = 1 << 30;
/// Notes that are handed on; a guest that sends more has its further ones dropped.
const MAX_NOTES: u32 = 2000;
/// Characters of a note that are handed on.
const MAX_NOTE: usize = 500;

/// What came out of one port. The archive is spooled to a file as it comes.
#[derive(Debug)]
pub(super) struct Port {
    decoder: Decoder,
    spool: fs_err::File,
    received: u64,
    notes: u32,
    pub(super) heard: bool,
    pub(super) end: Option<u64>,
    pub(super) damage: Option<String>,
}

impl Port {
    /// A port that spools to a new file.
    pub(super) fn create(spool: &Path) -> io::Result<Port> {
        Ok(Port {
            decoder: Decoder::default(),
            spool: fs_err::File::create(spool)?,
            received: 0,
            notes: 0,
            heard: false,
            end: None,
            damage: None,
        })
    }

    /// Bytes of the archive received so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Takes bytes as they come; gives the events among them. Frames behind the end are
    /// damage: a well-behaved agent sends none.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<Event>> {
        self.decoder.push(bytes);
        let mut events = Vec::new();
        loop {
            match self.decoder.next_frame() {
                Ok(None) => return Ok(events),
                Err(error) => self.note_damage(error.to_string()),
                Ok(Some(frame)) => {
                    self.heard = true;
                    if self.end.is_some() {
                        self.note_damage("frames came behind the end".to_owned());
                    }
                    self.take(frame, &mut events)?;
                }
            }
        }
    }

    /// Why the archive is not whole; `None` when it is.
    pub(super) fn fault(&self) -> Option<String> {
        if let Some(damage) = &self.damage {
            return Some(damage.clone());
        }
        match self.end {
            None => Some(format!("the end is missing; {} bytes came", self.received)),
            Some(length) if length != self.received => {
                Some(format!("{} of {length} bytes came", self.received))
            }
            Some(_) => None,
        }
    }

    fn take(&mut self, frame: Frame, events: &mut Vec<Event>) -> io::Result<()> {
        match frame {
            Frame::Event(Event::Phase(phase)) => events.push(Event::Phase(phase)),
            Frame::Event(Event::Note(note)) => {
                self.notes += 1;
                if self.notes <= MAX_NOTES {
                    events.push(Event::Note(printable(&note, MAX_NOTE)));
                }
            }
            Frame::Data(bytes) => {
                self.received += bytes.len() as u64;
                if self.received > MAX_ARCHIVE {
                    self.note_damage(format!("more than {MAX_ARCHIVE} bytes came"));
                } else {
                    self.spool.write_all(&bytes)?;
                }
            }
            Frame::End(length) => self.end = Some(length),
        }
        Ok(())
    }

    fn note_damage(&mut self, what: String) {
        self.damage.get_or_insert(what);
    }
}

/// Text from a guest, safe to print: control characters escaped, cut to `limit` characters.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (at, c) in text.trim().chars().enumerate() {
        if at == limit {
            out.push_str("...");
            break;
        }
        if c.is_control() || is_bidi_control(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters that reorder what a terminal shows around them.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use patchmark_model::Phase;
    use patchmark_model::wire::encode;

    use super::*;

    fn port() -> (tempfile::TempDir, Port) {
        let folder = tempfile::tempdir().unwrap();
        let port = Port::create(&folder.path().join("spool")).unwrap();
        (folder, port)
    }

    #[test]
    fn events_come_out_and_data_is_spooled() {
        let (folder, mut port) = port();
        let mut bytes = encode(&Frame::Event(Event::Phase(Phase::Run))).unwrap();
        bytes.extend(encode(&Frame::Event(Event::Note("a\x1b[2Jb".into()))).unwrap());
        bytes.extend(encode(&Frame::Data(b"hello".to_vec())).unwrap());
        bytes.extend(encode(&Frame::End(5)).unwrap());
        let events = port.push(&bytes).unwrap();
        let note = Event::Note("a\\u{1b}[2Jb".to_owned());
        assert_eq!(events, [Event::Phase(Phase::Run), note]);
        assert_eq!(port.fault(), None);
        assert_eq!(fs_err::read(folder.path().join("spool")).unwrap(), b"hello");
    }

    #[test]
    fn an_early_end_is_a_fault_whatever_follows() {
        let (_folder, mut port) = port();
        let mut bytes = encode(&Frame::End(0)).unwrap();
        bytes.extend(encode(&Frame::Data(b"late".to_vec())).unwrap());
        port.push(&bytes).unwrap();
        assert_eq!(port.fault().as_deref(), Some("frames came behind the end"));
    }

    #[test]
    fn a_missing_end_and_a_wrong_length_are_faults() {
        let (_folder, mut port) = port();
        port.push(&encode(&Frame::Data(b"hello".to_vec())).unwrap()).unwrap();
        assert_eq!(port.fault().as_deref(), Some("the end is missing; 5 bytes came"));
        port.push(&encode(&Frame::End(7)).unwrap()).unwrap();
        assert_eq!(port.fault().as_deref(), Some("5 of 7 bytes came"));
    }

    #[test]
    fn notes_are_bounded_in_number_and_length() {
        let (_folder, mut port) = port();
        let bytes = encode(&Frame::Event(Event::Note("x".repeat(9000)))).unwrap();
        let mut count = 0;
        for _ in 0..MAX_NOTES + 10 {
            for event in port.push(&bytes).unwrap() {
                assert!(matches!(event, Event::Note(note) if note.len() < 600));
                count += 1;
            }
        }
        assert_eq!(count, MAX_NOTES);
    }
}
