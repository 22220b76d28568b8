//! perf-stat: counts of events over time.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use patchmark_model::Monitor;

use super::{Recorder, STARTING, events, last_words};
use crate::Place;
use crate::process::{Process, Waited};
use crate::rawfile::{MAX_RAW, compress};

/// `perf stat` under way.
pub(super) struct Stat {
    process: Process,
    raw: PathBuf,
    errors: PathBuf,
}

impl Stat {
    /// Starts counting on all CPUs; the second value tells which events stand in for others.
    ///
    /// The raw file begins with the command line, from which readers take the list of events,
    /// as in lkp-tests.
    pub(super) fn start(
        executable: &Path,
        monitor: &Monitor,
        place: &Place,
        dir: &Path,
    ) -> Result<(Stat, Option<String>), String> {
        let option = |key: &str| monitor.options.get(key).map(String::as_str);
        let chosen = option("revents").or(option("events")).filter(|list| !list.is_empty());
        let list = chosen.map_or_else(events::default_list, |list| {
            list.split_ascii_whitespace().collect::<Vec<_>>().join(",")
        });
        let interval = if monitor.interval_ms == 0 { 1000 } else { monitor.interval_ms };
        let delay: u32 = option("delay").and_then(|delay| delay.parse().ok()).unwrap_or(0);
        let mut arguments: Vec<String> =
            ["stat", "-a", "--scale", "-I"].map(str::to_owned).to_vec();
        arguments.push(interval.to_string());
        arguments.extend(["-x", ",", "-e"].map(str::to_owned));
        arguments.push(list.clone());
        arguments.extend(["--log-fd", "1"].map(str::to_owned));
        if option("per_socket").is_some_and(is_true) {
            arguments.push("--per-socket".to_owned());
        }
        arguments.extend(["-D".to_owned(), (u64::from(delay) * 1000).to_string()]);

        let raw = dir.join("perf-stat");
        let errors = dir.join("perf-stat.stderr");
        let process = open_and_start(executable, &arguments, place, &raw, &errors)
            .map_err(|error| format!("perf stat could not be started: {error}"))?;
        let note = (chosen.is_none() && !list.contains("cpu-cycles")).then(|| {
            "perf-stat: no performance monitoring unit here, software events only".to_owned()
        });
        Ok((Stat { process, raw, errors }, note))
    }
}

impl Recorder for Stat {
    fn program(&self) -> &'static str {
        "perf-stat"
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// perf stat has no long preparation: it counts when its counters are open, which shows in
    /// /proc/PID/fd.
    fn wait_until_ready(&mut self, place: &Place) -> Result<(), String> {
        let folder = place.path(&format!("{}/fd", self.process.proc_folder()));
        let end = Instant::now() + STARTING;
        let mut seen = 0;
        while Instant::now() < end {
            match self.process.wait_for(Duration::from_millis(5)) {
                Ok(Waited::Ended { .. }) => return Err("perf stat ended at once".to_owned()),
                Err(error) => return Err(format!("perf stat is lost: {error}")),
                Ok(Waited::GiveUp) => {}
            }
            let now = open_counters(&folder);
            // All are open when there are no more of them than a moment ago.
            if now > 0 && now == seen {
                return Ok(());
            }
            seen = now;
        }
        self.process.kill_group();
        Err(format!("perf stat opened no counters within {} s", STARTING.as_secs()))
    }

    fn collect(&mut self, _place: &Place) -> Result<(), String> {
        let text = crate::place::read_text(&self.raw).unwrap_or_default();
        // The first line is the command's.
        let counted = text.lines().skip(1).any(|line| !line.trim().is_empty());
        let why = last_words(&self.errors);
        let _ = std::fs::remove_file(&self.errors);
        if !counted {
            let _ = std::fs::remove_file(&self.raw);
            return Err(format!("perf stat counted nothing: {why}"));
        }
        compress(&self.raw, MAX_RAW).map_err(|error| format!("perf-stat: {error}"))?;
        Ok(())
    }
}

fn open_and_start(
    executable: &Path,
    arguments: &[String],
    place: &Place,
    raw: &Path,
    errors: &Path,
) -> std::io::Result<Process> {
    let mut file = File::create(raw)?;
    writeln!(file, "perf {} ", arguments.join(" "))?;
    let mut command = place.command(&executable.to_string_lossy());
    command.args(arguments).stdin(std::process::Stdio::null());
    command.stdout(file).stderr(File::create(errors)?);
    crate::sys::isolate(&mut command, None);
    Process::start(&mut command)
}

fn open_counters(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_counter = |path: PathBuf| {
        std::fs::read_link(path).is_ok_and(|target| target.as_os_str() == "anon_inode:[perf_event]")
    };
    entries.filter(|entry| is_counter(entry.path())).count()
}

/// The words for true in job files.
fn is_true(word: &str) -> bool {
    matches!(word, "1" | "y" | "yes" | "true" | "on")
}
