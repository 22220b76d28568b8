//! vmstat: rows like those of procps' `vmstat --timestamp -n`, from /proc/stat, /proc/meminfo
//! and /proc/vmstat.
//!
//! The row that the tool prints first, averages since boot, is left out (as by its option
//! `-y`): it says nothing about the workload and weighs a third in a run of three samples.

use std::io::{self, Write};
use std::time::Instant;

use super::calendar::Civil;
use super::cpu_times::KernelCounters;
use super::proc_files::{FileId, ProcFiles};
use super::source::{Moment, Source};
use crate::Place;

const HEAD: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
";

/// The monitor.
pub(crate) struct VmStat {
    stat: FileId,
    meminfo: FileId,
    vmstat: FileId,
    kb_per_page: u64,
    before: Option<(Instant, Counters)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    kernel: KernelCounters,
    swapped_in: u64,
    swapped_out: u64,
    paged_in: u64,
    paged_out: u64,
}

/// Amounts of memory in KiB.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    swap_used: u64,
    free: u64,
    buffers: u64,
    cache: u64,
}

impl VmStat {
    /// Opens the three files.
    pub(crate) fn open(place: &Place, files: &mut ProcFiles) -> Result<VmStat, String> {
        Ok(VmStat {
            stat: files.open(place, "/proc/stat")?,
            meminfo: files.open(place, "/proc/meminfo")?,
            vmstat: files.open(place, "/proc/vmstat")?,
            kb_per_page: rustix::param::page_size() as u64 / 1024,
            before: None,
        })
    }

    fn counters(&self, files: &mut ProcFiles, round: u64) -> io::Result<Counters> {
        let stat = String::from_utf8_lossy(files.read(self.stat, round)?);
        let kernel = KernelCounters::parse(&stat);
        let vmstat = String::from_utf8_lossy(files.read(self.vmstat, round)?);
        let mut counters = Counters { kernel, ..Counters::default() };
        for line in vmstat.lines().filter(|line| line.starts_with('p')) {
            let Some((key, value)) = line.split_once(' ') else { continue };
            let slot = match key {
                "pswpin" => &mut counters.swapped_in,
                "pswpout" => &mut counters.swapped_out,
                "pgpgin" => &mut counters.paged_in,
                "pgpgout" => &mut counters.paged_out,
                _ => continue,
            };
            *slot = value.trim().parse().unwrap_or(0);
        }
        Ok(counters)
    }
}

impl Source for VmStat {
    fn sample(
        &mut self,
        files: &mut ProcFiles,
        moment: &Moment,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let now = self.counters(files, moment.round)?;
        let before = self.before.replace((moment.at, now));
        let Some((then, before)) = before else {
            out.extend_from_slice(HEAD.as_bytes());
            return Ok(());
        };
        let memory =
            Memory::parse(&String::from_utf8_lossy(files.read(self.meminfo, moment.round)?));
        let seconds = moment.at.duration_since(then).as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds).round();
        let pages = |now: u64, before: u64| rate(now * self.kb_per_page, before * self.kb_per_page);
        let cpu = now.kernel.cpu.since(&before.kernel.cpu);
        let share = |ticks: u64| {
            let total = cpu.total().max(1);
            (100 * ticks + total / 2) / total
        };
        let civil = Civil::of(moment.wall);
        writeln!(
            out,
            "{:2} {:2} {:6} {:6} {:6} {:6} {:4} {:4} {:5} {:5} {:4} {:4} {:2} {:2} {:2} {:2} {:2} {} {}",
            // The sampler itself runs while it reads.
            now.kernel.running.saturating_sub(1),
            now.kernel.blocked,
            memory.swap_used,
            memory.free,
            memory.buffers,
            memory.cache,
            pages(now.swapped_in, before.swapped_in),
            pages(now.swapped_out, before.swapped_out),
            rate(now.paged_in, before.paged_in),
            rate(now.paged_out, before.paged_out),
            rate(now.kernel.interrupts, before.kernel.interrupts),
            rate(now.kernel.context_switches, before.kernel.context_switches),
            share(cpu.user + cpu.nice),
            share(cpu.system + cpu.irq + cpu.softirq),
            share(cpu.idle),
            share(cpu.iowait),
            share(cpu.steal),
            civil.date(),
            civil.time_of_day(),
        )
    }
}

impl Memory {
    fn parse(meminfo: &str) -> Memory {
        let mut memory = Memory::default();
        let mut swap_free = 0;
        for line in meminfo.lines() {
            let Some((key, rest)) = line.split_once(':') else { continue };
            let value = || rest.split_ascii_whitespace().next()?.parse::<u64>().ok();
            match key {
                "MemFree" => memory.free = value().unwrap_or(0),
                "Buffers" => memory.buffers = value().unwrap_or(0),
                // Reclaimable slab is cache too, to procps.
                "Cached" | "SReclaimable" => memory.cache += value().unwrap_or(0),
                "SwapTotal" => memory.swap_used = value().unwrap_or(0),
                "SwapFree" => swap_free = value().unwrap_or(0),
                _ => {}
            }
        }
        memory.swap_used = memory.swap_used.saturating_sub(swap_free);
        memory
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_row_is_what_vmstat_prints() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::local().with_root(root.path());
        let proc = root.path().join("proc");
        fs::create_dir(&proc).unwrap();
        let write = |stat: &str, vmstat: &str| {
            fs::write(proc.join("stat"), stat).unwrap();
            fs::write(proc.join("vmstat"), vmstat).unwrap();
        };
        let meminfo = "MemTotal: 999 kB\nMemFree:  224752 kB\nBuffers: 33636 kB\nCached: 6000000 kB\n\
                       SwapTotal: 100 kB\nSwapFree: 40 kB\nSReclaimable: 760180 kB\n";
        fs::write(proc.join("meminfo"), meminfo).unwrap();
        let mut files = ProcFiles::default();
        write(
            "cpu  0 0 0 0 0 0 0 0 0 0\nintr 0 1 2\nctxt 0\nprocs_running 1\nprocs_blocked 0\n",
            "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\n",
        );
        let mut vmstat = VmStat::open(&place, &mut files).unwrap();
        let start = Instant::now();
        let wall = Duration::from_secs(1_421_007_515);
        let mut out = Vec::new();
        vmstat.sample(&mut files, &Moment { round: 1, wall, at: start }, &mut out).unwrap();
        write(
            "cpu  30 10 25 120 5 5 5 0 9 0\nintr 1506 1 2\nctxt 4374\nprocs_running 3\nprocs_blocked 1\n",
            "pgpgin 20\npgpgout 8\npswpin 1\npswpout 2\n",
        );
        let later = Moment {
            round: 2,
            wall: wall + Duration::from_secs(2),
            at: start + Duration::from_secs(2),
        };
        vmstat.sample(&mut files, &later, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
         2  1     60 224752  33636 6760180    2    4    10     4  753 2187 20 18 60  3  0 2015-01-11 20:18:37
        ");
    }
}
