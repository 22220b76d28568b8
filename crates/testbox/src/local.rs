//! This machine and its running kernel.
//!
//! The run happens in a child process, so that a crash of it does not take the caller down. The
//! child is this executable again: its `main` hands over to [`local_child`] before anything
//! else. The pipe to the child's standard input is its lifeline: when it closes, because the
//! caller wants to stop or has died, the child ends the workload, restores the setups and
//! leaves.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use patchmark_agent::Place;
use patchmark_model::wire::{Decoder, Frame, encode};
use patchmark_model::{
    Clock, Event, Failure, FailureReason, KernelArtefacts, Phase, RunRecord, RunSpec, TestboxFacts,
    TestboxKind,
};

use crate::error::TestboxError as Error;
use crate::rootfs::host_rootfs;
use crate::vm::{agent_record, of_failure, printable, write_record};
use crate::{Cancel, Testbox, TestboxError};

/// The first argument of the child.
const CHILD_ARGUMENT: &str = "run-on-this-machine";
/// How long a child may restore setups and pack files after it was told to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// How long a run may take beside its workload.
const AROUND_THE_WORKLOAD: Duration = Duration::from_secs(900);
/// The limit of a job that has none.
const UNLIMITED_JOB_S: u32 = 5 * 3600;
const SPEC_NAME: &str = ".spec.json";

/// A testbox that is this machine.
#[derive(Clone, Debug)]
pub struct LocalTestbox {
    facts: TestboxFacts,
    agent: PathBuf,
}

impl LocalTestbox {
    /// This machine, with the running executable as agent.
    pub fn new() -> Result<LocalTestbox, TestboxError> {
        Ok(LocalTestbox { facts: facts()?, agent: PathBuf::from("/proc/self/exe") })
    }

    /// The same with another executable as agent, whose `main` calls [`local_child`].
    pub fn with_agent(mut self, agent: impl Into<PathBuf>) -> LocalTestbox {
        self.agent = agent.into();
        self
    }

    fn start(&self, spec: &Path, dir: &Path) -> Result<Child, TestboxError> {
        let mut command = Command::new(&self.agent);
        command.arg(CHILD_ARGUMENT).arg(spec).arg(dir);
        // A group of its own: Ctrl-C on a terminal reaches the caller, who closes the lifeline.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(|source| Error::Io {
            what: "cannot start",
            path: self.agent.clone(),
            source,
        })
    }
}

impl Testbox for LocalTestbox {
    fn facts(&self) -> &TestboxFacts {
        &self.facts
    }

    fn run(
        &self,
        kernel: &KernelArtefacts,
        spec: &RunSpec,
        dir: &Path,
        events: &mut dyn FnMut(Event),
        cancel: &Cancel,
    ) -> Result<RunRecord, TestboxError> {
        let running = rustix::system::uname().release().to_string_lossy().into_owned();
        if kernel.release != running {
            return Err(Error::NotRunning { kernel: kernel.release.clone(), running });
        }
        if let Some(word) = unbooted_word(spec.plan.kernel_cmdline.as_deref()) {
            return Err(Error::Options(format!(
                "this machine was not booted with `{word}`; boot it so, or use --testbox vm"
            )));
        }
        let began = Instant::now();
        fs_err::create_dir_all(dir).map_err(|error| Error::write(dir, error))?;
        let spec_path = dir.join(SPEC_NAME);
        let text = serde_json::to_vec(spec).map_err(|error| Error::malformed(&spec_path, error))?;
        fs_err::write(&spec_path, text).map_err(|error| Error::write(&spec_path, error))?;
        let mut child = self.start(&spec_path, dir)?;
        let mut lifeline = child.stdin.take();
        let frames = frames_of(&mut child);

        let mut phases = Phases { current: Phase::Setup, began: Instant::now(), all: Vec::new() };
        let mut told_to_stop: Option<Instant> = None;
        let limit = limit(spec);
        let mut overdue = false;
        let status = loop {
            match frames.recv_timeout(Duration::from_millis(100)) {
                Ok(Event::Phase(phase)) => phases.enter(phase, events),
                Ok(note) => events(note),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break wait(&mut child)?,
            }
            overdue |= began.elapsed() > limit;
            if (overdue || cancel.is_cancelled()) && told_to_stop.is_none() {
                stop(&mut lifeline);
                told_to_stop = Some(Instant::now());
            }
            if told_to_stop.is_some_and(|at| at.elapsed() > STOP_PATIENCE) {
                let _ = child.kill();
                break wait(&mut child)?;
            }
        };
        phases.end();
        drop(lifeline);
        let _ = fs_err::remove_file(&spec_path);
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let mut record = record(dir, spec, status, overdue, began.elapsed().as_secs_f64());
        for (phase, seconds) in phases.all {
            *record.phase_seconds.entry(phase.to_string()).or_insert(0.0) += seconds;
        }
        write_record(dir, &record)?;
        Ok(record)
    }
}

fn limit(spec: &RunSpec) -> Duration {
    let job = match spec.plan.time_limit_s {
        0 => UNLIMITED_JOB_S,
        seconds => seconds,
    };
    Duration::from_secs(job.into()) + AROUND_THE_WORKLOAD
}

fn record(
    dir: &Path,
    spec: &RunSpec,
    status: ExitStatus,
    overdue: bool,
    seconds: f64,
) -> RunRecord {
    let fail = |reason, detail: String| {
        of_failure(spec, Failure { reason, detail: printable(&detail, 400) }, seconds)
    };
    if overdue {
        let detail = format!("not done after {seconds:.0} s");
        return fail(FailureReason::Timeout, detail);
    }
    match agent_record(dir, spec) {
        Ok(record) if status.success() => record,
        Ok(_) => fail(FailureReason::Incomplete, format!("the agent ended with {status}")),
        Err(why) => {
            fail(FailureReason::Incomplete, format!("the agent ended with {status}: {why}"))
        }
    }
}

/// Closes the child's standard input.
fn stop(lifeline: &mut Option<ChildStdin>) {
    drop(lifeline.take());
}

fn wait(child: &mut Child) -> Result<ExitStatus, TestboxError> {
    child.wait().map_err(|source| Error::System { what: "cannot wait for the agent", source })
}

/// The events that the child tells, read by a thread of their own.
fn frames_of(child: &mut Child) -> Receiver<Event> {
    let (sender, receiver) = channel();
    if let Some(mut pipe) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut decoder = Decoder::default();
            let mut buffer = vec![0; 16 << 10];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                decoder.push(buffer.get(..count).unwrap_or_default());
                // Damage cannot come from our own child short of a fault; it is passed over.
                while let Some(frame) = decoder.next_frame().transpose() {
                    if let Ok(Frame::Event(event)) = frame
                        && sender.send(event).is_err()
                    {
                        return;
                    }
                }
            }
        });
    }
    receiver
}

#[derive(Debug)]
struct Phases {
    current: Phase,
    began: Instant,
    all: Vec<(Phase, f64)>,
}

impl Phases {
    fn enter(&mut self, phase: Phase, events: &mut dyn FnMut(Event)) {
        if phase > self.current {
            self.end();
            self.current = phase;
        }
        events(Event::Phase(phase));
    }

    fn end(&mut self) {
        let now = Instant::now();
        self.all.push((self.current, (now - self.began).as_secs_f64()));
        self.began = now;
    }
}

/// A word of the command line that was asked for and that the running kernel did not get.
fn unbooted_word(wanted: Option<&str>) -> Option<String> {
    let booted = fs_err::read_to_string("/proc/cmdline").unwrap_or_default();
    let has = |word: &str| booted.split_ascii_whitespace().any(|have| have == word);
    let word = wanted?.split_ascii_whitespace().find(|word| !has(word))?;
    Some(word.to_owned())
}

/// Does a run when this process was started as a [`LocalTestbox`]'s child; gives `None` in every
/// other process. To be called first in `main`.
pub fn local_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != CHILD_ARGUMENT {
        return None;
    }
    let (Some(spec), Some(dir), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Some(ExitCode::from(2));
    };
    let spec: Option<RunSpec> =
        fs_err::read(PathBuf::from(spec)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let Some(spec) = spec else { return Some(ExitCode::from(2)) };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    std::thread::spawn(move || {
        let mut byte = [0];
        // Nothing is ever written to the lifeline: the read ends when it closes.
        while matches!(std::io::stdin().read(&mut byte), Ok(1..)) {}
        flag.store(true, Ordering::Relaxed);
    });
    let mut tell = |event: Event| {
        if let Ok(bytes) = encode(&Frame::Event(event)) {
            let mut out = std::io::stdout().lock();
            // A caller that has gone does not listen; the lifeline tells.
            let _ = out.write_all(&bytes).and_then(|()| out.flush());
        }
    };
    let place = Place::local().stopped_by(stop);
    patchmark_agent::execute(&spec, Path::new(&dir), &place, &mut tell);
    Some(ExitCode::SUCCESS)
}

fn facts() -> Result<TestboxFacts, TestboxError> {
    let allowed = rustix::thread::sched_getaffinity(None).map_err(|error| Error::System {
        what: "cannot read the CPU affinity",
        source: error.into(),
    })?;
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(TestboxFacts {
        kind: TestboxKind::Local,
        group: format!("local-{}", plain(&name)),
        clock: Clock::Real,
        nr_cpu: allowed.count(),
        nr_node: nodes(Path::new("/sys/devices/system/node")),
        memory: memory(&fs_err::read_to_string("/proc/meminfo").unwrap_or_default()),
        rootfs: host_rootfs(),
    })
}

/// A host name as part of a folder's name.
fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// `node0`, `node1`, ...; a kernel without NUMA has one node.
fn nodes(folder: &Path) -> u32 {
    let is_node = |name: String| {
        name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let count = entries.filter(|entry| is_node(entry.file_name().to_string_lossy().into_owned()));
    u32::try_from(count.count()).unwrap_or(1).max(1)
}

/// `MemTotal` of proc(5)'s meminfo, in bytes.
fn memory(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_of_this_machine() {
        let testbox = LocalTestbox::new().unwrap();
        let facts = testbox.facts();
        assert!(facts.group.starts_with("local-"));
        assert_eq!(facts.clock, Clock::Real);
        assert!(facts.nr_cpu > 0 && facts.nr_node > 0 && facts.memory > 1 << 20);
    }

    #[test]
    fn names_and_numbers_are_read_from_text() {
        assert_eq!(plain("host.example/x y"), "host.example-x-y");
        assert_eq!(plain(""), "unnamed");
        assert_eq!(memory("MemTotal:       24689024 kB\nMemFree: 1 kB\n"), 24_689_024 * 1024);
        assert_eq!(nodes(Path::new("/no/such/folder")), 1);
    }

    #[test]
    fn other_processes_are_no_children() {
        assert!(local_child().is_none());
    }
}
