//! Removing runs.

use patchmark_model::RunId;
use rusqlite::{OptionalExtension, params};

use crate::claim::{is_free, running};
use crate::{Store, StoreError, crash, files};

/// What [`Store::remove`] has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The runs that are gone.
    pub runs: Vec<RunId>,
}

/// In front of a directory's name in `tmp/` while its run is being removed.
pub(crate) const REMOVING: &str = "removing-";

impl Store {
    /// Removes runs, their directories and their places in comparisons: all of them or, on an
    /// error, none. Killed in the middle, the removal is completed at the next start.
    ///
    /// # Errors
    /// [`StoreError::NoRun`]; [`StoreError::UnderWay`]; the database's.
    pub fn remove(&self, runs: &[RunId], now: f64) -> Result<Removed, StoreError> {
        let mut moved = Vec::new();
        let held = self.held().lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let removed = self.write(|transaction| {
            let wrong = |error| self.wrong(error);
            let under_way = running(transaction, None).map_err(wrong)?;
            let own_id = &self.owner()?.id;
            for id in runs {
                let known = "SELECT 1 FROM runs WHERE id = ?";
                let known = transaction.query_row(known, params![id.as_str()], |_| Ok(()));
                if known.optional().map_err(wrong)?.is_none() {
                    return Err(StoreError::NoRun(id.to_string()));
                }
                let holder = under_way.iter().find(|run| run.id == *id);
                if let Some(run) = holder
                    && !is_free(run, &self.owners(), own_id, &held, now)
                {
                    return Err(StoreError::UnderWay { run: id.clone(), pid: run.process.pid });
                }
                let waiting = self.tmp().join(format!("{REMOVING}{id}"));
                if files::rename_if_there(&self.run_dir(id), &waiting)? {
                    moved.push((id.clone(), waiting));
                }
                crash::point();
                transaction
                    .execute("DELETE FROM runs WHERE id = ?", [id.as_str()])
                    .map_err(wrong)?;
            }
            Ok(())
        });
        if let Err(error) = removed {
            for (id, waiting) in moved {
                files::rename_if_there(&waiting, &self.run_dir(&id))?;
            }
            return Err(error);
        }
        for (_, waiting) in moved {
            files::remove_all(&waiting)?;
        }
        Ok(Removed { runs: runs.to_vec() })
    }
}
