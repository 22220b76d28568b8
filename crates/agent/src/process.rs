//! Child processes that are waited for with a limit and leave their resource usage.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use crate::sys::{self, Ended, Usage};

/// How often a child is looked after where the kernel has no pidfd (before 5.3).
const WITHOUT_PIDFD: Duration = Duration::from_millis(20);

/// A started process.
pub(crate) struct Process {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    started: Instant,
    reaped: bool,
}

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Waited {
    /// The process is gone.
    Ended { ended: Ended, usage: Usage, elapsed: Duration },
    /// It runs still, and somebody wants it no more.
    GiveUp,
}

/// What the one who waits is told when it wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Sleep until this moment at most, then ask again.
    Until(Instant),
    /// Wait no longer.
    GiveUp,
}

impl Process {
    /// Starts a command.
    pub(crate) fn start(command: &mut Command) -> io::Result<Process> {
        let started = Instant::now();
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the kernel gave an impossible pid"))?;
        Ok(Process {
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(),
            started,
            reaped: false,
        })
    }

    /// Waits for the end. `wake` is asked before each sleep how long it may last.
    pub(crate) fn wait(&mut self, mut wake: impl FnMut(Instant) -> Wake) -> io::Result<Waited> {
        loop {
            if let Some((ended, usage)) = sys::wait4(self.pid.as_raw_pid(), false)? {
                self.reaped = true;
                return Ok(Waited::Ended { ended, usage, elapsed: self.started.elapsed() });
            }
            let now = Instant::now();
            match wake(now) {
                Wake::GiveUp => return Ok(Waited::GiveUp),
                Wake::Until(until) => self.sleep(until.saturating_duration_since(now)),
            }
        }
    }

    /// Waits for at most this long.
    pub(crate) fn wait_for(&mut self, limit: Duration) -> io::Result<Waited> {
        let end = Instant::now() + limit;
        self.wait(|now| if now >= end { Wake::GiveUp } else { Wake::Until(end) })
    }

    fn sleep(&self, limit: Duration) {
        match &self.pidfd {
            // However it ends, the caller looks again.
            Some(pidfd) => {
                let _ = wait_readable(pidfd, limit);
            }
            None => std::thread::sleep(limit.min(WITHOUT_PIDFD)),
        }
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.reaped {
            // It may be gone already, which is what is wanted.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Kills the process and what is left of its session's first process group.
    pub(crate) fn kill_group(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        self.signal(Signal::KILL);
    }

    /// How long it has run.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Where the process shows in /proc.
    pub(crate) fn proc_folder(&self) -> String {
        format!("/proc/{}", self.pid.as_raw_pid())
    }
}

/// Sleeps until a descriptor can be read or the time is over.
pub(crate) fn wait_readable(fd: &OwnedFd, limit: Duration) -> rustix::io::Result<usize> {
    let timeout = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&timeout))
}

/// The name of a signal: `SIGKILL`.
pub(crate) fn signal_name(signal: i32) -> String {
    const NAMES: [(i32, &str); 12] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    let known = NAMES.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_limit_and_the_process_can_be_killed() {
        let mut command = Command::new("sleep");
        sys::isolate(command.arg("60"), None);
        let mut process = Process::start(&mut command).unwrap();
        assert_eq!(process.wait_for(Duration::from_millis(30)).unwrap(), Waited::GiveUp);
        process.kill_group();
        let Waited::Ended { ended, .. } = process.wait_for(Duration::from_secs(10)).unwrap() else {
            panic!("killed but there");
        };
        assert_eq!(ended, Ended::Signaled(9));
        assert_eq!(signal_name(9), "SIGKILL");
    }
}
