//! uptime: seconds since boot and seconds that CPUs were idle.

use std::io::{self, Write};

use super::file_text::Stamp;
use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

/// The monitor. Without an interval it takes one sample, after the workload.
pub(crate) struct Uptime {
    file: FileId,
}

impl Uptime {
    /// Opens /proc/uptime.
    pub(crate) fn open(place: &Place, files: &mut ProcFiles) -> Result<Uptime, String> {
        Ok(Uptime { file: files.open(place, "/proc/uptime")? })
    }
}

impl Source for Uptime {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        Stamp::Nanoseconds.write(moment, out)?;
        let text = String::from_utf8_lossy(files.read(self.file, moment.round)?);
        for (key, value) in ["boot", "idle"].into_iter().zip(text.split_ascii_whitespace()) {
            writeln!(out, "{key}: {value}")?;
        }
        Ok(())
    }

    fn wants_first(&self) -> bool {
        false
    }
}
