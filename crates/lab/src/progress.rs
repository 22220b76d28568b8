//! What a campaign tells while it is under way. Progress bars and logs are made of these.

use patchmark_model::{Phase, RunRecord};

use crate::schedule::Slot;

/// Something that happened in a campaign.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// The work is known: the names of the columns, the runs wanted of each, and how many of those
    /// the store has already.
    Planned {
        /// The columns, in order.
        columns: Vec<String>,
        /// Runs wanted of each column.
        runs: usize,
        /// Runs of each column that are reused.
        reused: Vec<usize>,
    },
    /// A run began.
    Started(Slot),
    /// A run went into its next phase.
    Phase(Slot, Phase),
    /// Something worth telling that is not an error.
    Note(Slot, String),
    /// A run ended, well or badly.
    Ended(Slot, Box<RunRecord>),
    /// No more runs of this column are tried, and why.
    GivenUp(usize, String),
}
