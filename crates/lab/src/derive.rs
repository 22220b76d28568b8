//! Metrics of a run directory, and whether they say anything about the workload.

use std::path::Path;

use patchmark_metrics::{ParseOptions, RunDirectory, RunNote, run_metrics};
use patchmark_model::{Failure, FailureReason, Metrics, Plan};

/// What a run directory says.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// One number per metric.
    pub metrics: Metrics,
    /// What was left out of the raw files, and why.
    pub notes: Vec<RunNote>,
}

/// Derives the metrics of a run that ended well. A workload whose output holds no number has
/// measured nothing: that is a failure, not a run without results.
///
/// # Errors
/// The run cannot count, and why.
pub fn derive(dir: &Path, plan: &Plan) -> Result<Derived, Failure> {
    let run = run_metrics(&RunDirectory::new(dir), &ParseOptions::default())
        .map_err(|error| failed(FailureReason::Incomplete, error.to_string()))?;
    for workload in &plan.workloads {
        let measured = run.metrics.keys().any(|name| {
            let rest = name.as_str().strip_prefix(&workload.program);
            rest.is_some_and(|rest| rest.starts_with('.') && !rest.starts_with(".time."))
        });
        let is_parsed = patchmark_metrics::programs().any(|known| known == workload.program);
        if is_parsed && !measured {
            let detail = format!("the output of {} holds no result", workload.program);
            return Err(failed(FailureReason::WorkloadFailed, detail));
        }
    }
    Ok(Derived { metrics: run.metrics, notes: run.notes })
}

fn failed(reason: FailureReason, detail: String) -> Failure {
    Failure { reason, detail }
}
