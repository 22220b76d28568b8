//! perf-profile: call chains sampled on all CPUs, and perf's report of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use patchmark_model::Monitor;

use super::control::Control;
use super::{REPORTING, Recorder, STARTING, events, last_words};
use crate::Place;
use crate::process::{Process, Waited};
use crate::rawfile::{MAX_RAW, compress};
use crate::sys::{Ended, isolate};

/// Samples a second and CPU when the job names neither frequency nor period: enough to see a
/// function of 0.1 % in a minute, at less than 1 % of the CPU.
const FREQUENCY: u32 = 800;

const KPTR_RESTRICT: &str = "/proc/sys/kernel/kptr_restrict";

/// When to record, from the start of the workload on.
#[derive(Clone, Copy, Debug, Default)]
struct Schedule {
    delay: Option<Duration>,
    duration: Option<Duration>,
    /// When to switch on, and when to end; set when the workload starts.
    begin: Option<Instant>,
    end: Option<Instant>,
}

/// `perf record` under way.
pub(super) struct Profile {
    process: Process,
    executable: PathBuf,
    dir: PathBuf,
    control: Control,
    schedule: Schedule,
    report_options: Vec<String>,
    old_kptr_restrict: Option<String>,
}

impl Profile {
    /// Starts recording; the second value tells what stands in for cycles.
    pub(super) fn start(
        executable: &Path,
        monitor: &Monitor,
        place: &Place,
        dir: &Path,
    ) -> Result<(Profile, Option<String>), String> {
        let option = |key: &str| monitor.options.get(key).map(String::as_str);
        let seconds = |key: &str| {
            let number = option(key).and_then(|text| text.parse::<f64>().ok());
            number.filter(|n| *n > 0.0 && *n < 1e6).map(Duration::from_secs_f64)
        };
        let has_cycles = events::has_cycles();
        let default = if has_cycles { "cycles" } else { "cpu-clock" };
        let event = option("events").filter(|list| !list.is_empty()).unwrap_or(default);
        let mut arguments: Vec<String> =
            ["record", "-q", "-g", "-m", "256", "-N"].map(str::to_owned).to_vec();
        match (option("freq"), option("period")) {
            (Some(freq), _) => arguments.push(format!("--freq={freq}")),
            (None, Some(period)) => arguments.push(format!("--count={period}")),
            (None, None) => arguments.push(format!("--freq={FREQUENCY}")),
        }
        match option("cpu") {
            Some(cpus) => arguments.extend(["-C".to_owned(), cpus.to_owned()]),
            None => arguments.push("-a".to_owned()),
        }
        for event in event.split_ascii_whitespace() {
            arguments.extend(["-e".to_owned(), event.to_owned()]);
        }
        let control =
            Control::make(dir).map_err(|error| format!("perf's control pipes: {error}"))?;
        // Prepared, but switched off until told.
        arguments.extend(["-D".to_owned(), "-1".to_owned(), control.option()]);
        let data = dir.join("perf-profile.data");
        arguments.extend(["-o".to_owned(), data.to_string_lossy().into_owned()]);

        let old_kptr_restrict = show_kernel_symbols(place);
        let mut command = place.command(&executable.to_string_lossy());
        command.args(&arguments);
        let process = start(&mut command, &dir.join("perf-profile.stdout"), &dir.join(ERRORS))
            .map_err(|error| format!("perf record could not be started: {error}"))?;
        let schedule = Schedule {
            delay: seconds("delay"),
            duration: seconds("duration"),
            ..Schedule::default()
        };
        let note = (event == "cpu-clock" && !has_cycles).then(|| {
            "perf-profile: no performance monitoring unit here, sampled by cpu-clock".to_owned()
        });
        let profile = Profile {
            process,
            executable: executable.to_owned(),
            dir: dir.to_owned(),
            control,
            schedule,
            report_options: report_options(monitor),
            old_kptr_restrict,
        };
        Ok((profile, note))
    }

    fn report(&self, place: &Place) -> Result<(), String> {
        let raw = self.dir.join("perf-profile");
        let mut command = place.command(&self.executable.to_string_lossy());
        command.args(&self.report_options).arg(self.dir.join("perf-profile.data"));
        let mut process = start(&mut command, &raw, &self.dir.join(ERRORS))
            .map_err(|error| format!("perf report could not be started: {error}"))?;
        match process.wait_for(REPORTING) {
            Ok(Waited::Ended { ended: Ended::Exited(0), .. }) => {}
            Ok(Waited::Ended { .. }) => {
                return Err(format!("perf report failed: {}", last_words(&self.dir.join(ERRORS))));
            }
            _ => {
                process.kill_group();
                return Err("perf report took longer than ten minutes".to_owned());
            }
        }
        compress(&raw, MAX_RAW).map_err(|error| format!("perf-profile: {error}"))?;
        Ok(())
    }
}

/// What perf says goes here and is removed in the end.
const ERRORS: &str = "perf-profile.stderr";

impl Recorder for Profile {
    fn program(&self) -> &'static str {
        "perf-profile"
    }

    fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    fn wait_until_ready(&mut self, _place: &Place) -> Result<(), String> {
        let first = if self.schedule.delay.is_some() { "disable" } else { "enable" };
        self.control.send(first).map_err(|error| format!("perf's control pipe: {error}"))?;
        if let Err(why) = self.control.wait_for_answer(&mut self.process, STARTING) {
            self.process.kill_group();
            return Err(why);
        }
        let now = Instant::now();
        let Schedule { delay, duration, .. } = self.schedule;
        self.schedule.begin = delay.map(|delay| now + delay);
        self.schedule.end = duration.map(|duration| now + delay.unwrap_or_default() + duration);
        Ok(())
    }

    fn next(&self) -> Option<Instant> {
        self.schedule.begin.or(self.schedule.end)
    }

    fn tick(&mut self, _now: Instant) {
        if self.schedule.begin.take().is_some() {
            // One that cannot be switched on any more leaves no samples, which its report tells.
            let _ = self.control.send("enable");
        } else if self.schedule.end.take().is_some() {
            self.process.signal(rustix::process::Signal::INT);
        }
    }

    fn collect(&mut self, place: &Place) -> Result<(), String> {
        let data = self.dir.join("perf-profile.data");
        let recorded = std::fs::metadata(&data).is_ok_and(|metadata| metadata.len() > 0);
        let result = if recorded {
            let reported = self.report(place);
            let kept =
                compress(&data, MAX_RAW).map_err(|error| format!("perf-profile.data: {error}"));
            reported.and(kept.map(|_| ()))
        } else {
            Err(format!("perf record left no data: {}", last_words(&self.dir.join(ERRORS))))
        };
        for leftover in [ERRORS, "perf-profile.stdout", "perf-profile"] {
            let _ = std::fs::remove_file(self.dir.join(leftover));
        }
        if let Some(old) = self.old_kptr_restrict.take() {
            let _ = std::fs::write(place.path(KPTR_RESTRICT), old);
        }
        result
    }
}

/// The report is read by its layout: overhead with and without children by symbol, each with
/// its callers in one line.
fn report_options(monitor: &Monitor) -> Vec<String> {
    let option = |key: &str| monitor.options.get(key).map(String::as_str);
    let no_children =
        option("children").is_some_and(|word| matches!(word, "0" | "n" | "no" | "false"));
    let children = if no_children { "--no-children" } else { "--children" };
    let inline = if option("inline").is_some() { "--inline" } else { "--no-inline" };
    let chains = option("callgraph").unwrap_or("folded,0.5,callee");
    [
        "report",
        "--stdio",
        inline,
        children,
        "--header",
        "-U",
        "-g",
        chains,
        "--sort=dso,symbol",
        "-i",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn start(command: &mut Command, output: &Path, errors: &Path) -> std::io::Result<Process> {
    command.stdin(Stdio::null()).stdout(File::create(output)?).stderr(File::create(errors)?);
    isolate(command, None);
    Process::start(command)
}

/// Lets perf read the addresses of kernel symbols; returns the setting to restore.
fn show_kernel_symbols(place: &Place) -> Option<String> {
    let old = place.text(KPTR_RESTRICT).filter(|old| old != "0")?;
    std::fs::write(place.path(KPTR_RESTRICT), "0").is_ok().then_some(old)
}
