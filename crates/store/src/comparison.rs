//! Comparisons: which runs are wanted, and in which order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use patchmark_model::{KernelId, RunId, RunState};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::run::{COLUMNS, from_row};
use crate::store::new_id;
use crate::{RunKey, Store, StoreError, StoredRun, query};

/// The identity of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ComparisonId(pub(crate) String);

impl fmt::Display for ComparisonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ComparisonId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The same characters as a run's id.
        text.parse::<RunId>().map(|id| ComparisonId(id.into()))
    }
}

/// What a comparison wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// The columns. Two columns with equal keys get different runs (A against A).
    pub columns: Vec<WishColumn>,
    /// The order of the runs: for each run the index of its column.
    pub order: Vec<usize>,
    /// Whether only runs made for this comparison count.
    pub fresh: bool,
    /// Whether failed runs of earlier comparisons are left alone and tried again. A failed run of
    /// this comparison stays in its place either way.
    pub retry_failed: bool,
}

/// One column of a [`Wish`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WishColumn {
    /// What its runs measure.
    pub key: RunKey,
    /// Its kernel, as it is named.
    pub kernel: KernelId,
}

/// A comparison whose runs all have a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The comparison.
    pub id: ComparisonId,
    /// When it was begun, if it was begun before and had not ended.
    pub resumed: Option<f64>,
    /// The runs, in order.
    pub runs: Vec<PlannedRun>,
}

/// One place of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedRun {
    /// Index of the column.
    pub column: usize,
    /// Which run of that column, from 0.
    pub index: usize,
    /// The run. One that has ended when the comparison is planned is reused.
    pub run: StoredRun,
}

/// A comparison as listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredComparison {
    /// Which.
    pub id: ComparisonId,
    /// What it wanted.
    pub wish: Wish,
    /// When it was planned first.
    pub created: f64,
    /// When all its runs had ended.
    pub ended: Option<f64>,
}

impl Store {
    /// Gives every place of a comparison a run: first runs that have ended well, then runs that
    /// wait or are under way, then new ones. A comparison that was begun with the same wish and
    /// has not ended is taken up again, with its runs in their places.
    ///
    /// # Errors
    /// An order that names a column that is not there; the database's.
    pub fn plan(&self, wish: &Wish, now: f64) -> Result<Planned, StoreError> {
        if let Some(column) = wish.order.iter().find(|column| **column >= wish.columns.len()) {
            return Err(StoreError::Misuse(format!("the order names column {column}")));
        }
        let text = serde_json::to_string(wish)
            .map_err(|error| StoreError::Misuse(format!("the wish cannot be written: {error}")))?;
        let hash = wish_hash(wish);
        self.write(|transaction| {
            let old = unended(transaction, &hash).map_err(|error| self.wrong(error))?;
            let (id, resumed) = match old {
                Some((id, created)) => (id, Some(created)),
                None => {
                    let id = new_id(now);
                    transaction
                        .execute(
                            "INSERT INTO comparisons (id, wish_hash, wish, fresh, created) \
                             VALUES (?, ?, ?, ?, ?)",
                            params![id, hash, text, wish.fresh, now],
                        )
                        .map_err(|error| self.wrong(error))?;
                    (id, None)
                }
            };
            crate::crash::point();
            fill(transaction, &id, wish, now).map_err(|error| self.wrong(error))?;
            let id = ComparisonId(id);
            let runs = places(transaction, &id).map_err(|error| self.wrong(error))?;
            Ok(Planned { id, resumed, runs })
        })
    }

    /// The runs of a comparison as they stand now, in order. A run that was removed leaves its
    /// place out.
    ///
    /// # Errors
    /// There is no such comparison; the database's.
    pub fn comparison_runs(&self, id: &ComparisonId) -> Result<Vec<PlannedRun>, StoreError> {
        let found = self.read(|connection| {
            let known = "SELECT 1 FROM comparisons WHERE id = ?";
            let known = connection.query_row(known, [&id.0], |_| Ok(())).optional()?;
            known.map(|()| places(connection, id)).transpose()
        })?;
        found.ok_or_else(|| StoreError::NoComparison(id.to_string()))
    }

    /// The newest comparisons, newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn comparisons(&self, limit: u32) -> Result<Vec<StoredComparison>, StoreError> {
        let rows = self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT id, wish, created, ended FROM comparisons ORDER BY created DESC, id DESC \
                 LIMIT ?",
            )?;
            let rows = statement.query_map([limit], |row| {
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<(String, String, f64, Option<f64>)>>>()
        })?;
        rows.into_iter()
            .map(|(id, wish, created, ended)| {
                let wish = serde_json::from_str(&wish).map_err(|error| StoreError::BadFile {
                    path: self.dir().join("patchmark.sqlite"),
                    detail: format!("comparison {id}: {error}"),
                })?;
                Ok(StoredComparison { id: ComparisonId(id), wish, created, ended })
            })
            .collect()
    }

    /// Marks a comparison as ended: the next one with the same wish is a new one, which reuses
    /// its runs unless it is fresh.
    ///
    /// # Errors
    /// The database's.
    pub fn end_comparison(&self, id: &ComparisonId, now: f64) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .execute(
                    "UPDATE comparisons SET ended = ? WHERE id = ? AND ended IS NULL",
                    params![now, id.0],
                )
                .map_err(|error| self.wrong(error))?;
            Ok(())
        })
    }
}

/// Names of kernels do not count: the same kernel may be named in two ways.
fn wish_hash(wish: &Wish) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(wish.fresh)]);
    for column in &wish.columns {
        hasher.update(column.key.hash().as_bytes());
    }
    for column in &wish.order {
        hasher.update(&(*column as u64).to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn unended(connection: &Connection, hash: &str) -> rusqlite::Result<Option<(String, f64)>> {
    connection
        .query_row(
            "SELECT id, created FROM comparisons WHERE wish_hash = ? AND ended IS NULL \
             ORDER BY created DESC LIMIT 1",
            [hash],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
}

/// Gives each empty place of a comparison a run.
fn fill(
    transaction: &Transaction<'_>,
    comparison: &str,
    wish: &Wish,
    now: f64,
) -> rusqlite::Result<()> {
    let mut taken: HashMap<i64, String> = HashMap::new();
    let mut statement =
        transaction.prepare("SELECT position, run FROM comparison_runs WHERE comparison = ?")?;
    let rows = statement.query_map([comparison], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for row in rows {
        let (position, run) = row?;
        taken.insert(position, run);
    }
    let mut used: HashSet<String> = taken.values().cloned().collect();
    let mut free: HashMap<String, VecDeque<String>> = HashMap::new();
    for (position, column_index) in wish.order.iter().enumerate() {
        let position = position as i64;
        let Some(column) = wish.columns.get(*column_index) else { continue };
        if taken.contains_key(&position) {
            continue;
        }
        let hash = column.key.hash();
        if !free.contains_key(&hash) {
            let found = reusable(transaction, &hash, comparison, wish)?;
            free.insert(hash.clone(), found);
        }
        let candidates = free.entry(hash.clone()).or_default();
        while candidates.front().is_some_and(|run| used.contains(run)) {
            candidates.pop_front();
        }
        let run = match candidates.pop_front() {
            Some(run) => run,
            None => insert_run(transaction, column, &hash, comparison, now)?,
        };
        transaction.execute(
            "INSERT INTO comparison_runs (comparison, position, col, run) VALUES (?, ?, ?, ?)",
            params![comparison, position, *column_index as i64, run],
        )?;
        used.insert(run);
    }
    Ok(())
}

/// Runs of a key that may fill a place, best first.
fn reusable(
    transaction: &Transaction<'_>,
    key_hash: &str,
    comparison: &str,
    wish: &Wish,
) -> rusqlite::Result<VecDeque<String>> {
    let mut statement = transaction.prepare(
        "SELECT id FROM runs WHERE key_hash = ?1 AND (NOT ?2 OR born_in = ?3) \
           AND (state != 'failed' OR NOT ?4) \
         ORDER BY CASE state WHEN 'finished' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END, slot",
    )?;
    let rows = statement
        .query_map(params![key_hash, wish.fresh, comparison, wish.retry_failed], |row| {
            row.get(0)
        })?;
    rows.collect()
}

fn insert_run(
    transaction: &Transaction<'_>,
    column: &WishColumn,
    key_hash: &str,
    comparison: &str,
    now: f64,
) -> rusqlite::Result<String> {
    let id = new_id(now);
    let axes = serde_json::to_string(&column.key.axes)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    transaction.execute(
        "INSERT INTO runs (id, key_hash, slot, axes, kernel, kernel_spec, kernel_label, \
           tbox_group, job, state, born_in, created) \
         VALUES (?1, ?2, (SELECT coalesce(max(slot), -1) + 1 FROM runs WHERE key_hash = ?2), \
           ?3, ?4, ?5, ?6, ?7, ?8, 'queued', ?9, ?10)",
        params![
            id,
            key_hash,
            axes,
            column.key.kernel,
            column.kernel.spec,
            column.kernel.label,
            column.key.tbox_group,
            column.key.job,
            comparison,
            now
        ],
    )?;
    Ok(id)
}

fn places(connection: &Connection, id: &ComparisonId) -> rusqlite::Result<Vec<PlannedRun>> {
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMNS}, c.col FROM comparison_runs c JOIN runs r ON r.id = c.run \
         WHERE c.comparison = ? ORDER BY c.position"
    ))?;
    let rows = statement.query_map([&id.0], |row| {
        let column: i64 = row.get("col")?;
        Ok((usize::try_from(column).unwrap_or(0), from_row(row)?))
    })?;
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut places = Vec::new();
    for row in rows {
        let (column, mut run) = row?;
        run.kpis = query::kpis_of(connection, &run.id)?;
        let count = counts.entry(column).or_default();
        places.push(PlannedRun { column, index: *count, run });
        *count += 1;
    }
    Ok(places)
}

impl PlannedRun {
    /// Whether the run has ended, well or badly.
    pub fn has_ended(&self) -> bool {
        matches!(self.run.state, RunState::Finished | RunState::Failed)
    }
}
