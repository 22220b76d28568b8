//! Monitors that are the `perf` program: perf-stat and perf-profile.

mod control;
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
const STARTING: Duration = Duration::from_secs(60);
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

    /// Waits until it counts.
    fn wait_until_ready(&mut self, place: &Place) -> Result<(), String>;

    /// When [`Recorder::tick`] should be called next.
    fn next(&self) -> Option<Instant> {
        None
    }

    /// Begins or ends recording in the midst of the workload.
    fn tick(&mut self, _now: Instant) {}

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
            match recorder.wait_until_ready(place) {
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
        self.recorders.iter().filter_map(|recorder| recorder.next()).min()
    }

    /// Begins or ends what is to begin or end in the midst of the workload.
    pub(crate) fn tick(&mut self, now: Instant) {
        for recorder in &mut self.recorders {
            if recorder.next().is_some_and(|next| next <= now) {
                recorder.tick(now);
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

/// The end of what perf printed, for a reason why it failed.
fn last_words(file: &Path) -> String {
    let text = crate::place::read_text(file).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map(crate::complaint::printable).unwrap_or_default()
}
