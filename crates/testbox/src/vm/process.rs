//! The QEMU process: it ends when we do, however we end.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use rustix::thread::CpuSet;

use crate::TestboxError;
use crate::error::TestboxError as Error;

/// What is kept of standard error, in bytes.
const MAX_STDERR: usize = 64 << 10;

/// A running QEMU. Dropping it kills it with its whole process group.
#[derive(Debug)]
pub(super) struct QemuProcess {
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl QemuProcess {
    /// Starts QEMU in a process group of its own, so that a terminal's Ctrl-C does not reach
    /// it, on the given host CPUs (all when empty).
    ///
    /// The kernel kills it when the *thread* that started it ends (PR_SET_PDEATHSIG, prctl(2)):
    /// the caller must stay on that thread until the end.
    pub(super) fn start(
        program: &Path,
        arguments: &[OsString],
        pin: &[usize],
    ) -> Result<QemuProcess, TestboxError> {
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        bind_to_parent(&mut command, cpu_set(pin)?);
        let mut child = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                Error::QemuMissing { path: program.to_owned(), source }
            }
            _ => Error::Io { what: "cannot start", path: program.to_owned(), source },
        })?;
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().map(|pipe| {
            let kept = Arc::clone(&stderr);
            std::thread::spawn(move || keep_head(pipe, &kept))
        });
        Ok(QemuProcess { child, stderr, reader })
    }

    /// The exit status, once QEMU has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, TestboxError> {
        let what = "cannot wait for QEMU";
        self.child.try_wait().map_err(|source| Error::System { what, source })
    }

    /// Kills the process group and waits for QEMU.
    pub(super) fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
            && !matches!(self.child.try_wait(), Ok(Some(_)))
        {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
            drop(self.child.wait());
        }
    }

    /// What QEMU has printed on standard error, complete once it has ended.
    pub(super) fn stderr(&mut self) -> String {
        let patience = Instant::now() + Duration::from_secs(1);
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < patience
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kept = self.stderr.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

impl Drop for QemuProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn cpu_set(pin: &[usize]) -> Result<Option<CpuSet>, TestboxError> {
    if pin.is_empty() {
        return Ok(None);
    }
    let mut set = CpuSet::new();
    for cpu in pin {
        if *cpu >= CpuSet::MAX_CPU {
            return Err(Error::Options(format!("there is no host CPU {cpu}")));
        }
        set.set(*cpu);
    }
    let allowed = rustix::thread::sched_getaffinity(None).map_err(|error| Error::System {
        what: "cannot read the CPU affinity",
        source: error.into(),
    })?;
    match pin.iter().find(|cpu| !allowed.is_set(**cpu)) {
        Some(cpu) => Err(Error::Options(format!("host CPU {cpu} cannot be used by this process"))),
        None => Ok(Some(set)),
    }
}

/// Makes the child die with this thread and sets its CPUs, between fork and exec.
#[allow(unsafe_code)]
fn bind_to_parent(command: &mut Command, cpus: Option<CpuSet>) {
    let parent = rustix::process::getpid();
    let in_child = move || -> io::Result<()> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the line above.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        if let Some(cpus) = &cpus {
            rustix::thread::sched_setaffinity(None, cpus)?;
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls and nothing else; it neither allocates nor takes a
    // lock, so it is sound between fork and exec in a process with threads.
    unsafe {
        command.pre_exec(in_child);
    }
}

fn keep_head(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let room = MAX_STDERR.saturating_sub(kept.len());
        kept.extend_from_slice(buffer.get(..count.min(room)).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_running(pid: u32) -> bool {
        let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z'))
            && !stat.is_empty()
    }

    #[test]
    fn dropping_ends_the_whole_group() {
        let arguments = ["-c", "sleep 1000 & echo $! >&2; wait"].map(OsString::from);
        let mut process = QemuProcess::start(Path::new("/bin/sh"), &arguments, &[]).unwrap();
        let pid = loop {
            let text = process.stderr.lock().unwrap().clone();
            if text.ends_with(b"\n") {
                break String::from_utf8(text).unwrap().trim().parse().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(is_running(pid));
        assert!(process.ended().unwrap().is_none());
        drop(process);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!is_running(pid));
    }

    #[test]
    fn the_process_ends_with_the_thread_that_started_it() {
        let pid = std::thread::spawn(|| {
            let arguments = [OsString::from("1000")];
            let process = QemuProcess::start(Path::new("/bin/sleep"), &arguments, &[0]).unwrap();
            let pid = process.child.id();
            std::mem::forget(process);
            pid
        })
        .join()
        .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(!is_running(pid));
    }

    #[test]
    fn a_missing_program_says_what_to_install() {
        let error = QemuProcess::start(Path::new("/no/qemu"), &[], &[]).unwrap_err().to_string();
        assert!(error.contains("/no/qemu") && error.contains("qemu-system-x86"), "{error}");
    }

    #[test]
    fn cpus_that_are_not_there_are_refused() {
        assert!(cpu_set(&[1 << 20]).is_err());
        assert!(cpu_set(&[1023]).is_err());
    }
}
