//! System calls that neither std nor rustix offers in a safe form. All of the crate's unsafe
//! code is here, each piece behind a function that cannot be misused.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// What a process and the descendants it waited for have used; the kernel's `struct rusage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time in user mode.
    pub(crate) user: Duration,
    /// CPU time in the kernel.
    pub(crate) system: Duration,
    /// Largest resident set of any of the processes, in KiB.
    pub(crate) max_rss_kb: u64,
    /// Page faults served without I/O.
    pub(crate) minor_faults: u64,
    /// Page faults that needed I/O.
    pub(crate) major_faults: u64,
    /// Blocks of 512 bytes read.
    pub(crate) inputs: u64,
    /// Blocks of 512 bytes written.
    pub(crate) outputs: u64,
    /// Times a process gave up the CPU to wait.
    pub(crate) voluntary_switches: u64,
    /// Times a process was preempted.
    pub(crate) involuntary_switches: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

/// Reaps a child and returns how it ended and what it used; `None` with `block` unset when it
/// still runs.
pub(crate) fn wait4(pid: i32, block: bool) -> io::Result<Option<(Ended, Usage)>> {
    let reaped = wait4_raw(pid, block)?;
    Ok(reaped.map(|(_, ended, usage)| (ended, usage)))
}

/// Reaps any child that has ended, if one has.
pub(crate) fn wait4_any() -> io::Result<Option<(i32, Ended)>> {
    let reaped = wait4_raw(-1, false)?;
    Ok(reaped.map(|(pid, ended, _)| (pid, ended)))
}

fn wait4_raw(pid: i32, block: bool) -> io::Result<Option<(i32, Ended, Usage)>> {
    let mut status: libc::c_int = 0;
    // SAFETY: `rusage` is plain old data for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let reaped = unsafe { libc::wait4(pid, &mut status, flags, &mut usage) };
        if reaped > 0 {
            let ended = if libc::WIFSIGNALED(status) {
                Ended::Signaled(libc::WTERMSIG(status))
            } else {
                Ended::Exited(libc::WEXITSTATUS(status))
            };
            return Ok(Some((reaped, ended, usage_of(&usage))));
        }
        if reaped == 0 {
            return Ok(None);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn usage_of(raw: &libc::rusage) -> Usage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let time = |value: libc::timeval| {
        Duration::from_secs(u64::try_from(value.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or(0))
    };
    Usage {
        user: time(raw.ru_utime),
        system: time(raw.ru_stime),
        max_rss_kb: count(raw.ru_maxrss),
        minor_faults: count(raw.ru_minflt),
        major_faults: count(raw.ru_majflt),
        inputs: count(raw.ru_inblock),
        outputs: count(raw.ru_oublock),
        voluntary_switches: count(raw.ru_nvcsw),
        involuntary_switches: count(raw.ru_nivcsw),
    }
}

/// `oom_score_adj` of what [`isolate`] starts: the kernel ends it before anything else.
pub(crate) const WORKLOAD_OOM_SCORE: u32 = 500;

/// Makes a command start in a session of its own, in the cgroup whose `cgroup.procs` is given,
/// and as the process that an out-of-memory kernel kills first.
pub(crate) fn isolate(command: &mut Command, cgroup_procs: Option<OwnedFd>) {
    let score = WORKLOAD_OOM_SCORE.to_string();
    let prepare = move || {
        if let Some(procs) = &cgroup_procs {
            rustix::io::write(procs, b"0")?;
        }
        // Refused for nobody but harmless when it is.
        let _ = write_in_child(c"/proc/self/oom_score_adj", score.as_bytes());
        let _ = rustix::process::setsid();
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls (write, open, setsid,
    // close); it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

fn write_in_child(path: &CStr, text: &[u8]) -> rustix::io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text)?;
    Ok(())
}

/// Whether the kernel counts this event on this machine: `perf_event_open(2)` is tried for it
/// on the calling process, kernel side left out where `perf_event_paranoid` demands it.
pub(crate) fn perf_event_works(kind: u32, config: u64) -> bool {
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    [0, EXCLUDE_KERNEL].into_iter().any(|flags| perf_event_opens(kind, config, flags))
}

fn perf_event_opens(kind: u32, config: u64, flags: u64) -> bool {
    // `struct perf_event_attr` of PERF_ATTR_SIZE_VER0 (include/uapi/linux/perf_event.h):
    // type and size, config, sample period, sample type, read format, flags, wakeup, bp_addr.
    const SIZE: u64 = 64;
    let attr: [u64; 8] = [u64::from(kind) | SIZE << 32, config, 0, 0, 0, flags, 0, 0];
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    // SAFETY: `attr` is 64 bytes long as its size field says and outlives the call; the other
    // arguments are plain numbers.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, attr.as_ptr(), 0, -1, -1, CLOSE_ON_EXEC)
    };
    let Ok(fd) = libc::c_int::try_from(fd) else { return false };
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor was just opened and nothing else knows it.
    drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
    true
}

/// Which side of a fork one is on.
pub(crate) enum Forked {
    /// The new process.
    Child,
    /// The old one; the child's process id.
    Parent(i32),
}

/// Splits the process. Only for a process with one thread: the agent in a guest, as its init,
/// before it has started any.
pub(crate) fn fork_single_threaded() -> io::Result<Forked> {
    // SAFETY: with one thread no lock of the allocator or of std can be held by a thread that
    // does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// Brings the loopback interface up, as programs that talk to themselves over TCP expect.
pub(crate) fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType};
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: `ifreq` is plain old data for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which `request` is, with name and flags filled in.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a file standard input, output and error of this process.
pub(crate) fn become_stdio(file: BorrowedFd<'_>) -> io::Result<()> {
    for standard in 0..=2 {
        // SAFETY: both descriptors are numbers the kernel checks; std does not rely on what
        // descriptors 0 to 2 refer to.
        if unsafe { libc::dup2(file.as_fd().as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Begins to swap to a device or file, with a priority from 0 to 32767 or the kernel's choice.
pub(crate) fn swap_on(path: &CStr, priority: Option<u16>) -> io::Result<()> {
    const PREFER: libc::c_int = 0x8000;
    let flags = priority.map_or(0, |priority| PREFER | libc::c_int::from(priority & 0x7fff));
    // SAFETY: the path is a C string that outlives the call.
    if unsafe { libc::swapon(path.as_ptr(), flags) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Ends swapping to a device or file.
pub(crate) fn swap_off(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a C string that outlives the call.
    if unsafe { libc::swapoff(path.as_ptr()) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_reaped_with_its_usage() {
        #[allow(clippy::zombie_processes, reason = "wait4 is what is tested")]
        let child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let (ended, usage) = wait4(child.id() as i32, true).unwrap().unwrap();
        assert_eq!(ended, Ended::Exited(7));
        assert!(usage.max_rss_kb > 0);
        assert!(wait4(child.id() as i32, false).is_err(), "reaped already");
    }

    #[test]
    fn an_event_that_does_not_exist_does_not_work() {
        assert!(!perf_event_works(1, 9999));
    }
}
