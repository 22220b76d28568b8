//! One run of QEMU from start to end: listens to the guest's channels and decides when it is
//! over. It always is, in a bounded time.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use patchmark_model::{Clock, Event, Phase};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};

use super::console::{Console, Lines};
use super::options::Limits;
use super::port::Port;
use super::process::QemuProcess;
use super::qemu::Channels;
use crate::error::TestboxError as Error;
use crate::{Cancel, TestboxError};

/// How often flags and limits are looked at when nothing comes.
const TICK: Duration = Duration::from_millis(100);
/// How long QEMU may go on after the guest's kernel has panicked.
const PANIC_PATIENCE: Duration = Duration::from_secs(5);
/// How much slower than the host's clock an instruction-counting guest's may be on a busy host.
const ICOUNT_SLOWNESS: u32 = 4;

/// What a job without a limit of its own gets; the agent gives it as much.
const UNLIMITED_JOB_S: u32 = 5 * 3600;

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The agent said that it is done.
    Done,
    /// QEMU ended by itself.
    QemuEnded {
        /// `exit status: 1`.
        status: String,
        success: bool,
    },
    /// The guest's kernel panicked and QEMU went on.
    Panicked,
    /// A limit was reached, in words.
    Boot(String),
    Silence(String),
    Total(String),
}

/// What is known when it is over.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ending: Ending,
    pub(super) lines: Lines,
    /// A word of the agent was heard, on the console or on a port.
    pub(super) booted: bool,
    /// What QEMU printed on standard error.
    pub(super) stderr: String,
    /// Anything at all was heard from the guest.
    pub(super) heard: bool,
    /// Where the archive is spooled and why it is not whole.
    pub(super) archive: PathBuf,
    pub(super) received: u64,
    pub(super) fault: Option<String>,
    /// Wall-clock seconds of each phase.
    pub(super) phases: Vec<(Phase, f64)>,
}

/// Patience with one run, worked out from options and job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    boot: Duration,
    silence: Duration,
    silence_in_run: Duration,
    total: Duration,
}

impl Patience {
    pub(super) fn new(limits: Limits, clock: Clock, job_limit_s: u32) -> Patience {
        let job_limit_s = if job_limit_s == 0 { UNLIMITED_JOB_S } else { job_limit_s };
        let slowness = if clock == Clock::Icount { ICOUNT_SLOWNESS } else { 1 };
        let job = Duration::from_secs(job_limit_s.into()) * slowness;
        let silence_in_run = job + limits.silence;
        // Setups before the workload and the way back behind it may each be silent once.
        let total = limits.total.unwrap_or(limits.boot + silence_in_run + limits.silence * 2);
        Patience { boot: limits.boot, silence: limits.silence, silence_in_run, total }
    }
}

/// The listening end of a guest.
#[derive(Debug)]
pub(super) struct Session {
    console: Console,
    ports: [(Port, PathBuf); 2],
    pipes: [Option<OwnedFd>; 3],
    started: Instant,
    last_heard: Instant,
    heard: bool,
    phase: Phase,
    phase_began: Instant,
    phases: Vec<(Phase, f64)>,
    panicked_at: Option<Instant>,
}

impl Session {
    /// Makes the pipes of `channels` and begins console log (in `dir`) and spools (in
    /// `scratch`). QEMU is to be started next.
    pub(super) fn open(
        channels: &Channels,
        dir: &Path,
        scratch: &Path,
    ) -> Result<Session, TestboxError> {
        let spool = |name: &str| -> Result<(Port, PathBuf), TestboxError> {
            let path = scratch.join(name);
            let port = Port::create(&path).map_err(|error| Error::write(&path, error))?;
            Ok((port, path))
        };
        let pipe = |path: &Path| open_pipe(path).map_err(|error| Error::write(path, error));
        let now = Instant::now();
        Ok(Session {
            console: Console::create(dir).map_err(|error| Error::write(dir, error))?,
            ports: [spool("port.tar.zst")?, spool("serial.tar.zst")?],
            pipes: [
                Some(pipe(&channels.console)?),
                Some(pipe(&channels.port)?),
                Some(pipe(&channels.serial)?),
            ],
            started: now,
            last_heard: now,
            heard: false,
            phase: Phase::Boot,
            phase_began: now,
            phases: Vec::new(),
            panicked_at: None,
        })
    }

    /// Listens until the run is over; QEMU has ended then.
    pub(super) fn run(
        mut self,
        mut qemu: QemuProcess,
        patience: &Patience,
        events: &mut dyn FnMut(Event),
        cancel: &Cancel,
    ) -> Result<Outcome, TestboxError> {
        let ending = loop {
            self.wait()?;
            // The status is asked for before reading, so that nothing written before the end
            // is left in a pipe.
            let ended = qemu.ended()?;
            self.read(events)?;
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if self.ports.iter().any(|(port, _)| port.end.is_some()) {
                break Ending::Done;
            }
            if let Some(status) = ended {
                break Ending::QemuEnded { status: status.to_string(), success: status.success() };
            }
            if let Some(ending) = self.over(patience) {
                break ending;
            }
        };
        qemu.kill();
        self.read(events)?;
        self.end_phase();
        let booted = self.booted();
        let stderr = qemu.stderr();
        let lines = self.console.lines();
        let [port, serial] = self.ports;
        // The guest picks one of the two; the virtio port when it has used both.
        let (port, archive) = if port.0.heard || !serial.0.heard { port } else { serial };
        self.console.finish().map_err(|error| Error::write(&archive, error))?;
        Ok(Outcome {
            ending,
            lines,
            booted,
            stderr,
            heard: self.heard,
            received: port.received(),
            fault: port.fault(),
            archive,
            phases: self.phases,
        })
    }

    fn booted(&self) -> bool {
        self.phase > Phase::Boot || self.ports.iter().any(|(port, _)| port.heard)
    }

    /// Whether a limit is reached.
    fn over(&mut self, patience: &Patience) -> Option<Ending> {
        let now = Instant::now();
        if self.panicked_at.is_none() && self.console.lines().panic.is_some() {
            self.panicked_at = Some(now);
        }
        if self.panicked_at.is_some_and(|at| now - at > PANIC_PATIENCE) {
            return Some(Ending::Panicked);
        }
        let silent = now - self.last_heard;
        if !self.booted() && now - self.started > patience.boot {
            let seconds = patience.boot.as_secs();
            return Some(Ending::Boot(format!("user space was not reached in {seconds} s")));
        }
        let allowed =
            if self.phase == Phase::Run { patience.silence_in_run } else { patience.silence };
        if self.booted() && silent > allowed {
            let seconds = allowed.as_secs();
            let phase = self.phase;
            return Some(Ending::Silence(format!("silent for {seconds} s in phase {phase}")));
        }
        (now - self.started > patience.total).then(|| {
            let seconds = patience.total.as_secs();
            Ending::Total(format!("not done after {seconds} s, in phase {}", self.phase))
        })
    }

    fn wait(&self) -> Result<(), TestboxError> {
        let mut polled: Vec<PollFd> =
            self.pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        match rustix::event::poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(Error::System {
                    what: "cannot wait for the guest",
                    source: error.into(),
                });
            }
        }
        // A pipe whose writer has gone is ready for ever: without this the loop would spin
        // until QEMU is reaped.
        let hung_up = |fd: &PollFd| fd.revents() == PollFlags::HUP;
        if !polled.is_empty() && polled.iter().all(hung_up) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Reads what is there, without waiting.
    fn read(&mut self, events: &mut dyn FnMut(Event)) -> Result<(), TestboxError> {
        let mut buffer = vec![0; 64 << 10];
        for at in 0..self.pipes.len() {
            // A bound on what is read at once lets limits be looked at under a flood.
            for _ in 0..64 {
                let Some(Some(pipe)) = self.pipes.get(at) else { break };
                let count = match rustix::io::read(pipe, &mut buffer[..]) {
                    Ok(0) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                    Ok(count) => count,
                    Err(error) => {
                        let what = "cannot read what the guest sends";
                        return Err(Error::System { what, source: error.into() });
                    }
                };
                self.take(at, buffer.get(..count).unwrap_or_default(), events)?;
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        channel: usize,
        bytes: &[u8],
        events: &mut dyn FnMut(Event),
    ) -> Result<(), TestboxError> {
        self.last_heard = Instant::now();
        self.heard = true;
        let Some((port, spool)) = channel.checked_sub(1).and_then(|at| self.ports.get_mut(at))
        else {
            let log = self.ports.first().map_or_else(PathBuf::new, |(_, spool)| {
                spool.with_file_name(super::console::LOG_NAME)
            });
            self.console.push(bytes).map_err(|error| Error::write(&log, error))?;
            if self.phase == Phase::Boot && self.console.lines().agent_began {
                self.enter(Phase::Setup, events);
            }
            return Ok(());
        };
        for event in port.push(bytes).map_err(|error| Error::write(spool, error))? {
            match event {
                Event::Phase(phase) => self.enter(phase, events),
                note @ Event::Note(_) => events(note),
            }
        }
        Ok(())
    }

    /// A guest cannot turn the phases back.
    fn enter(&mut self, phase: Phase, events: &mut dyn FnMut(Event)) {
        if phase > self.phase {
            self.end_phase();
            self.phase = phase;
            events(Event::Phase(phase));
        }
    }

    fn end_phase(&mut self) {
        let now = Instant::now();
        self.phases.push((self.phase, (now - self.phase_began).as_secs_f64()));
        self.phase_began = now;
    }
}

/// Makes a named pipe and opens its reading end, before there is a writer.
fn open_pipe(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
