//! Reading: which runs are there, and what did they measure.

use patchmark_model::{Axes, Metrics, RunId, RunState};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::files::{self, METRICS};
use crate::run::{COLUMNS, from_row, state_word};
use crate::{RunKey, Store, StoreError, StoredRun};

/// Which runs. Empty fields do not choose; all that are set must fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// These runs alone.
    pub ids: Vec<RunId>,
    /// In one of these states.
    pub states: Vec<RunState>,
    /// Of this measurement.
    pub key: Option<RunKey>,
    /// The kernel's label, or the beginning of its digest.
    pub kernel: Option<String>,
    /// The group of testboxes.
    pub tbox_group: Option<String>,
    /// Axes with these values, `testcase` among them.
    pub axes: Axes,
    /// Planned at this time or later, in seconds since the epoch.
    pub since: Option<f64>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

impl Store {
    /// The runs that fit, newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn runs(&self, query: &Query) -> Result<Vec<StoredRun>, StoreError> {
        let (condition, values) = condition(query);
        let limit = query.limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
        self.read(|connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM runs r WHERE {condition} \
                 ORDER BY r.created DESC, r.id DESC{limit}"
            ))?;
            let rows = statement.query_map(params_from_iter(values), from_row)?;
            let mut runs = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            for run in &mut runs {
                run.kpis = kpis_of(connection, &run.id)?;
            }
            Ok(runs)
        })
    }

    /// The runs of a measurement that ended well, oldest first: what a comparison may reuse.
    ///
    /// # Errors
    /// The database's.
    pub fn finished_runs(&self, key: &RunKey) -> Result<Vec<StoredRun>, StoreError> {
        let query =
            Query { key: Some(key.clone()), states: vec![RunState::Finished], ..Query::default() };
        let mut runs = self.runs(&query)?;
        runs.reverse();
        Ok(runs)
    }

    /// One run by its id, or by the beginning of its id when only one run begins so.
    ///
    /// # Errors
    /// [`StoreError::NoRun`]; several runs begin so; the database's.
    pub fn run(&self, id: &str) -> Result<StoredRun, StoreError> {
        let is_id = id.parse::<RunId>().is_ok();
        let mut found = self.read(|connection| {
            if !is_id {
                return Ok(Vec::new());
            }
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM runs r WHERE substr(r.id, 1, length(?1)) = ?1 \
                 ORDER BY r.id = ?1 DESC LIMIT 2"
            ))?;
            let rows = statement.query_map([id], from_row)?;
            let mut runs = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            for run in &mut runs {
                run.kpis = kpis_of(connection, &run.id)?;
            }
            Ok(runs)
        })?;
        let exact = found.first().is_some_and(|run| run.id.as_str() == id);
        if found.len() > 1 && !exact {
            return Err(StoreError::Misuse(format!("several runs begin with {id}")));
        }
        if found.is_empty() {
            return Err(StoreError::NoRun(id.escape_debug().to_string()));
        }
        Ok(found.swap_remove(0))
    }

    /// Every metric of a run that has ended; a failed run has none.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn metrics(&self, run: &RunId) -> Result<Metrics, StoreError> {
        files::read_metrics(&self.run_dir(run).join(METRICS))
    }
}

/// The query as SQL and its values.
fn condition(query: &Query) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let marks = |count: usize| vec!["?"; count].join(", ");
    if !query.ids.is_empty() {
        parts.push(format!("r.id IN ({})", marks(query.ids.len())));
        values.extend(query.ids.iter().map(|id| Value::from(id.as_str().to_owned())));
    }
    if !query.states.is_empty() {
        parts.push(format!("r.state IN ({})", marks(query.states.len())));
        values.extend(query.states.iter().map(|s| Value::from(state_word(*s).to_owned())));
    }
    if let Some(key) = &query.key {
        parts.push("r.key_hash = ?".to_owned());
        values.push(key.hash().into());
    }
    if let Some(kernel) = &query.kernel {
        parts.push("(r.kernel_label = ? OR substr(r.kernel, 1, length(?)) = ?)".to_owned());
        values.extend([kernel, kernel, kernel].map(|text| Value::from(text.clone())));
    }
    if let Some(group) = &query.tbox_group {
        parts.push("r.tbox_group = ?".to_owned());
        values.push(group.clone().into());
    }
    for (axis, value) in &query.axes.0 {
        if axis == "testcase" {
            parts.push("r.testcase = ?".to_owned());
        } else {
            parts.push(
                "EXISTS (SELECT 1 FROM json_each(r.axes) a WHERE a.key = ? AND a.value = ?)"
                    .to_owned(),
            );
            values.push(axis.clone().into());
        }
        values.push(value.clone().into());
    }
    if let Some(since) = query.since {
        parts.push("r.created >= ?".to_owned());
        values.push(since.into());
    }
    (parts.join(" AND "), values)
}

pub(crate) fn kpis_of(connection: &Connection, run: &RunId) -> rusqlite::Result<Metrics> {
    let mut statement =
        connection.prepare_cached("SELECT metric, value FROM kpis WHERE run = ?")?;
    let rows = statement.query_map([run.as_str()], |row| {
        Ok((patchmark_model::MetricName(row.get(0)?), row.get(1)?))
    })?;
    rows.collect()
}
