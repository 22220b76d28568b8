//! A run as the store knows it.

use patchmark_model::{Axes, Failure, FailureReason, KernelId, Metrics, RunId, RunState};
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;

use crate::RunKey;

/// A run, its state and its headline numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredRun {
    /// Which run.
    pub id: RunId,
    /// What it measures.
    pub key: RunKey,
    /// Its kernel, as it was named when the run was planned.
    pub kernel: KernelId,
    /// Its number among the runs of its key, from 0; not reused while the run is there.
    pub slot: u32,
    /// Where it stands.
    pub state: RunState,
    /// How often it was begun.
    pub attempt: u32,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// When it was planned, in seconds since the epoch.
    pub created: f64,
    /// When it was last begun.
    pub started: Option<f64>,
    /// When it ended.
    pub ended: Option<f64>,
    /// The headline metrics that it has.
    pub kpis: Metrics,
}

/// The columns that [`from_row`] reads, of a table `runs` named `r`.
pub(crate) const COLUMNS: &str = "r.id, r.slot, r.axes, r.kernel, r.kernel_spec, \
     r.kernel_label, r.tbox_group, r.job, r.state, r.attempt, r.failure_reason, \
     r.failure_detail, r.created, r.started, r.ended";

/// Reads a row of [`COLUMNS`]; KPIs are filled in by the caller.
pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let kernel: String = row.get(3)?;
    let reason: Option<FailureReason> = word(row, 10)?;
    let failure = match reason {
        Some(reason) => {
            Some(Failure { reason, detail: row.get::<_, Option<String>>(11)?.unwrap_or_default() })
        }
        None => None,
    };
    Ok(StoredRun {
        id: id_at(row, 0)?,
        slot: row.get(1)?,
        key: RunKey {
            axes: axes_at(row, 2)?,
            kernel: kernel.clone(),
            tbox_group: row.get(6)?,
            job: row.get(7)?,
        },
        kernel: KernelId { spec: row.get(4)?, label: row.get(5)?, digest: kernel },
        state: word(row, 8)?.ok_or_else(|| bad(8, "a state is missing"))?,
        attempt: row.get(9)?,
        failure,
        created: row.get(12)?,
        started: row.get(13)?,
        ended: row.get(14)?,
        kpis: Metrics::new(),
    })
}

/// A run id in a column.
pub(crate) fn id_at(row: &Row<'_>, column: usize) -> rusqlite::Result<RunId> {
    row.get::<_, String>(column)?.parse().map_err(|error: String| bad(column, &error))
}

fn axes_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Axes> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| bad(column, &error.to_string()))
}

/// A value that serde writes as one word.
fn word<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get::<_, Option<String>>(column)? else { return Ok(None) };
    let value = serde_json::Value::String(text);
    serde_json::from_value(value).map(Some).map_err(|error| bad(column, &error.to_string()))
}

/// The word that a state is stored as.
pub(crate) fn state_word(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::Finished => "finished",
        RunState::Failed => "failed",
    }
}

fn bad(column: usize, why: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.to_owned().into())
}
