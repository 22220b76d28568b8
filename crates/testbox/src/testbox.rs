//! The one door to machines that run jobs.

use std::path::Path;

use patchmark_model::{Event, KernelArtefacts, RunRecord, RunSpec, TestboxFacts};

use crate::{Cancel, TestboxError};

/// A machine that runs jobs.
pub trait Testbox: Send + Sync {
    /// What a job can ask about the machine before it runs there.
    fn facts(&self) -> &TestboxFacts;

    /// Runs a job on a kernel and brings the run directory back to `dir`, which is made when it
    /// is not there and should be empty.
    ///
    /// A run that went wrong by the fault of kernel, workload or guest is `Ok` with a record in
    /// state `Failed`, and `dir` then holds what came back with `run.json` and the console's
    /// log. It ends in a bounded time. `events` are called on the calling thread.
    ///
    /// # Errors
    ///
    /// The infrastructure's fault: nothing can be said about the kernel or the workload.
    /// [`TestboxError::Cancelled`] when `cancel` was set.
    fn run(
        &self,
        kernel: &KernelArtefacts,
        spec: &RunSpec,
        dir: &Path,
        events: &mut dyn FnMut(Event),
        cancel: &Cancel,
    ) -> Result<RunRecord, TestboxError>;
}
