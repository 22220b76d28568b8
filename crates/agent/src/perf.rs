//! Monitors that are the `perf` program: perf-stat and perf-profile.

mod events;
mod profile;
mod stat;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use patchmark_model::{Monitor, Skipped};
use rustix::process::Signal;

use crate::Place;
use crate::process::{Process, Waited};
use profile::Profile;
use stat::Stat;

/// How long perf may take to open its counters, to end, and to make its report.
const STARTING: Duration = Duration::from_secs(5);
const ENDING: Duration = Duration::from_secs(30);
const REPORTING: Duration = Duration::from_secs(600);

/// perf at work beside a workload.
pub(crate) struct Perf {
    recorders: Vec<Box<dyn Recorder>>,
    /// Monitors left out, and why.
    pub(crate) skipped: Vec<Skipped>,
    /// Worth telling: which events stand in for those that the machine lacks.
    pub(crate) notes: Vec<String>,
}

/// One of the two monitors under way.
trait Recorder {
    /// The monitor's name.
    fn program(&self) -> &'static str;

    /// The running process.
    fn process(&mut self) -> &mut Process;

    /// When recording is to end before the workload does.
    fn until(&self) -> Option<Instant> {
        None
    }

    /// After the process is gone: makes the raw file.
    fn collect(&mut self, place: &Place) -> Result<(), String>;
}

/// Whether a monitor is one of perf's.
pub(crate) fn is_perf(program: &str) -> bool {
    matches!(program, "perf-stat" | "perf-profile")
}

impl Perf {
    /// Starts those of the monitors that are perf's and returns when they count.
    pub(crate) fn start(monitors: &[Monitor], place: &Place, dir: &Path) -> Perf {
        let mut perf = Perf { recorders: Vec::new(), skipped: Vec::new(), notes: Vec::new() };
        for monitor in monitors.iter().filter(|monitor| is_perf(&monitor.program)) {
            let known = perf.recorders.iter().any(|known| known.program() == monitor.program);
            if !known {
                perf.start_one(monitor, place, dir);
            }
        }
        perf
    }

    fn start_one(&mut self, monitor: &Monitor, place: &Place, dir: &Path) {
        let started = find_perf(place).and_then(|executable| {
            Ok(match monitor.program.as_str() {
                "perf-stat" => {
                    let (stat, note) = Stat::start(&executable, monitor, place, dir)?;
                    self.notes.extend(note);
                    Box::new(stat) as Box<dyn Recorder>
                }
                _ => {
                    let (profile, note) = Profile::start(&executable, monitor, place, dir)?;
                    self.notes.extend(note);
                    Box::new(profile)
                }
            })
        });
        let counting = started.and_then(|mut recorder| {
            match wait_for_counters(recorder.process(), place) {
                Ok(()) => Ok(recorder),
                // What perf itself said tells more.
                Err(why) => Err(recorder.collect(place).err().unwrap_or(why)),
            }
        });
        match counting {
            Ok(recorder) => self.recorders.push(recorder),
            Err(why) => self.skipped.push(Skipped { program: monitor.program.clone(), why }),
        }
    }

    /// When somebody should call [`Perf::tick`] next, if at all.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.recorders.iter().filter_map(|recorder| recorder.until()).min()
    }

    /// Ends what is to end before the workload does.
    pub(crate) fn tick(&mut self, now: Instant) {
        for recorder in &mut self.recorders {
            if recorder.until().is_some_and(|until| until <= now) {
                recorder.process().signal(Signal::INT);
            }
        }
    }

    /// Ends all recording.
    pub(crate) fn stop(&mut self) {
        for recorder in &mut self.recorders {
            recorder.process().signal(Signal::INT);
        }
        for recorder in &mut self.recorders {
            let process = recorder.process();
            if !matches!(process.wait_for(ENDING), Ok(Waited::Ended { .. })) {
                process.kill_group();
                let _ = process.wait_for(ENDING);
            }
        }
    }

    /// Makes the raw files. Takes a while: call it when nothing is measured any more.
    pub(crate) fn collect(&mut self, place: &Place) {
        for mut recorder in self.recorders.drain(..) {
            if let Err(why) = recorder.collect(place) {
                let program = recorder.program().to_owned();
                self.skipped.push(Skipped { program, why });
            }
        }
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        for recorder in &mut self.recorders {
            recorder.process().kill_group();
        }
    }
}

fn find_perf(place: &Place) -> Result<PathBuf, String> {
    place.find_executable("perf").ok_or_else(|| {
        "the program `perf` is not here: install it (Debian: apt-get install linux-perf)".to_owned()
    })
}

/// Waits until the process has its counters open: they show as links in its /proc/PID/fd.
fn wait_for_counters(process: &mut Process, place: &Place) -> Result<(), String> {
    let end = Instant::now() + STARTING;
    let folder = format!("{}/fd", process.proc_folder());
    let mut seen = 0;
    while Instant::now() < end {
        match process.wait_for(Duration::from_millis(5)) {
            Ok(Waited::Ended { .. }) => return Err("perf ended at once".to_owned()),
            Err(error) => return Err(format!("perf is lost: {error}")),
            Ok(Waited::GiveUp) => {}
        }
        let now = open_counters(&place.path(&folder));
        // All are open when there are no more of them than a moment ago.
        if now > 0 && now == seen {
            return Ok(());
        }
        seen = now;
    }
    process.kill_group();
    let _ = process.wait_for(STARTING);
    Err("perf has not opened its counters within 5 seconds".to_owned())
}

fn open_counters(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_counter = |path: PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.as_os_str() == "anon_inode:[perf_event]")
    };
    entries.filter(|entry| is_counter(entry.path())).count()
}

/// The end of what perf printed, for a reason why it failed.
fn last_words(file: &Path) -> String {
    let text = crate::place::read_text(file).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map(crate::complaint::printable).unwrap_or_default()
}
