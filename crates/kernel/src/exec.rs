//! Programs of the machine, run with their output caught.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::KernelError;
use crate::error::AtPath;

/// Longest piece of a program's complaint that goes into a message.
const MAX_DETAIL: usize = 600;

/// What a program left.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end; an exit status other than 0 is not an error here. `package` is the
/// Debian package to name when the program is missing.
pub(crate) fn run(command: &mut Command, package: &str) -> Result<Ran, KernelError> {
    prepare(command);
    let output = command.output().map_err(|error| not_started(command, package, error))?;
    Ok(Ran {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Like [`run`], with `tick` called several times a second while the program runs. What it says
/// goes through files in `scratch`.
pub(crate) fn run_watched(
    command: &mut Command,
    package: &str,
    scratch: &Path,
    tick: &mut dyn FnMut(),
) -> Result<Ran, KernelError> {
    let (out_path, err_path) = (scratch.join("stdout"), scratch.join("stderr"));
    prepare(command);
    command.stdout(fs_err::File::create(&out_path).at(&out_path)?.into_parts().0);
    command.stderr(fs_err::File::create(&err_path).at(&err_path)?.into_parts().0);
    let mut child = command.spawn().map_err(|error| not_started(command, package, error))?;
    let status = loop {
        match child.try_wait().at(scratch)? {
            Some(status) => break status,
            None => tick(),
        }
        thread::sleep(Duration::from_millis(100));
    };
    let read = |path: &Path| -> Result<String, KernelError> {
        Ok(String::from_utf8_lossy(&fs_err::read(path).at(path)?).into_owned())
    };
    Ok(Ran { status, stdout: read(&out_path)?, stderr: read(&err_path)? })
}

fn prepare(command: &mut Command) {
    command.stdin(Stdio::null()).env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
}

fn not_started(command: &Command, package: &str, error: std::io::Error) -> KernelError {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() == std::io::ErrorKind::NotFound {
        return KernelError::ToolMissing { program, package: package.to_owned() };
    }
    KernelError::io(program, error)
}

impl Ran {
    /// What the program complained of: its lines that begin with `E:`, else the end of stderr.
    pub(crate) fn complaint(&self) -> String {
        let errors: Vec<&str> =
            self.stderr.lines().filter_map(|line| line.strip_prefix("E: ")).collect();
        let text = if errors.is_empty() {
            self.stderr.trim().lines().last().unwrap_or_default().to_owned()
        } else {
            errors.join("; ")
        };
        let text = if text.is_empty() { format!("it ended with {}", self.status) } else { text };
        printable(&text)
    }

    /// Whether apt found its folder locked: by an apt whose parent was killed.
    pub(crate) fn was_locked_out(&self) -> bool {
        self.stderr.contains("Could not get lock") || self.stderr.contains("Unable to lock")
    }

    /// Whether it failed for want of room.
    pub(crate) fn disk_was_full(&self) -> bool {
        let says = |text: &str| {
            text.contains("No space left on device")
                || text.contains("enough free space")
                || text.contains("Disk quota exceeded")
        };
        says(&self.stderr) || says(&self.stdout)
    }
}

/// A bounded text without control characters.
pub(crate) fn printable(text: &str) -> String {
    let clean: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_DETAIL).collect();
    clean.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_with_its_package() {
        let missing = |package| {
            let ran = run(&mut Command::new("patchmark-has-no-such-program"), package);
            ran.map(|_| ()).unwrap_err().to_string()
        };
        assert!(missing("kmod").ends_with("apt-get install kmod"), "{}", missing("kmod"));
        assert!(missing("apt").contains("use image:PATH"), "{}", missing("apt"));
    }

    #[test]
    fn complaints_are_bounded_and_printable() {
        let ran =
            run(Command::new("sh").args(["-c", "printf 'W: x\\nE: \\033[1mbad\\n' >&2"]), "dash");
        assert_eq!(ran.unwrap().complaint(), "[1mbad");
        let silent = run(Command::new("sh").args(["-c", "exit 3"]), "dash").unwrap();
        assert_eq!(silent.complaint(), "it ended with exit status: 3");
        assert!(printable(&"x".repeat(9000)).len() <= MAX_DETAIL);
    }
}
