//! Testboxes: machines that run jobs.

use serde::{Deserialize, Serialize};

use crate::Clock;

/// What kind of machine a testbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestboxKind {
    /// A QEMU virtual machine, booted for each run.
    Vm,
    /// This machine and its running kernel.
    Local,
}

/// What a job can ask about the machine it will run on, before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestboxFacts {
    /// What kind of machine.
    pub kind: TestboxKind,
    /// The `tbox_group` axis: like machines share it, and the clock is part of it:
    /// `vm-icount-1c-1024m`.
    pub group: String,
    /// What its numbers mean.
    pub clock: Clock,
    /// CPUs a job may use.
    pub nr_cpu: u32,
    /// NUMA nodes.
    pub nr_node: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// The `rootfs` axis: the user space a job runs in.
    pub rootfs: String,
}
