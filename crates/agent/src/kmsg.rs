//! The kernel's log: what was written to it during the run, from /dev/kmsg.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use crate::Place;

/// Most bytes of log kept: its last ones. A guest's whole log is some 100 KB.
const MAX_LOG: usize = 16 << 20;

/// An open log, with the place in it where the run began.
#[derive(Debug)]
pub(crate) struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Opens the log: from its first line in a guest, which was booted for the run; else from
    /// here on. The error says why it cannot be had.
    pub(crate) fn open(place: &Place) -> Result<KernelLog, String> {
        const NONBLOCK: i32 = libc::O_NONBLOCK;
        let path = place.path("/dev/kmsg");
        let opened = File::options().read(true).custom_flags(NONBLOCK).open(&path);
        let mut file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => "/dev/kmsg is for root: run as root".to_owned(),
            _ => format!("/dev/kmsg: {error}"),
        })?;
        if !place.is_guest() {
            file.seek(SeekFrom::End(0)).map_err(|error| format!("/dev/kmsg: {error}"))?;
        }
        Ok(KernelLog { file })
    }

    /// What was logged until now, a line a message: `<6>[    1.234567] text`.
    pub(crate) fn read(&mut self) -> String {
        let mut log = String::new();
        // The kernel gives one record a read, of at most 8 KiB.
        let mut record = vec![0; 16 << 10];
        loop {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(n) => append_record(record.get(..n).unwrap_or_default(), &mut log),
                // Records were overwritten before they were read: go on with the oldest.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            if log.len() > 2 * MAX_LOG {
                cut_front(&mut log);
            }
        }
        cut_front(&mut log);
        log
    }
}

fn cut_front(log: &mut String) {
    let excess = log.len().saturating_sub(MAX_LOG);
    if excess > 0 {
        let line_end = log.bytes().skip(excess).position(|byte| byte == b'\n').unwrap_or(0);
        log.drain(..(excess + line_end + 1).min(log.len()));
    }
}

/// A record is `priority,sequence,microseconds,flags;text` and lines of properties that begin
/// with a blank (Documentation/ABI/testing/dev-kmsg).
fn append_record(record: &[u8], log: &mut String) {
    let record = String::from_utf8_lossy(record);
    let Some((prefix, text)) = record.split_once(';') else { return };
    let mut fields = prefix.split(',');
    let priority: u32 = fields.next().and_then(|field| field.parse().ok()).unwrap_or(6);
    let microseconds: u64 = fields.nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    let text = text.lines().next().unwrap_or_default();
    log.push_str(&format!(
        "<{}>[{:5}.{:06}] {text}\n",
        priority & 7,
        microseconds / 1_000_000,
        microseconds % 1_000_000
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_lines() {
        let mut log = String::new();
        append_record(b"6,339,5140900,-;NET: Registered protocol family 10\n", &mut log);
        append_record(
            b"12,340,5690716,c;WARNING: x\\x0ay\n SUBSYSTEM=acpi\n DEVICE=+a:b\n",
            &mut log,
        );
        append_record(b"garbage", &mut log);
        assert_eq!(
            log,
            "<6>[    5.140900] NET: Registered protocol family 10\n<4>[    5.690716] WARNING: x\\x0ay\n"
        );
    }

    #[test]
    fn what_is_logged_meanwhile_is_read() {
        let Ok(mut log) = KernelLog::open(&Place::local()) else {
            println!("skipped: /dev/kmsg cannot be read here");
            return;
        };
        // The kernel shows a record when its line has ended.
        let text = format!("patchmark test {}\n", std::process::id());
        if std::fs::write("/dev/kmsg", &text).is_err() {
            println!("skipped: /dev/kmsg cannot be written here");
            return;
        }
        let read = log.read();
        assert!(read.contains(&text), "{read}");
        assert!(!read.contains("Linux version"), "only what is new");
    }

    #[test]
    fn a_long_log_keeps_its_end() {
        let mut log = "0123456789\n".repeat(MAX_LOG / 10);
        cut_front(&mut log);
        assert!(log.len() <= MAX_LOG && log.starts_with("0123"));
    }
}
