//! Taking a run: one process at a time holds it.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use patchmark_model::{KernelId, RunId, RunState};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::AtPath;
use crate::owner::{self, Process};
use crate::run::{COLUMNS, from_row};
use crate::store::Held;
use crate::{ComparisonId, RunKey, Store, StoreError, StoredRun, crash, files, reconcile};

/// A run that this process holds. When it is dropped without [`Store::finish`] or
/// [`Store::fail`], the run is free for the next claim.
#[derive(Debug)]
pub struct Claim {
    pub(crate) run: StoredRun,
    column: usize,
    dir: PathBuf,
    held: Held,
}

/// What [`Store::claim_next`] answers.
#[derive(Debug)]
pub enum Next {
    /// A run to do.
    Claimed(Box<Claim>),
    /// Nothing is free, but other processes hold runs of this comparison: ask again later.
    Busy(Vec<Holder>),
    /// All runs have ended.
    Done,
}

/// Who holds a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The run.
    pub run: RunId,
    /// The process.
    pub pid: u32,
}

impl Claim {
    /// Which run.
    pub fn id(&self) -> &RunId {
        &self.run.id
    }

    /// What it measures.
    pub fn key(&self) -> &RunKey {
        &self.run.key
    }

    /// Its kernel.
    pub fn kernel(&self) -> &KernelId {
        &self.run.kernel
    }

    /// Index of its column in the comparison's [`crate::Wish`].
    pub fn column(&self) -> usize {
        self.column
    }

    /// How often the run was begun, this time included.
    pub fn attempt(&self) -> u32 {
        self.run.attempt
    }

    /// An empty folder of the store for the run's files; it becomes the run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn name(&self) -> String {
        attempt_name(&self.run.id, self.run.attempt)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let name = self.name();
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    }
}

/// The name of the folder in `tmp/` that an attempt works in. A new attempt never meets the
/// files of an old one.
pub(crate) fn attempt_name(run: &RunId, attempt: u32) -> String {
    format!("{run}.{attempt}")
}

impl Store {
    /// Takes the next free run of a comparison, in its order, passing over the columns in
    /// `skip`. Runs whose holder has died, or has held them for longer than it said
    /// (`lease_s`, seconds), are free again.
    ///
    /// # Errors
    /// The database's; a full disk.
    pub fn claim_next(
        &self,
        comparison: &ComparisonId,
        skip: &[usize],
        lease_s: f64,
        now: f64,
    ) -> Result<Next, StoreError> {
        let owner = self.owner()?;
        let mut garbage = Vec::new();
        // Held across the transaction: another thread's claim must not look dropped meanwhile.
        let mut held = self.held().lock().unwrap_or_else(PoisonError::into_inner);
        let taken = self.write(|transaction| {
            let wrong = |error| self.wrong(error);
            let running = running(transaction, Some(comparison)).map_err(wrong)?;
            let mut holders = Vec::new();
            for run in running {
                if is_free(&run, &self.owners(), &owner.id, &held, now) {
                    reconcile::settle(self, transaction, &run, &mut garbage)?;
                } else if !skip.contains(&run.column) {
                    holders.push(Holder { run: run.id, pid: run.process.pid });
                }
            }
            let queued = first_queued(transaction, comparison, skip).map_err(wrong)?;
            let Some((column, mut run)) = queued else { return Ok(Err(holders)) };
            run.state = RunState::Running;
            run.attempt += 1;
            run.started = Some(now);
            register(transaction, &owner.id, &owner.process).map_err(wrong)?;
            transaction
                .execute(
                    "UPDATE runs SET state = 'running', owner = ?2, lease_end = ?3, \
                       attempt = ?4, started = ?5 WHERE id = ?1",
                    params![run.id.as_str(), owner.id, now + lease_s, run.attempt, now],
                )
                .map_err(wrong)?;
            let dir = self.tmp().join(attempt_name(&run.id, run.attempt));
            crash::point();
            files::remove_all(&dir)?;
            fs_err::create_dir(&dir).at(&dir)?;
            Ok(Ok((column, run, dir)))
        });
        if let Ok(Ok((_, run, _))) = &taken {
            held.insert(attempt_name(&run.id, run.attempt));
        }
        drop(held);
        let next = match taken? {
            Ok((column, run, dir)) => {
                let held = self.held().clone();
                Next::Claimed(Box::new(Claim { run, column, dir, held }))
            }
            Err(holders) if holders.is_empty() => Next::Done,
            Err(holders) => Next::Busy(holders),
        };
        for path in garbage {
            files::remove_all(&path)?;
        }
        Ok(next)
    }

    /// Says that the holder is still at work, for `lease_s` seconds more.
    ///
    /// # Errors
    /// [`StoreError::ClaimLost`] when somebody else has taken the run.
    pub fn renew(&self, claim: &Claim, lease_s: f64, now: f64) -> Result<(), StoreError> {
        self.write(|transaction| {
            self.check_held(transaction, claim)?;
            transaction
                .execute(
                    "UPDATE runs SET lease_end = ?2 WHERE id = ?1",
                    params![claim.id().as_str(), now + lease_s],
                )
                .map_err(|error| self.wrong(error))?;
            Ok(())
        })
    }

    /// Gives a run back undone (Ctrl-C): it is queued again and its folder is removed.
    ///
    /// # Errors
    /// The database's. A claim that was lost is fine.
    pub fn release(&self, claim: Claim) -> Result<(), StoreError> {
        self.write(|transaction| match self.check_held(transaction, &claim) {
            Err(StoreError::ClaimLost(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => requeue(transaction, claim.id()).map_err(|error| self.wrong(error)),
        })?;
        files::remove_all(claim.dir())
    }

    /// Fails unless the claim's run is still this process's, in the same attempt.
    pub(crate) fn check_held(
        &self,
        transaction: &Transaction<'_>,
        claim: &Claim,
    ) -> Result<(), StoreError> {
        let held = transaction
            .query_row(
                "SELECT 1 FROM runs WHERE id = ? AND state = 'running' AND owner = ? \
                   AND attempt = ?",
                params![claim.id().as_str(), self.owner()?.id, claim.attempt()],
                |_| Ok(()),
            )
            .optional()
            .map_err(|error| self.wrong(error))?;
        held.ok_or_else(|| StoreError::ClaimLost(claim.id().clone()))
    }
}

/// A run under way and its holder.
pub(crate) struct RunningRun {
    pub(crate) id: RunId,
    pub(crate) attempt: u32,
    pub(crate) owner: String,
    pub(crate) process: Process,
    lease_end: Option<f64>,
    column: usize,
}

/// The runs under way, of one comparison or all.
pub(crate) fn running(
    transaction: &Transaction<'_>,
    comparison: Option<&ComparisonId>,
) -> rusqlite::Result<Vec<RunningRun>> {
    let mut statement = transaction.prepare(
        "SELECT r.id, r.attempt, r.owner, r.lease_end, coalesce(o.pid, 0), \
           coalesce(o.start_time, 0), coalesce(o.boot_id, ''), coalesce(c.col, 0) \
         FROM runs r LEFT JOIN owners o ON o.id = r.owner \
           LEFT JOIN comparison_runs c ON c.run = r.id AND c.comparison = ?1 \
         WHERE r.state = 'running' AND (?1 IS NULL OR c.run IS NOT NULL)",
    )?;
    let rows = statement.query_map([comparison.map(|id| &id.0)], |row| {
        Ok(RunningRun {
            id: crate::run::id_at(row, 0)?,
            attempt: row.get(1)?,
            owner: row.get(2)?,
            lease_end: row.get(3)?,
            process: Process {
                pid: row.get(4)?,
                start_time: row.get::<_, i64>(5)?.try_into().unwrap_or(0),
                boot_id: row.get(6)?,
            },
            column: row.get::<_, i64>(7)?.try_into().unwrap_or(0),
        })
    })?;
    rows.collect()
}

/// Whether a run's holder is gone: dead, out of time, or this process after it dropped the claim.
pub(crate) fn is_free(
    run: &RunningRun,
    owners: &Path,
    own_id: &str,
    held: &std::collections::HashSet<String>,
    now: f64,
) -> bool {
    if run.lease_end.is_some_and(|end| now > end) {
        return true;
    }
    if run.owner == own_id {
        return !held.contains(&attempt_name(&run.id, run.attempt));
    }
    !owner::is_alive(owners, &run.owner, &run.process)
}

pub(crate) fn requeue(transaction: &Transaction<'_>, run: &RunId) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE runs SET state = 'queued', owner = NULL, lease_end = NULL, started = NULL \
         WHERE id = ?",
        [run.as_str()],
    )?;
    Ok(())
}

fn first_queued(
    transaction: &Transaction<'_>,
    comparison: &ComparisonId,
    skip: &[usize],
) -> rusqlite::Result<Option<(usize, StoredRun)>> {
    let mut statement = transaction.prepare(&format!(
        "SELECT {COLUMNS}, c.col FROM comparison_runs c JOIN runs r ON r.id = c.run \
         WHERE c.comparison = ? AND r.state = 'queued' ORDER BY c.position"
    ))?;
    let mut rows = statement.query([&comparison.0])?;
    while let Some(row) = rows.next()? {
        let column = usize::try_from(row.get::<_, i64>("col")?).unwrap_or(0);
        if !skip.contains(&column) {
            return Ok(Some((column, from_row(row)?)));
        }
    }
    Ok(None)
}

fn register(transaction: &Transaction<'_>, id: &str, process: &Process) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT OR IGNORE INTO owners (id, pid, start_time, boot_id) VALUES (?, ?, ?, ?)",
        params![id, process.pid, i64::try_from(process.start_time).unwrap_or(0), process.boot_id],
    )?;
    Ok(())
}
