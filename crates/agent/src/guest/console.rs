//! The guest's console: what the host shows when a guest fails to talk to it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;

/// Makes the console standard input, output and error; without one they stay as they are.
pub(super) fn attach() {
    if let Ok(console) = open() {
        let _ = crate::sys::become_stdio(console.as_fd());
    }
}

/// Writes a line that begins with `patchmark:`. It begins a new line whatever the kernel or
/// the firmware wrote before.
pub(super) fn say(text: &str) {
    if let Ok(mut console) = open() {
        let line = format!("\npatchmark: {}\n", crate::complaint::printable(text));
        let _ = console.write_all(line.as_bytes());
    }
}

fn open() -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/console")
}
