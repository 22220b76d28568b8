//! mpstat: JSON like that of sysstat's `mpstat -o JSON`, from /proc/stat.

use std::io::{self, Write};

use patchmark_model::Monitor;

use super::calendar::Civil;
use super::cpu_times::CpuTimes;
use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

/// The monitor. Its option `cpus` (`ALL`) asks for a line for each CPU beside the sum of all.
pub(crate) struct MpStat {
    stat: FileId,
    each_cpu: bool,
    before: Option<Vec<(String, CpuTimes)>>,
    entries: u64,
}

impl MpStat {
    /// Opens /proc/stat.
    pub(crate) fn open(
        place: &Place,
        files: &mut ProcFiles,
        monitor: &Monitor,
    ) -> Result<MpStat, String> {
        let each_cpu = monitor.options.get("cpus").is_some_and(|cpus| cpus == "ALL");
        let stat = files.open(place, "/proc/stat")?;
        Ok(MpStat { stat, each_cpu, before: None, entries: 0 })
    }

    fn cpus(&self, stat: &str) -> Vec<(String, CpuTimes)> {
        let lines = stat.lines().take_while(|line| line.starts_with("cpu"));
        lines
            .filter_map(|line| line.strip_prefix("cpu")?.split_once(' '))
            .take(if self.each_cpu { usize::MAX } else { 1 })
            .map(|(number, columns)| {
                let name = if number.is_empty() { "all" } else { number };
                (name.to_owned(), CpuTimes::parse(columns))
            })
            .collect()
    }
}

impl Source for MpStat {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let now = self.cpus(&String::from_utf8_lossy(files.read(self.stat, moment.round)?));
        let Some(before) = self.before.replace(now.clone()) else {
            return write_head(moment, out);
        };
        let comma = if self.entries == 0 { "" } else { ",\n" };
        self.entries += 1;
        let time = Civil::of(moment.wall).time_of_day();
        write!(
            out,
            "{comma}\t\t\t\t{{\n\t\t\t\t\t\"timestamp\": \"{time}\",\n\t\t\t\t\t\"cpu-load\": ["
        )?;
        let mut comma = "";
        for (name, times) in &now {
            // A CPU that has just come online has no line before.
            let Some((_, then)) = before.iter().find(|(known, _)| known == name) else { continue };
            write!(out, "{comma}\n\t\t\t\t\t\t")?;
            write_load(name, &times.since(then), out)?;
            comma = ",";
        }
        write!(out, "\n\t\t\t\t\t]\n\t\t\t\t}}")
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.before.is_some() {
            out.extend_from_slice(b"\n\t\t\t]\n\t\t}\n\t]\n}}\n");
        }
    }
}

fn write_head(moment: &Moment, out: &mut Vec<u8>) -> io::Result<()> {
    let uname = rustix::system::uname();
    // A host name is not trusted to be free of quotes.
    let word = |text: &std::ffi::CStr| text.to_string_lossy().replace(['"', '\\'], "_");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    writeln!(
        out,
        "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\t\t\t\"nodename\": \"{}\",\n\t\t\t\
         \"sysname\": \"{}\",\n\t\t\t\"release\": \"{}\",\n\t\t\t\"machine\": \"{}\",\n\t\t\t\
         \"number-of-cpus\": {cpus},\n\t\t\t\"date\": \"{}\",\n\t\t\t\"statistics\": [",
        word(uname.nodename()),
        word(uname.sysname()),
        word(uname.release()),
        word(uname.machine()),
        Civil::of(moment.wall).date(),
    )
}

/// Shares in percent; guest time is counted apart from user and nice, as the tool does.
fn write_load(name: &str, times: &CpuTimes, out: &mut Vec<u8>) -> io::Result<()> {
    let total = times.total();
    let share = |ticks: u64| if total == 0 { 0.0 } else { 100.0 * ticks as f64 / total as f64 };
    write!(
        out,
        "{{\"cpu\": \"{name}\", \"usr\": {:.2}, \"nice\": {:.2}, \"sys\": {:.2}, \
         \"iowait\": {:.2}, \"irq\": {:.2}, \"soft\": {:.2}, \"steal\": {:.2}, \
         \"guest\": {:.2}, \"gnice\": {:.2}, \"idle\": {:.2}}}",
        share(times.user.saturating_sub(times.guest)),
        share(times.nice.saturating_sub(times.guest_nice)),
        share(times.system),
        share(times.iowait),
        share(times.irq),
        share(times.softirq),
        share(times.steal),
        share(times.guest),
        share(times.guest_nice),
        share(times.idle),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::super::tests::monitor;
    use super::*;

    fn record(each_cpu: bool) -> serde_json::Value {
        let root = tempfile::tempdir().unwrap();
        let place = Place::local().with_root(root.path());
        fs::create_dir(root.path().join("proc")).unwrap();
        let write = |text: &str| fs::write(root.path().join("proc/stat"), text).unwrap();
        let mut files = ProcFiles::default();
        let mut wanted = monitor("mpstat", 1000);
        if each_cpu {
            wanted.options.insert("cpus".to_owned(), "ALL".to_owned());
        }
        write("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 5\n");
        let mut mpstat = MpStat::open(&place, &mut files, &wanted).unwrap();
        let mut out = Vec::new();
        for (round, stat) in [
            (1, "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 5\n"),
            (2, "cpu  50 0 25 20 5 0 0 0 10 0\ncpu0 50 0 25 20 5 0 0 0 10 0\nintr 5\n"),
            (3, "cpu  50 0 25 20 5 0 0 0 10 0\ncpu0 50 0 25 20 5 0 0 0 10 0\nintr 5\n"),
        ] {
            write(stat);
            let wall = Duration::from_secs(1_796_070_604 + round);
            mpstat
                .sample(&mut files, &Moment { round, wall, at: Instant::now() }, &mut out)
                .unwrap();
        }
        mpstat.finish(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn the_output_is_the_json_of_sysstat() {
        let host = &record(false)["sysstat"]["hosts"][0];
        assert_eq!(host["date"], "2026-11-30");
        let entries = host["statistics"].as_array().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0]["timestamp"], "20:30:06");
        let load = &entries[0]["cpu-load"][0];
        assert_eq!(load["cpu"], "all");
        assert_eq!(load["usr"], 40.0);
        assert_eq!(load["guest"], 10.0);
        assert_eq!(load["idle"], 20.0);
        assert_eq!(entries[1]["cpu-load"][0]["idle"], 0.0, "no time has gone by");
    }

    #[test]
    fn each_cpu_has_a_line_on_demand() {
        let load = record(true)["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"].clone();
        assert_eq!(load.as_array().unwrap().len(), 2);
        assert_eq!(load[1]["cpu"], "0");
    }
}
