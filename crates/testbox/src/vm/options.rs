//! What a virtual machine is made like.

use std::path::PathBuf;
use std::time::Duration;

use patchmark_model::{Clock, TestboxFacts, TestboxKind};

use crate::TestboxError;
use crate::error::TestboxError as Error;

const MIB: u64 = 1 << 20;
/// Less does not boot a distribution kernel.
const LEAST_MEMORY: u64 = 128 * MIB;

/// How a virtual machine is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmOptions {
    /// What its numbers mean: `Kvm`, `Tcg` or `Icount`.
    pub clock: Clock,
    /// Number of CPUs; `Icount` allows one only.
    pub cpus: u32,
    /// Memory in bytes, a multiple of 1 MiB per NUMA node.
    pub memory: u64,
    /// Number of NUMA nodes; CPUs and memory are split evenly. 1 gives no topology.
    pub numa_nodes: u32,
    /// Kernel command line added behind the testbox's own.
    pub cmdline: String,
    /// Host CPUs that QEMU's threads may use; empty for all.
    pub pin: Vec<usize>,
    /// When to give up.
    pub limits: Limits,
    /// Folder for packed archives, unpacked kernels and the answer of the KVM probe.
    pub cache: PathBuf,
    /// The QEMU program, by name or path.
    pub qemu: PathBuf,
    /// The program that becomes `/init`; the running executable unless told otherwise.
    pub agent: PathBuf,
}

/// When a run is given up, in host time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of QEMU to the agent's first word.
    pub boot: Duration,
    /// Without any sign of life outside the workload; the workload itself may be silent for as
    /// long as its job allows.
    pub silence: Duration,
    /// The whole run; `None` works it out from the job's own time limit.
    pub total: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { boot: Duration::from_secs(180), silence: Duration::from_secs(300), total: None }
    }
}

impl VmOptions {
    /// A machine with `clock`, one CPU and 1 GiB, which keeps its caches in `cache`.
    pub fn new(clock: Clock, cache: impl Into<PathBuf>) -> VmOptions {
        VmOptions {
            clock,
            cpus: 1,
            memory: 1024 * MIB,
            numa_nodes: 1,
            cmdline: String::new(),
            pin: Vec::new(),
            limits: Limits::default(),
            cache: cache.into(),
            qemu: PathBuf::from("qemu-system-x86_64"),
            agent: PathBuf::from("/proc/self/exe"),
        }
    }

    /// The `tbox_group` of machines like this: `vm-icount-1c-1024m`, `vm-kvm-4c-4096m-2n`.
    pub fn group(&self) -> String {
        let nodes =
            if self.numa_nodes > 1 { format!("-{}n", self.numa_nodes) } else { String::new() };
        format!("vm-{}-{}c-{}m{nodes}", self.clock, self.cpus, self.memory / MIB)
    }

    /// What a job can ask about such a machine.
    pub(crate) fn facts(&self, rootfs: String) -> TestboxFacts {
        TestboxFacts {
            kind: TestboxKind::Vm,
            group: self.group(),
            clock: self.clock,
            nr_cpu: self.cpus,
            nr_node: self.numa_nodes,
            memory: self.memory,
            rootfs,
        }
    }

    /// Refuses what cannot work, in words that say what would.
    pub fn check(&self) -> Result<(), TestboxError> {
        let refuse = |why: String| Err(Error::Options(why));
        if self.clock == Clock::Real {
            return refuse("a VM has no real clock: choose kvm, tcg or icount".to_owned());
        }
        if self.cpus == 0 || self.numa_nodes == 0 {
            return refuse("a VM needs at least one CPU and one NUMA node".to_owned());
        }
        if self.clock == Clock::Icount && self.cpus > 1 {
            return refuse(format!(
                "the icount clock counts the instructions of one CPU, and {} were asked for; \
                 choose --cpus 1, or --clock kvm or tcg for more",
                self.cpus
            ));
        }
        if self.numa_nodes > self.cpus {
            return refuse(format!(
                "{} NUMA nodes need at least as many CPUs, and there are {}",
                self.numa_nodes, self.cpus
            ));
        }
        if self.memory < LEAST_MEMORY {
            return refuse(format!(
                "{} MiB of memory do not boot a kernel; give at least {} MiB",
                self.memory / MIB,
                LEAST_MEMORY / MIB
            ));
        }
        if !self.memory.is_multiple_of(MIB * u64::from(self.numa_nodes)) {
            return refuse(format!(
                "memory must be whole MiB on each of {} NUMA nodes",
                self.numa_nodes
            ));
        }
        if self.cmdline.chars().any(char::is_control) {
            return refuse("the kernel command line has control characters".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(change: impl Fn(&mut VmOptions)) -> Result<(), String> {
        let mut options = VmOptions::new(Clock::Icount, "/cache");
        change(&mut options);
        options.check().map_err(|error| error.to_string())
    }

    #[test]
    fn the_group_names_clock_and_size() {
        let mut options = VmOptions::new(Clock::Icount, "/cache");
        assert_eq!(options.group(), "vm-icount-1c-1024m");
        options.clock = Clock::Kvm;
        (options.cpus, options.memory, options.numa_nodes) = (4, 4096 * MIB, 2);
        assert_eq!(options.group(), "vm-kvm-4c-4096m-2n");
    }

    #[test]
    fn what_cannot_work_is_refused_in_words() {
        assert_eq!(options(|_| ()), Ok(()));
        let error = options(|options| options.cpus = 2).unwrap_err();
        assert!(error.contains("one CPU") && error.contains("--clock kvm"), "{error}");
        for (change, word) in [
            ((|options| options.clock = Clock::Real) as fn(&mut VmOptions), "kvm, tcg or icount"),
            (|options| options.cpus = 0, "at least one"),
            (|options| options.numa_nodes = 2, "NUMA"),
            (|options| options.memory = 64 * MIB, "128 MiB"),
            (|options| options.memory += 1, "whole MiB"),
            (|options| options.cmdline = "a\nb".to_owned(), "control"),
        ] {
            let error = options(change).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
