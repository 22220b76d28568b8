//! What a monitor reads: which programs the sampler knows and how each is opened.

use std::io;
use std::time::{Duration, Instant};

use patchmark_model::Monitor;

use super::cpuidle::CpuIdle;
use super::file_text::{FileText, Stamp};
use super::mpstat::MpStat;
use super::numa_text::NumaText;
use super::proc_files::ProcFiles;
use super::uptime::Uptime;
use super::vmstat::VmStat;
use crate::Place;

/// When a sample is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Counts the rounds of sampling; a file is read once a round.
    pub(crate) round: u64,
    /// Time since the epoch on the testbox's clock.
    pub(crate) wall: Duration,
    /// The same on the clock that never jumps.
    pub(crate) at: Instant,
}

/// A monitor's way to read and write.
pub(crate) trait Source: Send {
    /// Appends one sample in the monitor's raw form.
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()>;

    /// Appends what the raw form ends with.
    fn finish(&mut self, _out: &mut Vec<u8>) {}

    /// Whether a monitor without interval takes a sample before the workload too.
    fn wants_first(&self) -> bool {
        true
    }
}

/// The monitors that the sampler serves.
const PROGRAMS: [&str; 19] = [
    "buddyinfo",
    "cpuidle",
    "diskstats",
    "interrupts",
    "meminfo",
    "mpstat",
    "numa-meminfo",
    "numa-numastat",
    "numa-vmstat",
    "pagetypeinfo",
    "proc-stat",
    "proc-vmstat",
    "sched_debug",
    "slabinfo",
    "softirqs",
    "uptime",
    "vmstat",
    "zoneinfo",
    "loadavg",
];

/// Whether a monitor is one of the sampler's.
pub(crate) fn is_sampled(program: &str) -> bool {
    PROGRAMS.contains(&program)
}

/// Opens what a monitor reads. The error says why it cannot be served here, for a person.
pub(crate) fn open(
    monitor: &Monitor,
    place: &Place,
    files: &mut ProcFiles,
) -> Result<Box<dyn Source>, String> {
    let seconds = |path: &str, files: &mut ProcFiles| {
        FileText::open(place, files, &[path], Stamp::Seconds).map(boxed)
    };
    let nanoseconds = |path: &str, files: &mut ProcFiles| {
        FileText::open(place, files, &[path], Stamp::Nanoseconds).map(boxed)
    };
    match monitor.program.as_str() {
        "proc-vmstat" => FileText::open(place, files, &["/proc/vmstat"], Stamp::Seconds)
            .map(|text| boxed(text.without_repeated_keys())),
        "proc-stat" => seconds("/proc/stat", files),
        "meminfo" => seconds("/proc/meminfo", files),
        "diskstats" => seconds("/proc/diskstats", files),
        "slabinfo" => seconds("/proc/slabinfo", files),
        "buddyinfo" => seconds("/proc/buddyinfo", files),
        "zoneinfo" => seconds("/proc/zoneinfo", files),
        "pagetypeinfo" => seconds("/proc/pagetypeinfo", files),
        "loadavg" => seconds("/proc/loadavg", files),
        "sched_debug" => FileText::open(
            place,
            files,
            &["/sys/kernel/debug/sched/debug", "/proc/sched_debug"],
            Stamp::Seconds,
        )
        .map(boxed),
        "interrupts" => nanoseconds("/proc/interrupts", files),
        "softirqs" => nanoseconds("/proc/softirqs", files),
        "numa-vmstat" => NumaText::open(place, files, "vmstat").map(boxed),
        "numa-meminfo" => NumaText::open(place, files, "meminfo").map(boxed),
        "numa-numastat" => NumaText::open(place, files, "numastat").map(boxed),
        "cpuidle" => CpuIdle::open(place, files).map(boxed),
        "uptime" => Uptime::open(place, files).map(boxed),
        "vmstat" => VmStat::open(place, files).map(boxed),
        "mpstat" => MpStat::open(place, files, monitor).map(boxed),
        other => Err(format!("the agent has no monitor `{other}`")),
    }
}

fn boxed<S: Source + 'static>(source: S) -> Box<dyn Source> {
    Box::new(source)
}

#[cfg(test)]
mod tests {
    use super::super::tests::monitor;
    use super::*;

    /// Two samples of a monitor on this machine; `None` when it cannot be served here.
    fn record(program: &str) -> Option<String> {
        let place = Place::local();
        let mut files = ProcFiles::default();
        let mut source = open(&monitor(program, 1000), &place, &mut files)
            .inspect_err(|why| println!("skipped: {program}: {why}"))
            .ok()?;
        let mut out = Vec::new();
        for round in 1..=2 {
            let wall = Duration::new(1_796_070_604 + round, 5);
            source
                .sample(&mut files, &Moment { round, wall, at: Instant::now() }, &mut out)
                .unwrap();
        }
        source.finish(&mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_monitor_writes_samples_under_a_time_line() {
        let by_columns = ["vmstat", "mpstat"];
        for program in PROGRAMS.into_iter().filter(|program| !by_columns.contains(program)) {
            let Some(text) = record(program) else { continue };
            let stamps: Vec<&str> =
                text.lines().filter(|line| line.starts_with("time: ")).collect();
            assert_eq!(stamps.len(), 2, "{program}");
            assert!(stamps[0].starts_with("time: 1796070605"), "{program}: {}", stamps[0]);
            assert!(text.starts_with("time: ") && text.ends_with('\n'), "{program}");
            assert!(text.lines().count() >= 4, "{program}: {text}");
        }
    }

    #[test]
    fn the_samples_have_the_form_their_parsers_read() {
        let rows = |program: &str| record(program).unwrap_or_default();
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        for program in ["proc-vmstat", "numa-numastat", "numa-vmstat"] {
            for line in rows(program).lines().filter(|line| !line.contains(':')) {
                let words: Vec<&str> = line.split(' ').collect();
                assert!(words.len() == 2 && is_number(words[1]), "{program}: {line}");
            }
        }
        for program in ["meminfo", "numa-meminfo"] {
            for line in rows(program).lines() {
                assert!(line.contains(": "), "{program}: {line}");
            }
        }
        let keys: Vec<String> = rows("uptime")
            .lines()
            .filter_map(|line| Some(line.split_once(": ")?.0.to_owned()))
            .collect();
        assert_eq!(keys, ["time", "boot", "idle", "time", "boot", "idle"]);
        assert!(rows("softirqs").contains("TIMER:"));
        let row = rows("vmstat").lines().last().unwrap_or_default().to_owned();
        assert_eq!(row.split_whitespace().count(), 19, "{row}");
        let mpstat: serde_json::Value = serde_json::from_str(&rows("mpstat")).unwrap();
        assert!(mpstat["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"][0]["idle"].is_number());
    }
}
