//! Runs: one execution of one job on one testbox with one kernel.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The identity of a run: 1 to 64 characters out of `[0-9A-Za-z_-]`, so that it is safe as a
/// file name wherever it came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > 64 || !text.chars().all(safe) {
            return Err(format!("`{}` is not a run id", text.escape_debug()));
        }
        Ok(RunId(text.to_owned()))
    }
}

impl TryFrom<String> for RunId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> String {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Planned, not begun.
    Queued,
    /// Under way, held by a process.
    Running,
    /// Ended well: its metrics count.
    Finished,
    /// Ended badly: it has a [`Failure`] and no metrics.
    Failed,
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The kernel never reached user space.
    BootFailed,
    /// The kernel panicked.
    KernelPanic,
    /// Nothing was heard for too long, or the run took longer than its limit.
    Timeout,
    /// The workload or a setup it needs exited with an error, or was killed.
    WorkloadFailed,
    /// The run directory came back damaged or only in part.
    Incomplete,
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureReason::BootFailed => "boot_failed",
            FailureReason::KernelPanic => "kernel_panic",
            FailureReason::Timeout => "timeout",
            FailureReason::WorkloadFailed => "workload_failed",
            FailureReason::Incomplete => "incomplete",
        })
    }
}

/// A reason and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class of failure.
    pub reason: FailureReason,
    /// The line of evidence: the panic message, the exit status, the last thing heard. Printable
    /// text of at most a few hundred characters.
    pub detail: String,
}

/// How a workload's command ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadExit {
    /// The program of the catalogue.
    pub program: String,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Wall-clock seconds on the testbox's own clock.
    pub elapsed_s: f64,
}

/// A setup or monitor that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The program: `perf-stat`.
    pub program: String,
    /// Why, in words a person can act on.
    pub why: String,
}

/// `run.json`: the state of a run, kept in its run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which run.
    pub id: RunId,
    /// `Finished` or `Failed`.
    pub state: RunState,
    /// Present when it failed.
    pub failure: Option<Failure>,
    /// Seconds since the epoch on the testbox's clock, when the agent began.
    pub start_time: f64,
    /// Seconds since the epoch on the testbox's clock, when the workload had ended.
    pub end_time: f64,
    /// How each workload command ended, in order.
    pub workloads: Vec<WorkloadExit>,
    /// `/proc/sys/kernel/tainted` after the workload.
    pub taint: Option<u64>,
    /// Kernel complaints found in the log: `WARNING: CPU: 0 PID: 1 at kernel/...`.
    pub dmesg_findings: Vec<String>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// CPU seconds (user and system) that the agent itself used while the workload ran.
    pub agent_cpu_seconds: Option<f64>,
    /// Host wall-clock seconds of each phase, by phase name; filled in by the host.
    #[serde(default)]
    pub phase_seconds: BTreeMap<String, f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_are_safe_file_names() {
        assert!("01J-abc_9".parse::<RunId>().is_ok());
        for bad in ["", "../x", "a/b", "a b", "\u{e9}", &"x".repeat(65)] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<RunId>("\"../../etc\"").is_err());
    }
}
