//! perf's control channel (`--control`, perf 5.10 and newer): two named pipes through which a
//! recording that has been prepared is switched on, and acknowledged.
//!
//! perf spends seconds of a small guest's CPU on the kernel's symbols before it records. Only
//! the acknowledgement says that this is over.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::process::{Process, Waited, wait_readable};

/// The two pipes; their names go away with this value.
pub(super) struct Control {
    commands_path: PathBuf,
    answers_path: PathBuf,
    commands: File,
    answers: OwnedFd,
}

impl Control {
    /// Makes the pipes in a folder.
    pub(super) fn make(dir: &Path) -> io::Result<Control> {
        let commands_path = dir.join("perf-control");
        let answers_path = dir.join("perf-answers");
        let commands = make_pipe(&commands_path)?;
        let answers = make_pipe(&answers_path)?.into();
        Ok(Control { commands_path, answers_path, commands, answers })
    }

    /// The option that tells perf of them.
    pub(super) fn option(&self) -> String {
        format!("--control=fifo:{},{}", self.commands_path.display(), self.answers_path.display())
    }

    /// Gives a command: `enable`, `disable`.
    pub(super) fn send(&mut self, command: &str) -> io::Result<()> {
        self.commands.write_all(format!("{command}\n").as_bytes())
    }

    /// Waits until perf has acknowledged a command.
    pub(super) fn wait_for_answer(
        &mut self,
        process: &mut Process,
        limit: Duration,
    ) -> Result<(), String> {
        const STEP: Duration = Duration::from_millis(20);
        let end = Instant::now() + limit;
        while Instant::now() < end {
            if wait_readable(&self.answers, STEP).is_ok_and(|ready| ready > 0) {
                let mut answer = [0; 64];
                let mut pipe = File::from(self.answers.try_clone().map_err(|e| e.to_string())?);
                // What it says beside the fact that it answers is of no interest.
                return pipe.read(&mut answer).map(|_| ()).map_err(|error| error.to_string());
            }
            if let Ok(Waited::Ended { .. }) = process.wait_for(Duration::ZERO) {
                return Err("perf ended at once".to_owned());
            }
        }
        Err(format!("perf was not ready within {} s", limit.as_secs()))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        for path in [&self.commands_path, &self.answers_path] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A named pipe, open for both directions so that opening it waits for nobody.
fn make_pipe(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    // One of a run before would be a stranger's.
    let _ = std::fs::remove_file(path);
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
}
