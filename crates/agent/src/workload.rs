//! The workload: its commands, one after another, in a cgroup of their own, with limits.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use patchmark_model::{Command, Failure, FailureReason, Workload, WorkloadExit};

use crate::Place;
use crate::cgroup::Cgroup;
use crate::complaint::printable;
use crate::gnu_time::TimeReport;
use crate::perf::Perf;
use crate::process::{Process, Waited, Wake, signal_name};
use crate::rawfile::{MAX_RAW, compress};
use crate::sys::{Ended, isolate};

/// How often it is looked whether somebody wants the run to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a run directory has besides raw files of programs.
const RESERVED: [&str; 9] = [
    "job.yaml",
    "env.json",
    "run.json",
    "metrics.json",
    "time",
    "dmesg",
    "stderr",
    "stdout",
    "work",
];

/// Where and how workloads run.
pub(crate) struct Stage<'a> {
    pub(crate) place: &'a Place,
    /// The run directory.
    pub(crate) dir: &'a Path,
    /// The workload's working directory.
    pub(crate) work: &'a Path,
    pub(crate) cgroup: Option<&'a Cgroup>,
    /// When the workload is ended.
    pub(crate) deadline: Instant,
    /// The limit that makes the deadline, for messages.
    pub(crate) limit_s: u32,
}

/// What came of the workloads.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) exits: Vec<WorkloadExit>,
    pub(crate) failure: Option<Failure>,
    /// Raw files that were cut, and the like.
    pub(crate) notes: Vec<String>,
    /// The end of what the failed command wrote to standard error.
    pub(crate) last_words: String,
    times: Vec<(String, TimeReport)>,
}

impl Stage<'_> {
    /// Runs all commands; the first that fails is the last.
    pub(crate) fn run(&self, workloads: &[Workload], perf: &mut Perf) -> Outcome {
        let mut outcome = Outcome::default();
        for workload in workloads {
            let mut report = TimeReport::default();
            for command in &workload.commands {
                if let Err(failure) =
                    self.run_command(workload, command, perf, &mut report, &mut outcome)
                {
                    outcome.failure = Some(failure);
                    break;
                }
            }
            outcome.times.push((workload.program.clone(), report));
            if outcome.failure.is_some() {
                break;
            }
        }
        outcome
    }

    /// Ends everything the workload has started.
    pub(crate) fn clear(&self, outcome: &mut Outcome) {
        if self.cgroup.is_some_and(|cgroup| !cgroup.kill()) {
            outcome.notes.push(
                "processes of the workload cannot be killed: they hang in the kernel".to_owned(),
            );
        }
    }

    fn run_command(
        &self,
        workload: &Workload,
        command: &Command,
        perf: &mut Perf,
        report: &mut TimeReport,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let raw = self.dir.join(raw_name(&workload.program)?);
        let errors = self.dir.join("stderr");
        let before = (length(&raw), length(&errors));
        let mut process = self
            .start(command, &raw, &errors)
            .map_err(|error| workload_failed(start_error(command, &error)))?;
        let waited = process.wait(|now| self.wake(now, perf));
        let (ended, usage, elapsed) = match waited {
            Ok(Waited::Ended { ended, usage, elapsed }) => (ended, usage, elapsed),
            Ok(Waited::GiveUp) => {
                let elapsed = process.elapsed();
                self.kill(&mut process);
                outcome.exits.push(exit_of(workload, None, elapsed));
                return Err(self.gave_up(command));
            }
            Err(error) => {
                return Err(workload_failed(format!("waiting for the workload: {error}")));
            }
        };
        // What it started goes with it, so that the next command finds a quiet machine.
        process.kill_group();
        report.add(&command.argv, ended, &usage, elapsed);
        outcome.exits.push(exit_of(workload, Some(ended), elapsed));
        match ended {
            Ended::Exited(0) => {
                if let Err(error) = take_stderr_if_stdout_is_empty(&raw, &errors, before) {
                    outcome.notes.push(format!("{}: {error}", raw.display()));
                }
                Ok(())
            }
            _ => {
                outcome.last_words =
                    last_line(&errors).or_else(|| last_line(&raw)).unwrap_or_default();
                Err(workload_failed(end_message(command, ended, elapsed, &outcome.last_words)))
            }
        }
    }

    fn start(&self, command: &Command, raw: &Path, errors: &Path) -> io::Result<Process> {
        let program = command.argv.first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut start = self.place.command(program);
        start.args(command.argv.iter().skip(1)).envs(&command.env);
        start.current_dir(self.work).stdin(Stdio::null());
        start.stdout(append_to(raw)?).stderr(append_to(errors)?);
        let entrance = self.cgroup.map(Cgroup::entrance).transpose()?;
        isolate(&mut start, entrance);
        Process::start(&mut start)
    }

    fn wake(&self, now: Instant, perf: &mut Perf) -> Wake {
        if now >= self.deadline || self.place.is_stopped() {
            return Wake::GiveUp;
        }
        perf.tick(now);
        let mut until = self.deadline;
        if self.place.can_be_stopped() {
            until = until.min(now + LOOK);
        }
        if let Some(next) = perf.next() {
            until = until.min(next);
        }
        Wake::Until(until)
    }

    fn kill(&self, process: &mut Process) {
        process.kill_group();
        if let Some(cgroup) = self.cgroup {
            cgroup.kill();
        }
        let _ = process.wait_for(Duration::from_secs(5));
    }

    fn gave_up(&self, command: &Command) -> Failure {
        if self.place.is_stopped() {
            return workload_failed("the run was stopped on request".to_owned());
        }
        Failure {
            reason: FailureReason::Timeout,
            detail: printable(&format!(
                "`{}` was ended: the workload took longer than its limit of {} s",
                command.argv.join(" "),
                self.limit_s
            )),
        }
    }

    /// Compresses raw files, writes `time` files and moves what the workload left behind.
    pub(crate) fn collect(&self, workloads: &[Workload], outcome: &mut Outcome) -> io::Result<()> {
        let mut all = String::new();
        for (program, report) in &outcome.times {
            let Some(text) = report.text() else { continue };
            fs::write(self.dir.join(format!("{program}.time")), &text)?;
            all.push_str(&text);
        }
        if !all.is_empty() {
            fs::write(self.dir.join("time"), all)?;
        }
        let mut raws: Vec<&str> = Vec::new();
        for workload in workloads {
            for file in &workload.files {
                self.keep(file, outcome)?;
            }
            if raw_name(&workload.program).is_ok() && !raws.contains(&workload.program.as_str()) {
                raws.push(&workload.program);
            }
        }
        for raw in raws.into_iter().chain(["stderr"]) {
            let path = self.dir.join(raw);
            if path.exists() && compress(&path, MAX_RAW)? {
                outcome.notes.push(format!("{raw} is cut after {} MiB", MAX_RAW >> 20));
            }
        }
        Ok(())
    }

    /// Moves a file that the workload left in its working directory into the run directory.
    fn keep(&self, file: &str, outcome: &mut Outcome) -> io::Result<()> {
        let name = Path::new(file);
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        let source = self.work.join(name);
        // Only what it made itself: a link could point anywhere.
        let is_file = fs::symlink_metadata(&source).is_ok_and(|metadata| metadata.is_file());
        let flat = file.replace('/', "_");
        if !is_plain || !is_file || RESERVED.contains(&flat.as_str()) {
            outcome.notes.push(format!("the workload left no file {file}"));
            return Ok(());
        }
        let target = self.dir.join(flat);
        fs::copy(&source, &target)?;
        compress(&target, MAX_RAW)?;
        Ok(())
    }
}

/// The name of a program's raw file; one that is no plain file name would lead elsewhere.
fn raw_name(program: &str) -> Result<PathBuf, Failure> {
    let is_plain = !program.is_empty()
        && !program.starts_with('.')
        && !program.contains(['/', '\0'])
        && !RESERVED.contains(&program);
    if is_plain {
        Ok(PathBuf::from(program))
    } else {
        Err(workload_failed(format!("`{program}` cannot be the name of a raw file")))
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// A program that writes its results to standard error alone, as stress-ng does in some versions,
/// has that as its raw output.
fn take_stderr_if_stdout_is_empty(raw: &Path, errors: &Path, before: (u64, u64)) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    if length(raw) > before.0 || length(errors) == before.1 {
        return Ok(());
    }
    let mut source = File::options().read(true).write(true).open(errors)?;
    source.seek(SeekFrom::Start(before.1))?;
    io::copy(&mut source, &mut append_to(raw)?)?;
    // What is a result is no complaint: `stderr` keeps what was there before.
    source.set_len(before.1)
}

fn exit_of(workload: &Workload, ended: Option<Ended>, elapsed: Duration) -> WorkloadExit {
    let (code, signal) = match ended {
        Some(Ended::Exited(code)) => (Some(code), None),
        Some(Ended::Signaled(signal)) => (None, Some(signal)),
        None => (None, Some(libc::SIGKILL)),
    };
    let program = workload.program.clone();
    WorkloadExit { program, code, signal, elapsed_s: elapsed.as_secs_f64() }
}

fn workload_failed(detail: String) -> Failure {
    Failure { reason: FailureReason::WorkloadFailed, detail: printable(&detail) }
}

fn start_error(command: &Command, error: &io::Error) -> String {
    let program = command.argv.first().map_or("", String::as_str);
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("`{program}` is not on this testbox: install or pack it")
        }
        _ => format!("`{program}` could not be started: {error}"),
    }
}

fn end_message(command: &Command, ended: Ended, elapsed: Duration, last_words: &str) -> String {
    let how = match ended {
        Ended::Exited(code) => format!("exited with status {code}"),
        Ended::Signaled(signal) => format!("was killed by {}", signal_name(signal)),
    };
    let said =
        if last_words.is_empty() { String::new() } else { format!("; it said: {last_words}") };
    format!("`{}` {how} after {:.1} s{said}", command.argv.join(" "), elapsed.as_secs_f64())
}

/// The last line with content of a file, of which only the end is read.
fn last_line(path: &Path) -> Option<String> {
    use std::os::unix::fs::FileExt;
    const END: u64 = 4096;
    let file = File::open(path).ok()?;
    let start = file.metadata().ok()?.len().saturating_sub(END);
    let mut tail = vec![0; END as usize];
    let n = file.read_at(&mut tail, start).ok()?;
    let text = String::from_utf8_lossy(tail.get(..n)?).into_owned();
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(printable(line))
}
