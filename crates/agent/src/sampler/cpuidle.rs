//! cpuidle: time and uses of each idle state of each CPU, with the states' names.
//!
//! lkp-tests' own monitor loses the names in a pipe; the form here is the one that its parser
//! is made for: `cpu0.C1.time: 443981275`, blanks of a name as `-`.

use std::io::{self, Write};

use super::file_text::Stamp;
use super::numa_text::numbered;
use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

/// The monitor.
pub(crate) struct CpuIdle {
    states: Vec<State>,
}

struct State {
    label: String,
    time: FileId,
    usage: FileId,
}

impl CpuIdle {
    /// Opens the states of all CPUs.
    pub(crate) fn open(place: &Place, files: &mut ProcFiles) -> Result<CpuIdle, String> {
        const CPUS: &str = "/sys/devices/system/cpu";
        let mut states = Vec::new();
        for cpu in numbered(place, CPUS, "cpu") {
            let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
            for state in numbered(place, &folder, "state") {
                let folder = format!("{folder}/state{state}");
                let Some(name) = place.text(&format!("{folder}/name")) else { continue };
                states.push(State {
                    label: format!("cpu{cpu}.{}", name.replace(char::is_whitespace, "-")),
                    time: files.open(place, &format!("{folder}/time"))?,
                    usage: files.open(place, &format!("{folder}/usage"))?,
                });
            }
        }
        if states.is_empty() {
            return Err(format!(
                "the kernel manages no idle states here: no {CPUS}/cpu0/cpuidle/state0"
            ));
        }
        Ok(CpuIdle { states })
    }
}

impl Source for CpuIdle {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        Stamp::Nanoseconds.write(moment, out)?;
        for state in &self.states {
            for (kind, file) in [("time", state.time), ("usage", state.usage)] {
                write!(out, "{}.{kind}: ", state.label)?;
                out.extend_from_slice(files.read(file, moment.round)?.trim_ascii());
                out.push(b'\n');
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn states_have_their_names() {
        let root = tempfile::tempdir().unwrap();
        for cpu in [0, 10, 2] {
            let states = [(0, "POLL", 1), (1, "haltpoll idle", 2)];
            for (state, name, value) in states {
                let dir = root
                    .path()
                    .join(format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"));
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join("name"), format!("{name}\n")).unwrap();
                fs::write(dir.join("time"), format!("{}\n", value * 100)).unwrap();
                fs::write(dir.join("usage"), format!("{value}\n")).unwrap();
            }
        }
        let place = Place::local().with_root(root.path());
        let mut files = ProcFiles::default();
        let mut cpuidle = CpuIdle::open(&place, &mut files).unwrap();
        let mut out = Vec::new();
        let wall = Duration::new(1_796_070_604, 495_346_285);
        let moment = Moment { round: 1, wall, at: Instant::now() };
        cpuidle.sample(&mut files, &moment, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        time: 1796070604.495346285
        cpu0.POLL.time: 100
        cpu0.POLL.usage: 1
        cpu0.haltpoll-idle.time: 200
        cpu0.haltpoll-idle.usage: 2
        cpu2.POLL.time: 100
        cpu2.POLL.usage: 1
        cpu2.haltpoll-idle.time: 200
        cpu2.haltpoll-idle.usage: 2
        cpu10.POLL.time: 100
        cpu10.POLL.usage: 1
        cpu10.haltpoll-idle.time: 200
        cpu10.haltpoll-idle.usage: 2
        ");
    }
}
