//! From what happened to `run.json`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use patchmark_model::{Failure, FailureReason, RunRecord, RunSpec, RunState};

use super::port::printable;
use super::session::{Ending, Outcome};
use crate::TestboxError;
use crate::error::TestboxError as Error;

const RECORD_NAME: &str = "run.json";
/// A record of a guest that is longer is not read.
const MAX_RECORD: u64 = 4 << 20;
const MAX_DETAIL: usize = 400;
const MAX_LIST: usize = 1000;

/// Why the run failed, judged from outside the guest; `None` when the agent's own record is to
/// be believed.
pub(super) fn failure(outcome: &Outcome, unpacked: Result<(), String>) -> Option<Failure> {
    let fail =
        |reason, detail: String| Some(Failure { reason, detail: printable(&detail, MAX_DETAIL) });
    let last = || match &outcome.lines.last {
        Some(line) => format!("; last on the console: {line}"),
        None => "; nothing on the console".to_owned(),
    };
    if outcome.ending == Ending::Done {
        let fault = outcome.fault.clone().or(unpacked.err())?;
        return fail(FailureReason::Incomplete, fault);
    }
    if let Some(panic) = &outcome.lines.panic {
        return fail(FailureReason::KernelPanic, panic.clone());
    }
    match &outcome.ending {
        Ending::Boot(why) => fail(FailureReason::BootFailed, why.clone() + &last()),
        Ending::Silence(why) | Ending::Total(why) => {
            fail(FailureReason::Timeout, why.clone() + &last())
        }
        Ending::QemuEnded { status, .. } if !outcome.booted => {
            let said =
                if outcome.stderr.is_empty() { last() } else { format!(": {}", outcome.stderr) };
            let detail = format!("QEMU ended with {status} before user space was reached{said}");
            fail(FailureReason::BootFailed, detail)
        }
        Ending::QemuEnded { .. } | Ending::Panicked | Ending::Done => {
            let fault = outcome.fault.clone().unwrap_or_default();
            fail(FailureReason::Incomplete, format!("the guest ended early: {fault}{}", last()))
        }
    }
}

/// Reads the record that the agent made, trusting none of it.
pub(crate) fn of_agent(dir: &Path, spec: &RunSpec) -> Result<RunRecord, String> {
    let mut text = String::new();
    let file = fs_err::File::open(dir.join(RECORD_NAME)).map_err(|_| "run.json is missing")?;
    let read = file.take(MAX_RECORD).read_to_string(&mut text);
    read.map_err(|_| "run.json cannot be read")?;
    let mut record: RunRecord =
        serde_json::from_str(&text).map_err(|error| format!("run.json cannot be read: {error}"))?;
    if record.id != spec.id {
        return Err(format!("run.json is of run {}", record.id));
    }
    match (record.state, &record.failure) {
        (RunState::Finished, None) | (RunState::Failed, Some(_)) => {}
        _ => return Err("run.json has neither an end nor a failure".to_owned()),
    }
    if ![record.start_time, record.end_time].iter().all(|time| time.is_finite()) {
        return Err("run.json has no times".to_owned());
    }
    if let Some(failure) = &mut record.failure {
        failure.detail = printable(&failure.detail, MAX_DETAIL);
    }
    record.workloads.truncate(MAX_LIST);
    for exit in &mut record.workloads {
        exit.program = printable(&exit.program, MAX_DETAIL);
    }
    record.dmesg_findings.truncate(MAX_LIST);
    for finding in &mut record.dmesg_findings {
        *finding = printable(finding, MAX_DETAIL);
    }
    record.skipped.truncate(MAX_LIST);
    for skipped in &mut record.skipped {
        skipped.program = printable(&skipped.program, MAX_DETAIL);
        skipped.why = printable(&skipped.why, MAX_DETAIL);
    }
    record.phase_seconds.clear();
    Ok(record)
}

/// The record of a run whose agent left none that can be believed.
pub(crate) fn of_failure(spec: &RunSpec, failure: Failure, seconds: f64) -> RunRecord {
    RunRecord {
        id: spec.id.clone(),
        state: RunState::Failed,
        failure: Some(failure),
        start_time: spec.host_time,
        end_time: spec.host_time + seconds,
        workloads: Vec::new(),
        taint: None,
        dmesg_findings: Vec::new(),
        skipped: Vec::new(),
        agent_cpu_seconds: None,
        phase_seconds: BTreeMap::new(),
    }
}

/// Writes `run.json`, in place of the agent's.
pub(crate) fn write(dir: &Path, record: &RunRecord) -> Result<(), TestboxError> {
    let path = dir.join(RECORD_NAME);
    let mut text =
        serde_json::to_vec_pretty(record).map_err(|error| Error::malformed(&path, error))?;
    text.push(b'\n');
    fs_err::write(&path, text).map_err(|error| Error::write(&path, error))
}
