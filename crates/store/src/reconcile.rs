//! Healing: what killed processes have left is completed or undone when the store is opened.
//!
//! All of it happens in one writing transaction, and so does every move of a run directory
//! elsewhere: nobody can be in the middle of one at the same time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use patchmark_model::{Metrics, RunId, RunState};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::claim::{RunningRun, attempt_name, is_free, requeue, running};
use crate::error::AtPath;
use crate::files::{self, METRICS, Stored};
use crate::finish::{NEW_METRICS, reason_word, write_end, write_kpis};
use crate::remove::REMOVING;
use crate::{Store, StoreError, owner};

/// Brings files and rows together again; answers what was done, for people.
pub(crate) fn heal(store: &Store, now: f64) -> Result<Vec<String>, StoreError> {
    let mut healing =
        Healing { store, garbage: Vec::new(), new_metrics: Vec::new(), counts: Counts::default() };
    store.write(|transaction| {
        healing.complete_removals(transaction)?;
        healing.complete_metrics(transaction)?;
        healing.free_runs_of_the_dead(transaction, now)?;
        healing.match_directories(transaction)?;
        healing.find_garbage(transaction)?;
        forget_dead_owners(transaction).map_err(|error| store.wrong(error))
    })?;
    for run in &healing.new_metrics {
        store.place_metrics(run)?;
    }
    for path in &healing.garbage {
        files::remove_all(path)?;
    }
    owner::clear_dead(&store.owners());
    Ok(healing.counts.notes())
}

struct Healing<'s> {
    store: &'s Store,
    /// Removed when the transaction is through.
    garbage: Vec<PathBuf>,
    /// Put in their place when the transaction is through.
    new_metrics: Vec<RunId>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    requeued: usize,
    completed: usize,
    imported: usize,
    lost: usize,
    unknown: Vec<String>,
}

impl Healing<'_> {
    /// Somebody has said that these runs shall go; their directories have gone already.
    fn complete_removals(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        for (name, path) in names(&self.store.tmp())? {
            if let Some(id) = name.strip_prefix(REMOVING) {
                transaction
                    .execute("DELETE FROM runs WHERE id = ?", [id])
                    .map_err(|error| self.store.wrong(error))?;
                self.garbage.push(path);
            }
        }
        Ok(())
    }

    /// Metrics derived again that wait for their place: whoever wrote them has died, or is about
    /// to do the same.
    fn complete_metrics(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        for (name, path) in names(&self.store.tmp())? {
            let Some(id) = name.strip_prefix(NEW_METRICS) else { continue };
            let dir = self.store.dir().join("runs").join(id);
            let whole = id.parse::<RunId>().ok().and_then(|id| read_new_metrics(&path, &dir, &id));
            match whole {
                Some((stored, metrics)) => {
                    write_kpis(transaction, &stored, &metrics)
                        .map_err(|error| self.store.wrong(error))?;
                    self.new_metrics.push(stored.id);
                }
                None => self.garbage.push(path),
            }
        }
        Ok(())
    }

    /// Runs whose holder has died are queued again, unless their directory is in its place
    /// already: then only the last word was missing.
    fn free_runs_of_the_dead(
        &mut self,
        transaction: &Transaction<'_>,
        now: f64,
    ) -> Result<(), StoreError> {
        let wrong = |error| self.store.wrong(error);
        let own_id = &self.store.owner()?.id;
        for run in running(transaction, None).map_err(wrong)? {
            if !is_free(&run, &self.store.owners(), own_id, &HashSet::new(), now) {
                continue;
            }
            if settle(self.store, transaction, &run, &mut self.garbage)? {
                self.counts.completed += 1;
            } else {
                self.counts.requeued += 1;
            }
        }
        Ok(())
    }

    /// Each ended run has its directory, each directory its row.
    fn match_directories(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let mut rows = states(transaction).map_err(|error| self.store.wrong(error))?;
        for (name, path) in names(&self.store.dir().join("runs"))? {
            match rows.remove(&name) {
                Some(state) if state == "queued" => {
                    self.garbage.extend(set_aside(self.store, &name)?);
                }
                Some(_) => {}
                None => self.import(transaction, &name, &path)?,
            }
        }
        for (name, state) in rows {
            if state == "finished" {
                self.mark_lost(transaction, &name)?;
            }
        }
        Ok(())
    }

    /// A directory without a row: the database was lost or replaced.
    fn import(
        &mut self,
        transaction: &Transaction<'_>,
        name: &str,
        path: &Path,
    ) -> Result<(), StoreError> {
        let whole = name.parse::<RunId>().ok().and_then(|id| read_whole(path, &id));
        let Some((stored, metrics)) = whole else {
            self.counts.unknown.push(path.display().to_string());
            return Ok(());
        };
        insert(transaction, &stored).map_err(|error| self.store.wrong(error))?;
        write_end(transaction, &stored, &metrics).map_err(|error| self.store.wrong(error))?;
        self.counts.imported += 1;
        Ok(())
    }

    /// Somebody has removed a directory by hand. What is left of the run are headline numbers
    /// that nothing stands behind.
    fn mark_lost(&mut self, transaction: &Transaction<'_>, name: &str) -> Result<(), StoreError> {
        let reason = reason_word(patchmark_model::FailureReason::Incomplete);
        transaction
            .execute(
                "UPDATE runs SET state = 'failed', failure_reason = ?2, \
                   failure_detail = 'its directory is gone' WHERE id = ?1",
                params![name, reason],
            )
            .and_then(|_| transaction.execute("DELETE FROM kpis WHERE run = ?", [name]))
            .map_err(|error| self.store.wrong(error))?;
        self.counts.lost += 1;
        Ok(())
    }

    /// Folders of attempts that nobody works on.
    fn find_garbage(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let alive: HashSet<String> = running(transaction, None)
            .map_err(|error| self.store.wrong(error))?
            .iter()
            .map(|run| attempt_name(&run.id, run.attempt))
            .collect();
        for (name, path) in names(&self.store.tmp())? {
            let is_expected = alive.contains(&name)
                || self.garbage.contains(&path)
                || name.starts_with(NEW_METRICS);
            if !is_expected {
                self.garbage.push(path);
            }
        }
        Ok(())
    }
}

/// Ends the claim of a holder that is gone. The run is queued again, unless its directory is in
/// its place already: then only the last word was missing, and the answer is `true`.
pub(crate) fn settle(
    store: &Store,
    transaction: &Transaction<'_>,
    run: &RunningRun,
    garbage: &mut Vec<PathBuf>,
) -> Result<bool, StoreError> {
    let dir = store.run_dir(&run.id);
    let whole = read_whole(&dir, &run.id).filter(|(stored, _)| stored.attempt == run.attempt);
    if let Some((stored, metrics)) = whole {
        write_end(transaction, &stored, &metrics).map_err(|error| store.wrong(error))?;
        return Ok(true);
    }
    requeue(transaction, &run.id).map_err(|error| store.wrong(error))?;
    garbage.push(store.tmp().join(attempt_name(&run.id, run.attempt)));
    garbage.extend(set_aside(store, run.id.as_str())?);
    Ok(false)
}

/// Metrics that wait in `waiting` to go into a run directory. `stored.json` is written last and
/// moved last, so the metrics may be there already.
fn read_new_metrics(waiting: &Path, dir: &Path, id: &RunId) -> Option<(Stored, Metrics)> {
    let stored = Stored::read(waiting, id)?;
    let place = [waiting, dir].map(|dir| dir.join(METRICS)).into_iter().find(|p| p.is_file())?;
    let metrics = files::read_metrics(&place).ok()?;
    dir.is_dir().then_some((stored, metrics))
}

/// A run directory that can be read.
fn read_whole(dir: &Path, id: &RunId) -> Option<(Stored, Metrics)> {
    let stored = Stored::read(dir, id)?;
    Some((stored, files::read_metrics(&dir.join(METRICS)).ok()?))
}

/// Moves a run directory out of the way of a new attempt.
fn set_aside(store: &Store, name: &str) -> Result<Option<PathBuf>, StoreError> {
    let target = store.tmp().join(format!("garbage-{name}"));
    files::remove_all(&target)?;
    let moved = files::rename_if_there(&store.dir().join("runs").join(name), &target)?;
    Ok(moved.then_some(target))
}

impl Counts {
    fn notes(self) -> Vec<String> {
        let runs = |count: usize| match count {
            1 => "1 run".to_owned(),
            more => format!("{more} runs"),
        };
        let counted = [
            (self.requeued, "left half done by a process that has ended, queued again"),
            (self.completed, "ended just before its process was killed, kept"),
            (self.imported, "read in again from their directories"),
            (self.lost, "whose directory is gone, marked as incomplete"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let mut notes: Vec<String> =
            counted.map(|(count, what)| format!("{} {what}", runs(count))).collect();
        notes.extend(self.unknown.iter().map(|path| format!("{path} is no run directory of ours")));
        notes
    }
}

/// Rows of owners that hold nothing.
fn forget_dead_owners(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM owners WHERE id NOT IN (SELECT owner FROM runs WHERE owner IS NOT NULL)",
        [],
    )?;
    Ok(())
}

fn states(transaction: &Transaction<'_>) -> rusqlite::Result<HashMap<String, String>> {
    let mut statement = transaction.prepare("SELECT id, state FROM runs")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// A new row for a run read from its directory, in a free slot of its key.
fn insert(transaction: &Transaction<'_>, stored: &Stored) -> rusqlite::Result<()> {
    let hash = stored.key.hash();
    let is_free = transaction
        .query_row(
            "SELECT 1 FROM runs WHERE key_hash = ? AND slot = ?",
            params![hash, stored.slot],
            |_| Ok(()),
        )
        .optional()?
        .is_none();
    let slot = is_free.then_some(stored.slot);
    let axes = serde_json::to_string(&stored.key.axes)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    transaction.execute(
        "INSERT INTO runs (id, key_hash, slot, axes, kernel, kernel_spec, kernel_label, \
           tbox_group, job, state, created) \
         VALUES (?1, ?2, coalesce(?3, \
             (SELECT coalesce(max(slot), -1) + 1 FROM runs WHERE key_hash = ?2)), \
           ?4, ?5, ?6, ?7, ?8, ?9, 'queued', ?10)",
        params![
            stored.id.as_str(),
            hash,
            slot,
            axes,
            stored.key.kernel,
            stored.kernel.spec,
            stored.kernel.label,
            stored.key.tbox_group,
            stored.key.job,
            stored.created
        ],
    )?;
    debug_assert!(stored.state != RunState::Queued);
    Ok(())
}

/// The entries of a folder.
fn names(folder: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).at(folder)? {
        let entry = entry.at(folder)?;
        found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    Ok(found)
}
