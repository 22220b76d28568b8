//! The sampler: one thread that takes the samples of all periodic monitors.
//!
//! Files below /proc and /sys are opened once and read in place; a file that several monitors
//! need is read once a round. No process is started for a sample. What is read stays in memory
//! in the form of lkp-tests' monitors and is compressed after the workload.
//!
//! A monitor's first sample is taken before the workload starts: [`Sampler::start`] returns
//! after it. Then samples follow at multiples of the interval; a moment that was missed is passed
//! over. When the workload has ended, a last sample is taken if half of an interval has gone by
//! since the one before or if there is only one: counters need two, and a workload shorter than
//! the interval must not look like one that counted nothing.

mod calendar;
mod cpu_times;
mod cpuidle;
mod file_text;
mod mpstat;
mod numa_text;
mod proc_files;
mod source;
mod uptime;
mod vmstat;

use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use patchmark_model::{Monitor, Skipped};
use rustix::time::{ClockId, clock_gettime};

use crate::Place;
use crate::rawfile::RawFile;
pub(crate) use numa_text::numbered;
use proc_files::ProcFiles;
pub(crate) use source::is_sampled;
use source::{Moment, Source};

/// Longest wait for the sampler's thread: it hangs only when a read of /proc does.
const PATIENCE: Duration = Duration::from_secs(60);

/// The sampler at work.
pub(crate) struct Sampler {
    shared: Arc<Shared>,
    report: mpsc::Receiver<Report>,
}

/// What the sampler tells at its end.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// CPU seconds of the sampler between the first sample and the end of the workload.
    pub(crate) cpu_seconds: f64,
    /// Monitors that gave up on the way, and why.
    pub(crate) skipped: Vec<Skipped>,
    /// Raw files that could not be written.
    pub(crate) write_errors: Vec<String>,
}

#[derive(Default)]
struct Shared {
    stopped: Mutex<bool>,
    bell: Condvar,
}

/// One monitor's state in the sampler.
struct Task {
    program: String,
    source: Box<dyn Source>,
    raw: RawFile,
    interval: Option<Duration>,
    next: Instant,
    last: Option<Instant>,
    taken: u32,
}

impl Sampler {
    /// Starts the sampler for those of the monitors that it knows, and returns when the first
    /// sample of each is taken. Also returns the monitors that this machine cannot serve.
    pub(crate) fn start(
        monitors: &[Monitor],
        place: &Place,
        dir: &Path,
    ) -> io::Result<(Option<Sampler>, Vec<Skipped>)> {
        let mut files = ProcFiles::default();
        let (tasks, skipped) = make_tasks(monitors, place, dir, &mut files);
        if tasks.is_empty() {
            return Ok((None, skipped));
        }
        let shared = Arc::new(Shared::default());
        let (ready_sender, ready) = mpsc::channel();
        let (report_sender, report) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let report = run(tasks, files, &theirs, || {
                let _ = ready_sender.send(());
            });
            let _ = report_sender.send(report);
        })?;
        // An error means that the thread is gone; its absence shows again when it is stopped.
        let _ = ready.recv_timeout(PATIENCE);
        Ok((Some(Sampler { shared, report }), skipped))
    }

    /// Takes the last samples, writes the raw files and tells what came of it.
    pub(crate) fn stop(self) -> Report {
        *self.shared.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.bell.notify_all();
        self.report.recv_timeout(PATIENCE).unwrap_or_else(|_| Report {
            write_errors: vec!["the sampler did not end: a file below /proc hangs".to_owned()],
            ..Report::default()
        })
    }
}

fn make_tasks(
    monitors: &[Monitor],
    place: &Place,
    dir: &Path,
    files: &mut ProcFiles,
) -> (Vec<Task>, Vec<Skipped>) {
    let mut tasks: Vec<Task> = Vec::new();
    let mut skipped = Vec::new();
    let now = Instant::now();
    for monitor in monitors.iter().filter(|monitor| is_sampled(&monitor.program)) {
        if tasks.iter().any(|task| task.program == monitor.program) {
            continue;
        }
        let program = monitor.program.clone();
        match source::open(monitor, place, files) {
            Err(why) => skipped.push(Skipped { program, why }),
            Ok(source) => tasks.push(Task {
                raw: RawFile::new(dir, &program),
                program,
                source,
                interval: (monitor.interval_ms > 0)
                    .then(|| Duration::from_millis(u64::from(monitor.interval_ms))),
                next: now,
                last: None,
                taken: 0,
            }),
        }
    }
    (tasks, skipped)
}

/// The sampler's thread.
fn run(mut tasks: Vec<Task>, mut files: ProcFiles, shared: &Shared, ready: impl Fn()) -> Report {
    let mut report = Report::default();
    let mut round = 1;
    let start = Instant::now();
    for task in &mut tasks {
        if task.interval.is_some() || task.source.wants_first() {
            take(task, &mut files, moment(round, start), &mut report);
        }
        task.next = start + task.interval.unwrap_or_default();
    }
    ready();
    let cpu_before = thread_cpu_time();
    while let Some(now) = wait_until_due(&tasks, shared) {
        round += 1;
        for task in &mut tasks {
            let Some(interval) = task.interval.filter(|_| task.next <= now) else { continue };
            take(task, &mut files, moment(round, now), &mut report);
            let missed = now.duration_since(task.next).as_nanos() / interval.as_nanos().max(1);
            task.next += interval * (u32::try_from(missed).unwrap_or(u32::MAX - 1) + 1);
        }
        tasks.retain(|task| !gave_up(task, &report));
    }
    report.cpu_seconds = (thread_cpu_time() - cpu_before).max(0.0);
    round += 1;
    let end = Instant::now();
    for task in &mut tasks {
        if wants_last(task, end) {
            take(task, &mut files, moment(round, end), &mut report);
        }
    }
    tasks.retain(|task| !gave_up(task, &report));
    for mut task in tasks {
        task.source.finish(task.raw.buffer());
        if let Err(error) = task.raw.finish() {
            report.write_errors.push(format!("{}: {error}", task.program));
        }
    }
    report
}

fn wants_last(task: &Task, end: Instant) -> bool {
    let (Some(interval), Some(last)) = (task.interval, task.last) else { return true };
    task.taken < 2 || end.duration_since(last) >= interval / 2
}

fn gave_up(task: &Task, report: &Report) -> bool {
    report.skipped.iter().any(|skipped| skipped.program == task.program)
}

/// Sleeps until a sample is due; `None` when the workload has ended.
fn wait_until_due(tasks: &[Task], shared: &Shared) -> Option<Instant> {
    let next = tasks.iter().filter(|task| task.interval.is_some()).map(|task| task.next).min();
    let mut stopped = shared.stopped.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if *stopped {
            return None;
        }
        let now = Instant::now();
        stopped = match next {
            Some(next) if next <= now => return Some(now),
            Some(next) => match shared.bell.wait_timeout(stopped, next - now) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            },
            None => shared.bell.wait(stopped).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

fn take(task: &mut Task, files: &mut ProcFiles, moment: Moment, report: &mut Report) {
    task.last = Some(moment.at);
    task.taken += 1;
    if task.raw.is_full() {
        return;
    }
    let buffer = task.raw.buffer();
    let length = buffer.len();
    let result = task.source.sample(files, &moment, buffer);
    if result.is_err() {
        buffer.truncate(length);
    }
    if let Err(error) = result.and_then(|()| task.raw.settle()) {
        let why = format!("sample {} could not be taken or kept: {error}", task.taken);
        report.skipped.push(Skipped { program: task.program.clone(), why });
    }
}

fn moment(round: u64, at: Instant) -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { round, wall, at }
}

/// CPU seconds that the calling thread has used.
pub(crate) fn thread_cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    pub(super) fn monitor(program: &str, interval_ms: u32) -> Monitor {
        Monitor { program: program.to_owned(), interval_ms, options: BTreeMap::new() }
    }

    fn raw(dir: &Path, name: &str) -> String {
        let file = std::fs::File::open(dir.join(format!("{name}.zst"))).unwrap();
        String::from_utf8(zstd::decode_all(file).unwrap()).unwrap()
    }

    #[test]
    fn samples_come_at_the_interval_and_snapshots_at_both_ends() {
        let dir = tempfile::tempdir().unwrap();
        let monitors = [
            monitor("meminfo", 50),
            monitor("softirqs", 0),
            monitor("uptime", 0),
            monitor("vmstat", 50),
        ];
        let (sampler, skipped) = Sampler::start(&monitors, &Place::local(), dir.path()).unwrap();
        assert_eq!(skipped, []);
        thread::sleep(Duration::from_millis(230));
        let report = sampler.unwrap().stop();
        assert!(report.skipped.is_empty() && report.write_errors.is_empty(), "{report:?}");
        assert!(report.cpu_seconds > 0.0 && report.cpu_seconds < 0.2, "{}", report.cpu_seconds);
        let samples = |name: &str| raw(dir.path(), name).matches("time: ").count();
        assert!((3..=6).contains(&samples("meminfo")), "{}", samples("meminfo"));
        assert_eq!(samples("softirqs"), 2);
        assert_eq!(samples("uptime"), 1, "one, after the workload, as lkp-tests does");
    }

    #[test]
    fn a_workload_shorter_than_the_interval_still_has_two_samples() {
        let dir = tempfile::tempdir().unwrap();
        let monitors = [monitor("proc-vmstat", 60_000), monitor("vmstat", 60_000)];
        let (sampler, _) = Sampler::start(&monitors, &Place::local(), dir.path()).unwrap();
        sampler.unwrap().stop();
        assert_eq!(raw(dir.path(), "proc-vmstat").matches("time: ").count(), 2);
        assert_eq!(raw(dir.path(), "vmstat").lines().count(), 3, "two lines of head, one row");
    }

    #[test]
    fn a_monitor_without_its_file_is_skipped_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let empty = Place::local().with_root(dir.path());
        let monitors = [monitor("slabinfo", 50), monitor("cpuidle", 0)];
        let (sampler, skipped) = Sampler::start(&monitors, &empty, dir.path()).unwrap();
        assert!(sampler.is_none());
        assert_eq!(skipped.len(), 2);
        assert!(skipped[0].why.contains("/proc/slabinfo"), "{}", skipped[0].why);
    }
}
