//! The channel to the host: a virtio port, or a serial line in raw mode.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use patchmark_model::wire::{self, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// The virtio port's name.
const PORT: &str = "patchmark.0";

/// The kernel parameter that names a serial port.
const PARAMETER: &str = "patchmark.port=";

/// How long the virtio driver may take to show its ports.
const APPEARING: Duration = Duration::from_secs(5);

/// How long the host may take nothing before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(600);

/// More buffers than the ring of a virtio port holds (QEMU: 128).
const RING: usize = 512;

/// An open channel, written without blocking for ever.
#[derive(Debug)]
pub(super) struct Channel {
    file: File,
    is_virtio: bool,
}

/// Finds and opens the channel: the virtio port if there is one, else the serial port of the
/// kernel's command line. Without such a parameter the virtio port may take a while to appear.
pub(super) fn find() -> Result<Channel, String> {
    let cmdline = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let serial = serial_port(&cmdline);
    let end = Instant::now() + if serial.is_some() { Duration::ZERO } else { APPEARING };
    loop {
        if let Some(device) = virtio_port(Path::new("/sys/class/virtio-ports")) {
            return open(&device).map(|file| Channel { file, is_virtio: true });
        }
        if Instant::now() >= end {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let device = serial.ok_or_else(|| {
        format!("no way to the host: no virtio port {PORT} and no kernel parameter {PARAMETER}...")
    })?;
    let file = open(&device)?;
    make_raw(&file).map_err(|error| format!("{}: {error}", device.display()))?;
    Ok(Channel { file, is_virtio: false })
}

/// The device of the serial port that the command line names.
fn serial_port(cmdline: &str) -> Option<PathBuf> {
    let mut words = cmdline.split_ascii_whitespace();
    let name = words.find_map(|word| word.strip_prefix(PARAMETER))?;
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| Path::new("/dev").join(name))
}

/// The device of the virtio port: /dev/vportNpM is the folder's name.
fn virtio_port(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    let entry = entries.find(|entry| {
        crate::place::read_text(&entry.path().join("name")).as_deref() == Some(PORT)
    })?;
    let device = Path::new("/dev").join(entry.file_name());
    device.exists().then_some(device)
}

fn open(device: &Path) -> Result<File, String> {
    let options = libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(options).open(device);
    opened.map_err(|error| format!("{}: {error}", device.display()))
}

/// Bytes as they are, no echo, no line ends changed.
fn make_raw(file: &File) -> rustix::io::Result<()> {
    let mut settings = tcgetattr(file)?;
    settings.make_raw();
    // Emulated ports do not care; real ones are at their fastest.
    let _ = settings.set_speed(115_200);
    tcsetattr(file, OptionalActions::Now, &settings)
}

impl Channel {
    /// Sends a frame.
    pub(super) fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.write_all(&wire::encode(frame).map_err(io::Error::other)?)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_room()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait_for_room(&self) -> io::Result<()> {
        let seconds = i64::try_from(PATIENCE.as_secs()).unwrap_or(600);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&timeout))?;
        if ready == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the host takes nothing"));
        }
        Ok(())
    }

    /// Waits until the host has taken what was written: a guest that powers off drops the rest.
    ///
    /// A virtio port only queues (`port_fops_write` in drivers/char/virtio_console.c never waits
    /// for the host), in order, in a ring of a fixed size. Once the ring has taken as many
    /// further buffers as it can hold, all those before them have left it.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        if self.is_virtio {
            for _ in 0..RING {
                self.write_all(&[0])?;
            }
        } else if let Ok(file) = self.file.try_clone() {
            super::within(PATIENCE, move || {
                let _ = rustix::termios::tcdrain(&file);
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_port_is_a_plain_name() {
        let port = |cmdline| serial_port(cmdline);
        assert_eq!(
            port("console=ttyS0 patchmark.port=ttyS1 quiet"),
            Some(PathBuf::from("/dev/ttyS1"))
        );
        assert_eq!(port("patchmark.port=../etc"), None);
        assert_eq!(port("quiet"), None);
    }
}
