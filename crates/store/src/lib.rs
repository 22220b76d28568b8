//! What do we know already: runs, samples, artefacts.
//!
//! A [`Store`] is one folder: `patchmark.sqlite` and the run directories `runs/<id>/`. Runs are
//! rows with a state; a comparison is a list of runs in an order ([`Wish`] -> [`Store::plan`]).
//! A process takes one run at a time ([`Store::claim_next`]), works in the claim's folder, and
//! hands it back ([`Store::finish`], [`Store::fail`]).
//!
//! Invariants:
//! * Every state change of a run is one transaction; the run directory is renamed into place
//!   inside it. What a killed process left half done is healed when the next one opens the store.
//! * A run is held by one process at a time. Whether the holder lives is told by a lock that the
//!   kernel drops with the process, so no clock is needed for it.
//! * A run directory says all that the database knows of it (`stored.json`), so a lost database
//!   is read in again from the run directories.
//! * A metric that a run lacks has no entry, in the files and in the tables.
//!
//! Times are seconds since the epoch and come from the caller.

mod claim;
mod comparison;
mod crash;
mod database;
mod error;
mod files;
mod finish;
mod key;
mod owner;
mod query;
mod reconcile;
mod remove;
mod run;
mod store;
mod things;

#[cfg(test)]
mod tests;

pub use claim::{Claim, Holder, Next};
pub use comparison::{ComparisonId, Planned, PlannedRun, StoredComparison, Wish, WishColumn};
pub use error::StoreError;
pub use key::{RunKey, job_hash};
pub use query::Query;
pub use remove::Removed;
pub use run::StoredRun;
pub use store::Store;
