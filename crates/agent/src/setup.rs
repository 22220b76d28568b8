//! Setups: what a job wants the machine to be like, applied in order, restored in reverse order
//! whatever happens in between.
//!
//! A setup for something that this machine or kernel does not have, or that needs root where the
//! agent is not root, is left out and told. One that the kernel refuses fails the run: what would
//! be measured is not what the job asks for.

mod boot_params;
mod knob;
mod mount;
mod settings;
mod swap;

use std::path::PathBuf;

use patchmark_model::Setup;

use crate::Place;

/// Why a setup was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not apply here; the run goes on without it.
    LeftOut(String),
    /// It should apply and does not; the run has failed.
    Failed(String),
}

/// How to take something back.
#[derive(Debug)]
enum Undo {
    /// Write a value to a file below /proc or /sys.
    Write { path: PathBuf, value: String },
    /// Unmount a file system; the folder is removed if it was made for it.
    Unmount { point: PathBuf, made: bool },
    /// End swapping to a device.
    SwapOff(PathBuf),
    /// Swap to a device again.
    SwapOn { device: PathBuf, priority: i32 },
}

/// The setups in force; dropping it restores what it still holds.
#[derive(Debug)]
pub(crate) struct Applied<'a> {
    place: &'a Place,
    undo: Vec<(String, Undo)>,
    mount_points: Vec<PathBuf>,
    limits: Vec<(String, String)>,
}

impl<'a> Applied<'a> {
    /// None yet.
    pub(crate) fn new(place: &'a Place) -> Applied<'a> {
        Applied { place, undo: Vec::new(), mount_points: Vec::new(), limits: Vec::new() }
    }

    /// Applies one more.
    pub(crate) fn apply(&mut self, setup: &Setup) -> Result<(), Refusal> {
        match setup.program.as_str() {
            "swap" => self.apply_swap(setup),
            "fs" | "tmpfs" | "mount" => self.apply_mount(setup),
            "boot_params" => boot_params::check(setup, self.place),
            "cgroup2" => {
                let limits = setup.options.iter().filter(|(key, _)| key.contains('.'));
                self.limits.extend(limits.map(|(key, value)| (key.clone(), value.clone())));
                Ok(())
            }
            _ => {
                let knobs = settings::knobs(setup, self.place)?;
                knobs.iter().try_for_each(|knob| self.turn(&setup.program, knob))
            }
        }
    }

    /// Where file systems were mounted for the workload; it runs in the first.
    pub(crate) fn mount_points(&self) -> &[PathBuf] {
        &self.mount_points
    }

    /// Limits for the workload's cgroup: `memory.max` and its value.
    pub(crate) fn limits(&self) -> &[(String, String)] {
        &self.limits
    }

    /// Takes everything back, the last first. Returns what could not be, by setup.
    pub(crate) fn restore(&mut self) -> Vec<(String, String)> {
        let mut failures = Vec::new();
        while let Some((program, undo)) = self.undo.pop() {
            if let Err(why) = undo.run() {
                failures.push((program, why));
            }
        }
        failures
    }
}

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        self.restore();
    }
}

impl Undo {
    fn run(self) -> Result<(), String> {
        match self {
            Undo::Write { path, value } => knob::write(&path, &value)
                .map_err(|error| format!("`{value}` to {}: {error}", path.display())),
            Undo::Unmount { point, made } => mount::unmount(&point, made),
            Undo::SwapOff(device) => swap::off(&device),
            Undo::SwapOn { device, priority } => swap::on(&device, priority),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    pub(super) fn setup(program: &str, value: Option<&str>, options: &[(&str, &str)]) -> Setup {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Setup {
            program: program.to_owned(),
            value: value.map(str::to_owned),
            options: options.collect::<BTreeMap<_, _>>(),
        }
    }

    /// A machine of files: path below the root and content.
    pub(super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Place) {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let place = Place::local().with_root(root.path());
        (root, place)
    }

    const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    const GOVERNOR_1: &str = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const SWAPPINESS: &str = "proc/sys/vm/swappiness";

    #[test]
    fn setups_are_applied_and_restored_in_reverse_order() {
        let (root, place) = machine(&[
            (GOVERNOR, "powersave\n"),
            (GOVERNOR_1, "schedutil\n"),
            (THP, "always [madvise] never\n"),
            (SWAPPINESS, "60\n"),
            ("proc/sys/vm/page-cluster", "3\n"),
        ]);
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        let mut applied = Applied::new(&place);
        applied.apply(&setup("cpufreq_governor", Some("performance"), &[])).unwrap();
        applied.apply(&setup("transparent_hugepage", None, &[("thp_enabled", "never")])).unwrap();
        let sysctls = [("sc_swappiness", "10"), ("sc_page_cluster", "0")];
        applied.apply(&setup("sysctl", None, &sysctls)).unwrap();
        applied.apply(&setup("sysctl", None, &[("vm.swappiness", "5")])).unwrap();
        assert_eq!(read(GOVERNOR), "performance");
        assert_eq!(read(GOVERNOR_1), "performance");
        assert_eq!(read(THP), "never");
        assert_eq!(read(SWAPPINESS), "5");
        assert_eq!(read("proc/sys/vm/page-cluster"), "0");
        drop(applied);
        assert_eq!(read(GOVERNOR), "powersave");
        assert_eq!(read(GOVERNOR_1), "schedutil");
        assert_eq!(read(THP), "madvise");
        assert_eq!(read(SWAPPINESS), "60");
        assert_eq!(read("proc/sys/vm/page-cluster"), "3");
    }

    #[test]
    fn what_is_not_there_is_left_out_with_a_reason() {
        let (_root, place) = machine(&[]);
        let mut applied = Applied::new(&place);
        let left_out = applied.apply(&setup("cpufreq_governor", Some("performance"), &[]));
        let Err(Refusal::LeftOut(why)) = left_out else { panic!("{left_out:?}") };
        assert!(why.contains("scaling_governor"), "{why}");
        let sysctl = applied.apply(&setup("sysctl", None, &[("kernel.not_there", "1")]));
        assert!(matches!(sysctl, Err(Refusal::LeftOut(_))));
    }

    #[test]
    fn an_unknown_setup_fails() {
        let (_root, place) = machine(&[]);
        let result = Applied::new(&place).apply(&setup("rocket", None, &[]));
        assert!(matches!(result, Err(Refusal::Failed(_))));
    }
}
