//! Ending a run, well or badly: its directory goes to its place in the transaction that says so.

use patchmark_model::{Failure, FailureReason, Kpis, Metrics, RunId, RunRecord, RunState};
use rusqlite::{Transaction, params};

use crate::files::{self, METRICS, Stored};
use crate::{Claim, Store, StoreError, crash};

/// In front of a run's id in `tmp/`: metrics derived again that wait for their place.
pub(crate) const NEW_METRICS: &str = "new-metrics-";

impl Store {
    /// Ends a run well: the claim's folder becomes the run directory, with `run.json` and
    /// `metrics.json.zst` written into it. On an error nothing has happened and the claim is
    /// still good: after room was made it may be tried again.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`]; a full disk; a record of another run or of a failure.
    pub fn finish(
        &self,
        claim: &Claim,
        record: &RunRecord,
        metrics: &Metrics,
        kpis: &Kpis,
        now: f64,
    ) -> Result<(), StoreError> {
        if record.state != RunState::Finished || record.failure.is_some() {
            return Err(StoreError::Misuse(format!("run {} did not end well", claim.id())));
        }
        self.check_record(claim, record)?;
        files::write_metrics(&claim.dir().join(METRICS), metrics)?;
        let kpis = kpis.keys().filter(|name| metrics.contains_key(*name)).cloned();
        let stored = stored(claim, None, kpis.collect(), now);
        self.put(claim, Some(record), &stored, metrics)
    }

    /// Ends a run badly. What its folder holds (console log, half the raw files) is kept as its
    /// run directory; it has no metrics.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`]; a full disk.
    pub fn fail(
        &self,
        claim: &Claim,
        failure: &Failure,
        record: Option<&RunRecord>,
        now: f64,
    ) -> Result<(), StoreError> {
        if let Some(record) = record {
            self.check_record(claim, record)?;
        }
        let stored = stored(claim, Some(failure.clone()), Vec::new(), now);
        self.put(claim, record, &stored, &Metrics::new())
    }

    fn check_record(&self, claim: &Claim, record: &RunRecord) -> Result<(), StoreError> {
        if record.id == *claim.id() {
            return Ok(());
        }
        let (want, got) = (claim.id(), &record.id);
        Err(StoreError::Misuse(format!("the record of run {want} is that of run {got}")))
    }

    fn put(
        &self,
        claim: &Claim,
        record: Option<&RunRecord>,
        stored: &Stored,
        metrics: &Metrics,
    ) -> Result<(), StoreError> {
        crash::point();
        if let Some(record) = record {
            files::write_record(claim.dir(), record)?;
        }
        crash::point();
        // Written last: a directory with this file is whole.
        files::write_json(&claim.dir().join(files::STORED), stored)?;
        files::sync_tree(claim.dir())?;
        crash::point();
        let target = self.run_dir(claim.id());
        let put = self.write(|transaction| {
            self.check_held(transaction, claim)?;
            write_end(transaction, stored, metrics).map_err(|error| self.wrong(error))?;
            crash::point();
            if !files::rename_if_there(claim.dir(), &target)? {
                return Err(StoreError::BadFile {
                    path: claim.dir().to_owned(),
                    detail: "the folder of the run is gone".to_owned(),
                });
            }
            files::sync_dir(&self.dir().join("runs"))
        });
        if put.is_err() && !matches!(put, Err(StoreError::ClaimLost(_))) {
            // The transaction is undone, so is the move.
            files::rename_if_there(&target, claim.dir())?;
        }
        put
    }

    /// Replaces the metrics of a run that has ended well: derived again from its raw files.
    ///
    /// # Errors
    /// There is no such finished run; a full disk.
    pub fn set_metrics(
        &self,
        run: &RunId,
        metrics: &Metrics,
        kpis: &Kpis,
    ) -> Result<(), StoreError> {
        let dir = self.run_dir(run);
        let mut stored = Stored::read(&dir, run)
            .filter(|stored| stored.state == RunState::Finished)
            .ok_or_else(|| StoreError::NoRun(run.to_string()))?;
        stored.kpis = kpis.keys().filter(|name| metrics.contains_key(*name)).cloned().collect();
        // In `tmp/` until the transaction is through; what is found there later is put in place.
        let waiting = self.tmp().join(format!("{NEW_METRICS}{run}"));
        self.write(|transaction| {
            let known: i64 = transaction
                .query_row(
                    "SELECT count(*) FROM runs WHERE id = ? AND state = 'finished'",
                    [run.as_str()],
                    |row| row.get(0),
                )
                .map_err(|error| self.wrong(error))?;
            if known == 0 {
                return Err(StoreError::NoRun(run.to_string()));
            }
            files::remove_all(&waiting)?;
            fs_err::create_dir(&waiting).map_err(|error| StoreError::io(&waiting, error))?;
            files::write_metrics(&waiting.join(METRICS), metrics)?;
            files::write_json(&waiting.join(files::STORED), &stored)?;
            write_kpis(transaction, &stored, metrics).map_err(|error| self.wrong(error))
        })?;
        self.place_metrics(run)
    }

    /// Moves waiting metrics into their run directory; another process may do the same.
    pub(crate) fn place_metrics(&self, run: &RunId) -> Result<(), StoreError> {
        let waiting = self.tmp().join(format!("{NEW_METRICS}{run}"));
        for file in [METRICS, files::STORED] {
            files::rename_if_there(&waiting.join(file), &self.run_dir(run).join(file))?;
            crash::point();
        }
        files::remove_all(&waiting)
    }
}

fn stored(
    claim: &Claim,
    failure: Option<Failure>,
    kpis: Vec<patchmark_model::MetricName>,
    now: f64,
) -> Stored {
    let run = &claim.run;
    Stored {
        id: run.id.clone(),
        key: run.key.clone(),
        kernel: run.kernel.clone(),
        slot: run.slot,
        attempt: run.attempt,
        state: if failure.is_some() { RunState::Failed } else { RunState::Finished },
        failure,
        created: run.created,
        started: run.started,
        ended: now,
        kpis,
    }
}

/// Writes the end of a run into its row.
pub(crate) fn write_end(
    transaction: &Transaction<'_>,
    stored: &Stored,
    metrics: &Metrics,
) -> rusqlite::Result<()> {
    let failure = stored.failure.as_ref();
    transaction.execute(
        "UPDATE runs SET state = ?2, owner = NULL, lease_end = NULL, failure_reason = ?3, \
           failure_detail = ?4, ended = ?5, started = ?6, attempt = ?7 WHERE id = ?1",
        params![
            stored.id.as_str(),
            crate::run::state_word(stored.state),
            failure.map(|failure| reason_word(failure.reason)),
            failure.map(|failure| &failure.detail),
            stored.ended,
            stored.started,
            stored.attempt,
        ],
    )?;
    write_kpis(transaction, stored, metrics)
}

/// Replaces the headline metrics of a run.
pub(crate) fn write_kpis(
    transaction: &Transaction<'_>,
    stored: &Stored,
    metrics: &Metrics,
) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM kpis WHERE run = ?", [stored.id.as_str()])?;
    for (name, value) in stored.kpi_values(metrics) {
        if value.is_finite() {
            transaction.execute(
                "INSERT INTO kpis (run, metric, value) VALUES (?, ?, ?)",
                params![stored.id.as_str(), name.as_str(), value],
            )?;
        }
    }
    Ok(())
}

pub(crate) fn reason_word(reason: FailureReason) -> String {
    // The same words as serde's.
    reason.to_string()
}
