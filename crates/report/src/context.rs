//! What a report needs to know beside the samples.

use patchmark_model::{Clock, Skipped};

/// What a report needs to know beside the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The job's name: `stress-ng-sockfd`.
    pub job: String,
    /// What the numbers mean.
    pub clock: Clock,
    /// The machine in words: `QEMU 7.2 on 2 CPUs of ..., 1 guest CPU, 1024 MiB`.
    pub machine: String,
    /// What else a reader should know: runs that were reused, a dirty tree.
    pub notes: Vec<String>,
    /// Setups and monitors that were left out, and why.
    pub skipped: Vec<Skipped>,
}
