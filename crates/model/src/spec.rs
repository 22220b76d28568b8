//! What a testbox is asked to do: a job with every question answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Axes, RunId};

/// One atom job, resolved for one testbox, not yet tied to a kernel or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The job's name: file stem, path parameters; safe as a file name.
    pub job_name: String,
    /// The axes that the job decides: testcase and parameters, with their values as written
    /// (`nr_threads` = `100%`).
    pub axes: Axes,
    /// The atom job as YAML; becomes `job.yaml` of the run directory.
    pub job_yaml: String,
    /// Applied in this order before the workload, restored in reverse order after it.
    pub setups: Vec<Setup>,
    /// Run beside the workload.
    pub monitors: Vec<Monitor>,
    /// Run one after another.
    pub workloads: Vec<Workload>,
    /// Seconds after which the workload is ended and the run has failed.
    pub time_limit_s: u32,
    /// Kernel command line the job asks for (`kernel_cmdline:`), beside the testbox's own.
    pub kernel_cmdline: Option<String>,
    /// What the programs need on the testbox.
    pub needs: Needs,
}

/// What the agent gets: a [`Plan`] made one run of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Which run.
    pub id: RunId,
    /// What to do.
    pub plan: Plan,
    /// Seconds since the epoch on the host, for guests without a clock of their own.
    pub host_time: f64,
}

/// A setup: something to apply before the workload and to restore after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// `cpufreq_governor`, `sysctl`, `transparent_hugepage`, ...
    pub program: String,
    /// The value when the setup is a scalar: `performance`.
    pub value: Option<String>,
    /// Its options when it is a map: `kernel.numa_balancing` -> `0`.
    pub options: BTreeMap<String, String>,
}

/// A monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitor {
    /// `vmstat`, `proc-vmstat`, `perf-stat`, ...
    pub program: String,
    /// Milliseconds between samples; 0 takes one sample before and one after the workload.
    pub interval_ms: u32,
    /// Further options, with their values as text.
    pub options: BTreeMap<String, String>,
}

/// A workload: commands run one after another, whose output makes the raw file `<program>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The program of the catalogue.
    pub program: String,
    /// The commands, in order; the first that fails ends the workload.
    pub commands: Vec<Command>,
    /// Files that the commands leave in their working directory and that belong to the run.
    pub files: Vec<String>,
}

/// One command; no shell is between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments; the program is looked up in PATH on the testbox.
    pub argv: Vec<String>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
}

/// What a plan needs on its testbox; a VM packs these from the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Executables by name (looked up in the host's PATH) or absolute path.
    pub binaries: Vec<String>,
    /// Files and folders, by absolute path on the host, packed at the same path.
    pub files: Vec<String>,
    /// Kernel modules by name; one that is built in or absent is passed over.
    pub modules: Vec<String>,
    /// Debian packages that bring the binaries, for messages.
    pub packages: Vec<String>,
}
