//! Events: what a run tells while it is under way. Progress bars and logs are made of these.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The phase a run is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The kernel is being fetched or built.
    Fetch,
    /// The initramfs is being made.
    Pack,
    /// The testbox boots.
    Boot,
    /// Setups are applied.
    Setup,
    /// The workload runs under its monitors.
    Run,
    /// The run directory comes back.
    Collect,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Fetch => "fetch",
            Phase::Pack => "pack",
            Phase::Boot => "boot",
            Phase::Setup => "setup",
            Phase::Run => "run",
            Phase::Collect => "collect",
        })
    }
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A phase began.
    Phase(Phase),
    /// Something worth telling that is not an error: a monitor left out and why.
    Note(String),
}
