//! Which keys of a job are programs, and what their parameters are: all that expansion needs to
//! know of programs.

use std::collections::{BTreeMap, BTreeSet};

use patchmark_catalog::{Catalog, Program, Show};

use crate::value::Map;

/// Programs that shape results (setups, workloads, daemons) with their parameters, and monitors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    shaping: BTreeMap<String, Vec<(String, Show)>>,
    monitors: BTreeSet<String>,
}

/// Parameters of whatever runs a workload or a daemon, whichever program it is.
const WRAPPER: [&str; 3] = ["nr_instances", "cpu_node_bind", "mem_node_bind"];

/// Keys that make a matrix although no program has them.
const PLAIN_DIMENSIONS: [&str; 9] = [
    "kconfig",
    "commit",
    "rootfs",
    "ltp_commit",
    "nvml_commit",
    "blktests_commit",
    "qemu_commit",
    "perf_test_commit",
    "linux_commit",
];

/// The plain dimensions that name a commit, in the order in which they end a job's name.
pub(crate) fn commit_dimensions() -> impl Iterator<Item = &'static str> {
    PLAIN_DIMENSIONS.into_iter().filter(|key| key.contains("commit"))
}

impl Programs {
    pub(crate) fn from_catalog(catalog: &Catalog) -> Self {
        let mut programs = Programs::default();
        for program in catalog.programs() {
            programs.add_catalogued(program);
        }
        programs
    }

    /// Adds the described programs of a catalogue that are not there yet.
    pub(crate) fn complete_from(&mut self, catalog: &Catalog) {
        for program in catalog.programs().filter(|program| program.is_described) {
            let is_known =
                self.shaping.contains_key(&program.name) || self.monitors.contains(&program.name);
            if !is_known {
                self.add_catalogued(program);
            }
        }
    }

    fn add_catalogued(&mut self, program: &Program) {
        if program.shapes_result() {
            let parameters = program.parameters.iter().map(|p| (p.name.clone(), p.show));
            self.shaping.insert(program.name.clone(), parameters.collect());
        }
        if program.is(patchmark_catalog::Kind::Monitor) {
            self.monitors.insert(program.name.clone());
        }
    }

    /// Adds a program with its parameters; what was known of it as shaping is replaced.
    pub(crate) fn add_shaping(&mut self, name: &str, parameters: Vec<(String, Show)>) {
        self.shaping.insert(name.to_owned(), parameters);
    }

    pub(crate) fn add_monitor(&mut self, name: &str) {
        self.monitors.insert(name.to_owned());
    }

    /// Whether a program has this name.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.shaping.contains_key(key) || self.monitors.contains(key)
    }

    fn shapes(&self, key: &str) -> bool {
        self.shaping.contains_key(key)
    }
}

/// The programs that a job refers to, and with them the keys that make its matrix and its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Referenced {
    programs: BTreeMap<String, BTreeSet<String>>,
    parameters: BTreeMap<String, Show>,
}

impl Referenced {
    /// Looks through a job at any depth of maps.
    pub(crate) fn by(job: &Map, programs: &Programs) -> Self {
        let mut referenced = Referenced::default();
        referenced.parameters.insert("cluster".to_owned(), Show::Value);
        job.for_each(&mut |_, key, _| {
            if let Some(parameters) = programs.shaping.get(key) {
                referenced.add(key, parameters.iter().cloned());
            }
        });
        referenced.add("wrapper", WRAPPER.map(|name| (name.to_owned(), Show::Value)));
        referenced
    }

    fn add(&mut self, program: &str, parameters: impl IntoIterator<Item = (String, Show)>) {
        let names = self.programs.entry(program.to_owned()).or_default();
        names.clear();
        for (name, show) in parameters {
            names.insert(name.clone());
            self.parameters.insert(name, show);
        }
    }

    pub(crate) fn has_program(&self, key: &str) -> bool {
        self.programs.contains_key(key)
    }

    pub(crate) fn has_parameter(&self, program: &str, parameter: &str) -> bool {
        self.programs.get(program).is_some_and(|names| names.contains(parameter))
    }

    /// Whether a list under this key makes a matrix.
    pub(crate) fn is_dimension(&self, key: &str) -> bool {
        PLAIN_DIMENSIONS.contains(&key)
            || self.programs.contains_key(key)
            || self.parameters.contains_key(key)
    }

    /// The parameters of a job that its name and its axes are made of, sorted by key: key, value
    /// text (`None` for nothing) and how it is shown.
    pub(crate) fn axes(job: &Map, programs: &Programs) -> Vec<(String, Option<String>, Show)> {
        let referenced = Referenced::by(job, programs);
        let mut axes = Vec::new();
        job.for_each(&mut |parent, key, node| {
            let show = referenced.parameters.get(key).copied();
            let is_axis = show.is_some() || programs.shapes(key);
            // A monitor's option can have the name of a workload's parameter; it is none.
            let of_monitor = parent.is_some_and(|parent| programs.monitors.contains(parent));
            if is_axis && !of_monitor && !node.value.is_map() {
                let text = match node.value {
                    crate::Value::Null | crate::Value::Bool(false) => None,
                    ref value => Some(value.to_text()),
                };
                axes.push((key.to_owned(), text, show.unwrap_or_default()));
            }
        });
        axes.sort_by(|a, b| a.0.cmp(&b.0));
        axes
    }
}
