//! One run, from the first setup to `run.json`.
//!
//! The order, and why:
//! 1. setups, then `env.json`, so that it describes the machine as the workload finds it;
//! 2. monitors. lkp-tests waits a second between them and the workload; here each monitor says
//!    when it is ready (first sample taken, counters open), and no time is lost;
//! 3. the workload in its cgroup;
//! 4. monitors stop, left-over processes are killed;
//! 5. perf's report, which needs the kernel's symbols as the run had them;
//! 6. setups are restored, raw files compressed, the kernel's log scanned.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use patchmark_model::{
    Event, Failure, FailureReason, Phase, RunRecord, RunSpec, RunState, Skipped,
};

use crate::cgroup::Cgroup;
use crate::kmsg::KernelLog;
use crate::perf::{Perf, is_perf};
use crate::sampler::{Sampler, is_sampled, thread_cpu_time};
use crate::setup::{Applied, Refusal};
use crate::workload::{Outcome, Stage};
use crate::{Place, complaint, debugfs, environment, rawfile, sys};

/// The limit of a workload whose plan has none: a run never hangs.
const DEFAULT_LIMIT_S: u32 = 5 * 3600;

/// Monitors whose raw files every run has.
const ALWAYS: [&str; 3] = ["time", "dmesg", "kmsg"];

/// Executes a run and leaves its directory, `run.json` included, in `dir`.
///
/// Nothing that goes wrong is an error of this function: it ends in the record, as a failure of
/// the run or as something that was left out. Events are told as phases begin.
pub fn execute(
    spec: &RunSpec,
    dir: &Path,
    place: &Place,
    events: &mut dyn FnMut(Event),
) -> RunRecord {
    let mut run = Run::begin(spec, dir, place);
    if let Err(error) = run.run(events) {
        run.fail(
            FailureReason::Incomplete,
            format!("the run directory could not be written: {error}"),
        );
    }
    let mut record = run.record;
    record.state = if record.failure.is_some() { RunState::Failed } else { RunState::Finished };
    if let Err(error) = write_record(dir, &record) {
        let detail = format!("{}: {error}", dir.join("run.json").display());
        record.failure.get_or_insert(Failure { reason: FailureReason::Incomplete, detail });
        record.state = RunState::Failed;
    }
    record
}

/// Writes `run.json`.
pub(crate) fn write_record(dir: &Path, record: &RunRecord) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(record).map_err(io::Error::other)?;
    text.push('\n');
    fs::write(dir.join("run.json"), text)
}

/// A record without anything in it yet.
pub(crate) fn empty_record(spec: &RunSpec) -> RunRecord {
    let now = seconds_since_epoch();
    RunRecord {
        id: spec.id.clone(),
        state: RunState::Failed,
        failure: None,
        start_time: now,
        end_time: now,
        workloads: Vec::new(),
        taint: None,
        dmesg_findings: Vec::new(),
        skipped: Vec::new(),
        agent_cpu_seconds: None,
        phase_seconds: Default::default(),
    }
}

struct Run<'a> {
    spec: &'a RunSpec,
    dir: &'a Path,
    place: &'a Place,
    record: RunRecord,
    notes: Vec<String>,
}

impl<'a> Run<'a> {
    fn begin(spec: &'a RunSpec, dir: &'a Path, place: &'a Place) -> Run<'a> {
        Run { spec, dir, place, record: empty_record(spec), notes: Vec::new() }
    }

    fn run(&mut self, events: &mut dyn FnMut(Event)) -> io::Result<()> {
        events(Event::Phase(Phase::Setup));
        fs::create_dir_all(self.dir)?;
        fs::write(self.dir.join("job.yaml"), &self.spec.plan.job_yaml)?;
        let mut log = KernelLog::open(self.place);
        let _debugfs = debugfs::mount_if_needed(self.place);
        let place = self.place;
        let mut applied = Applied::new(place);
        self.apply_setups(&mut applied);
        self.describe()?;
        let outcome = match self.record.failure {
            Some(_) => None,
            None => Some(self.measure(&applied, events)?),
        };
        events(Event::Phase(Phase::Collect));
        for (program, why) in applied.restore() {
            self.skip(&program, format!("not restored: {why}"));
        }
        self.read_log(&mut log)?;
        if let Some(outcome) = outcome {
            self.judge(outcome);
        }
        self.record.taint =
            self.place.text("/proc/sys/kernel/tainted").and_then(|text| text.parse().ok());
        for note in self.notes.drain(..) {
            events(Event::Note(note));
        }
        Ok(())
    }

    fn apply_setups(&mut self, applied: &mut Applied<'_>) {
        for setup in &self.spec.plan.setups {
            match applied.apply(setup) {
                Ok(()) => {}
                Err(Refusal::LeftOut(why)) => self.skip(&setup.program, why),
                Err(Refusal::Failed(why)) => {
                    let detail = format!("setup {}: {why}", setup.program);
                    return self.fail(FailureReason::WorkloadFailed, detail);
                }
            }
        }
    }

    fn describe(&self) -> io::Result<()> {
        let commands = self.spec.plan.workloads.iter().flat_map(|workload| &workload.commands);
        let programs: Vec<String> =
            commands.filter_map(|command| command.argv.first().cloned()).collect();
        let facts = environment::describe(self.place, &programs);
        let mut text = serde_json::to_string_pretty(&facts).map_err(io::Error::other)?;
        text.push('\n');
        fs::write(self.dir.join("env.json"), text)
    }

    /// Monitors and workload.
    fn measure(
        &mut self,
        applied: &Applied<'_>,
        events: &mut dyn FnMut(Event),
    ) -> io::Result<Outcome> {
        let plan = &self.spec.plan;
        let work = Work::make(self.dir, applied.mount_points())?;
        let cgroup = self.make_cgroup(applied);
        let mut perf = Perf::start(&plan.monitors, self.place, self.dir);
        let (sampler, skipped) = Sampler::start(&plan.monitors, self.place, self.dir)?;
        self.record.skipped.extend(skipped);
        self.skip_unknown_monitors();

        let limit_s = if plan.time_limit_s == 0 { DEFAULT_LIMIT_S } else { plan.time_limit_s };
        events(Event::Phase(Phase::Run));
        let stage = Stage {
            place: self.place,
            dir: self.dir,
            work: &work.folder,
            cgroup: cgroup.as_ref(),
            deadline: Instant::now() + Duration::from_secs(u64::from(limit_s)),
            limit_s,
        };
        let cpu_before = thread_cpu_time();
        let mut outcome = stage.run(&plan.workloads, &mut perf);
        let waiting = thread_cpu_time() - cpu_before;
        self.record.end_time = seconds_since_epoch();

        let report = sampler.map(Sampler::stop).unwrap_or_default();
        self.record.agent_cpu_seconds = Some(waiting + report.cpu_seconds);
        perf.stop();
        stage.clear(&mut outcome);
        self.record.skipped.extend(report.skipped);
        if let Some(error) = report.write_errors.first() {
            return Err(io::Error::other(error.clone()));
        }
        stage.collect(&plan.workloads, &mut outcome)?;
        perf.collect(self.place);
        self.record.skipped.append(&mut perf.skipped);
        self.notes.append(&mut perf.notes);
        self.notes.append(&mut outcome.notes);
        Ok(outcome)
    }

    fn make_cgroup(&mut self, applied: &Applied<'_>) -> Option<Cgroup> {
        match Cgroup::create(self.place, self.spec.id.as_str()) {
            Ok(cgroup) => {
                for (file, value) in applied.limits() {
                    if let Err(error) = cgroup.limit(file, value) {
                        self.skip("cgroup2", format!("`{value}` to {file}: {error}"));
                    }
                }
                Some(cgroup)
            }
            Err(why) => {
                let why = format!("{why}; the workload's process group serves instead");
                if applied.limits().is_empty() {
                    self.notes.push(format!("no cgroup for the workload: {why}"));
                } else {
                    self.skip("cgroup2", why);
                }
                None
            }
        }
    }

    fn skip_unknown_monitors(&mut self) {
        for monitor in &self.spec.plan.monitors {
            let name = monitor.program.as_str();
            if !is_sampled(name) && !is_perf(name) && !ALWAYS.contains(&name) {
                self.skip(name, format!("the agent has no monitor `{name}`"));
            }
        }
    }

    /// Keeps the kernel's log and what it complains of.
    fn read_log(&mut self, log: &mut Result<KernelLog, String>) -> io::Result<()> {
        match log {
            Ok(log) => {
                let text = log.read();
                if !text.is_empty() {
                    rawfile::write_compressed(self.dir, "dmesg", text.as_bytes())?;
                }
                self.record.dmesg_findings = complaint::find(&text);
            }
            Err(why) => {
                let why = why.clone();
                self.skip("dmesg", why);
            }
        }
        Ok(())
    }

    /// Decides whether the run has failed, and why.
    fn judge(&mut self, outcome: Outcome) {
        self.record.workloads = outcome.exits;
        let killed = self.out_of_memory();
        match (outcome.failure, killed) {
            (Some(failure), Some(killed)) if failure.reason == FailureReason::WorkloadFailed => {
                let detail = format!("out of memory: {killed}; {}", failure.detail);
                self.fail(failure.reason, detail);
            }
            (Some(failure), _) => self.fail(failure.reason, failure.detail),
            // A workload that goes on without some of its processes measures something else.
            (None, Some(killed)) => {
                self.fail(FailureReason::WorkloadFailed, format!("out of memory: {killed}"));
            }
            (None, None) => {}
        }
    }

    /// The kernel's word that it killed one of the workload's processes for want of memory. In a
    /// guest there are no others worth killing; elsewhere they are known by their score.
    fn out_of_memory(&self) -> Option<String> {
        let killed = complaint::out_of_memory(&self.record.dmesg_findings.join("\n"))?;
        let mark = format!("oom_score_adj:{}", sys::WORKLOAD_OOM_SCORE);
        (self.place.is_guest() || killed.contains(&mark)).then_some(killed)
    }

    fn fail(&mut self, reason: FailureReason, detail: String) {
        let detail = complaint::printable(&detail);
        self.record.failure.get_or_insert(Failure { reason, detail });
    }

    fn skip(&mut self, program: &str, why: String) {
        self.record.skipped.push(Skipped { program: program.to_owned(), why });
    }
}

/// The workload's working directory: on the first file system mounted for it, else in the run
/// directory; gone when the run has been collected.
struct Work {
    folder: PathBuf,
}

impl Work {
    fn make(dir: &Path, mount_points: &[PathBuf]) -> io::Result<Work> {
        let folder = mount_points.first().map_or(dir, PathBuf::as_path).join("work");
        fs::create_dir_all(&folder)?;
        // Workloads that give up being root write here too.
        let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o1777);
        fs::set_permissions(&folder, open)?;
        Ok(Work { folder })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What cannot be removed is told by the next run that cannot make it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn seconds_since_epoch() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
