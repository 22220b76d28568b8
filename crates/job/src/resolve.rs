//! Resolution: an atom job and the facts of a testbox to a [`Plan`].
//!
//! What the agent cannot do yet is never left out in silence: a workload, setup or construct
//! that cannot run is an error, a monitor that cannot run is listed as skipped.

use std::collections::BTreeMap;

use patchmark_catalog::{Catalog, Kind, Program, ValueType, Values};
use patchmark_model::{Monitor, Needs, Plan, Setup, Skipped, TestboxFacts, Workload};

use crate::value::{Map, Node, Value};
use crate::{AtomJob, QuantityError, ResolveError, resolve_quantity};

/// A job, ready for a testbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// What to do.
    pub plan: Plan,
    /// Monitors that the job asks for and that do not run, and why.
    pub skipped: Vec<Skipped>,
    /// What a person should know: a share of the CPUs that was less than one, a key that has no
    /// effect here.
    pub notes: Vec<String>,
}

/// Seconds beside the workload's own for setups, monitors and slow machines.
const SLACK_S: u64 = 300;
/// How much longer than expected a workload may run.
const PATIENCE: u64 = 10;
/// The limit when nobody can say how long a workload runs.
const UNKNOWN_LIMIT_S: u64 = 2 * 3600;
/// Profiles of a shorter workload than this begin at once; of a longer one at its half.
const DELAYED_PROFILE_S: u64 = 20;

/// Answers what a job leaves open, for one testbox.
pub fn resolve(
    atom: &AtomJob,
    testbox: &TestboxFacts,
    catalog: &Catalog,
) -> Result<Resolved, ResolveError> {
    let mut resolver = Resolver {
        atom,
        testbox,
        catalog,
        setups: Vec::new(),
        monitors: Vec::new(),
        workloads: Vec::new(),
        needs: Needs::default(),
        expected_s: Some(0),
        kernel_cmdline: Vec::new(),
        skipped: Vec::new(),
        notes: Vec::new(),
    };
    resolver.check_machine()?;
    for (key, node) in atom.keys.iter() {
        if let Some(key) = key.text() {
            resolver.key(key, node)?;
        }
    }
    if resolver.workloads.is_empty() {
        return Err(ResolveError::NoWorkload { job: atom.name.clone() });
    }
    resolver.default_monitors();
    resolver.finish()
}

struct Resolver<'a> {
    atom: &'a AtomJob,
    testbox: &'a TestboxFacts,
    catalog: &'a Catalog,
    setups: Vec<Setup>,
    monitors: Vec<Monitor>,
    workloads: Vec<Workload>,
    needs: Needs,
    /// Sum over the workloads; `None` once one is unknown.
    expected_s: Option<u64>,
    kernel_cmdline: Vec<String>,
    skipped: Vec<Skipped>,
    notes: Vec<String>,
}

impl Resolver<'_> {
    fn job(&self) -> String {
        self.atom.name.clone()
    }

    fn unsupported(&self, key: &str, why: &str) -> ResolveError {
        ResolveError::Unsupported { job: self.job(), key: key.to_owned(), why: why.to_owned() }
    }

    /// What the job demands of the machine.
    fn check_machine(&mut self) -> Result<(), ResolveError> {
        let available = [
            ("need_memory", ValueType::Bytes, self.testbox.memory),
            ("need_cpu", ValueType::Integer, u64::from(self.testbox.nr_cpu)),
            ("need_node", ValueType::Integer, u64::from(self.testbox.nr_node)),
        ];
        for (key, value_type, available) in available {
            let Some(text) = self.atom.keys.text_of(key) else { continue };
            let needed = resolve_quantity(&text, value_type, self.testbox)
                .ok()
                .and_then(|(number, _)| number.parse::<u64>().ok());
            match needed {
                Some(needed) if needed > available => {
                    let available = match value_type {
                        ValueType::Bytes => format!("{}M", available >> 20),
                        _ => available.to_string(),
                    };
                    let why = format!("the testbox has {available}; give it more");
                    return Err(self.unsupported(&format!("{key}: {text}"), &why));
                }
                Some(_) => {}
                None => self.notes.push(format!("`{key}: {text}` is not understood")),
            }
        }
        if self.atom.keys.contains("need_kconfig") {
            self.notes.push("`need_kconfig` is not checked against the kernel".to_owned());
        }
        Ok(())
    }

    fn key(&mut self, key: &str, node: &Node) -> Result<(), ResolveError> {
        if key.contains(' ') {
            let why = "only programs and parameters run; a job for several machines or with \
                       conditions has to be written out for one machine";
            return Err(self.unsupported(key, why));
        }
        let Some(program) = self.catalog.get(key) else {
            return self.no_program(key, node);
        };
        let is_empty = node.value == Value::Null;
        if program.is(Kind::Workload) {
            return self.workload(program, node);
        }
        if program.is(Kind::Monitor) && !program.shapes_result() {
            self.monitor(program, node);
            return Ok(());
        }
        let kind = if program.is(Kind::Daemon) { "daemon" } else { "setup" };
        // A setup whose key names its value (`fs2:`, `cpufreq_governor:`) is off without one.
        let is_switched_off = is_empty && kind == "setup" && self.is_valued(program);
        if is_switched_off {
            return Ok(());
        }
        if !program.is_described || kind == "daemon" {
            let program = program.name.clone();
            return Err(ResolveError::NotRunnable { job: self.job(), kind, program });
        }
        self.setup(program, node)
    }

    /// Whether a setup is written `name: value`.
    fn is_valued(&self, program: &Program) -> bool {
        !program.choices.is_empty() || program.parameter(&program.name).is_some() || {
            // Of a program known by name alone: the file systems and disks.
            ["fs", "fs1", "fs2", "disk", "md", "iosched"].contains(&program.name.as_str())
        }
    }

    fn no_program(&mut self, key: &str, node: &Node) -> Result<(), ResolveError> {
        match &node.value {
            Value::Map(inner) => {
                let has_program =
                    inner.iter().any(|(k, _)| k.text().is_some_and(|k| self.knows(k)));
                if has_program {
                    let why = "programs in the background of others do not run yet";
                    return Err(self.unsupported(key, why));
                }
                if !self.catalog.is_plain_key(key) {
                    self.notes.push(format!("`{key}` is no known program; it has no effect"));
                }
            }
            Value::Null if !self.catalog.is_plain_key(key) => {
                self.notes.push(format!("`{key}` is no known program; it has no effect"));
            }
            _ => {}
        }
        Ok(())
    }

    fn knows(&self, key: &str) -> bool {
        self.catalog.get(key).is_some()
    }

    /// The values of a program's parameters as plain numbers, where they are numbers: its own,
    /// else those at the top of the job, else defaults.
    fn values(&mut self, program: &Program, node: &Node) -> Result<Values, ResolveError> {
        let own = node.as_map();
        let mut values = Values::new();
        values.insert("nr_cpu".to_owned(), self.testbox.nr_cpu.to_string());
        values.insert("nr_node".to_owned(), self.testbox.nr_node.to_string());
        values.insert("memory".to_owned(), self.testbox.memory.to_string());
        for parameter in &program.parameters {
            let found = own
                .and_then(|own| own.get(&parameter.name))
                .or_else(|| self.atom.keys.get(&parameter.name));
            let Some(text) = found.and_then(|node| node.value.scalar_text()) else { continue };
            if !parameter.choices.is_empty() && !parameter.choices.contains(&text) {
                return Err(ResolveError::Choice {
                    job: self.job(),
                    program: program.name.clone(),
                    parameter: parameter.name.clone(),
                    value: text,
                    choices: parameter.choices.join(", "),
                });
            }
            let value_type = self.catalog.value_type(Some(&program.name), &parameter.name);
            let value = self.quantity(program, &parameter.name, &text, value_type)?;
            values.insert(parameter.name.clone(), value);
        }
        program.fill_defaults(&mut values);
        Ok(values)
    }

    fn quantity(
        &mut self,
        program: &Program,
        parameter: &str,
        text: &str,
        value_type: ValueType,
    ) -> Result<String, ResolveError> {
        let (value, note) = resolve_quantity(text, value_type, self.testbox)
            .map_err(|source| self.quantity_error(program, parameter, source))?;
        if let Some(note) = note {
            self.notes.push(format!("`{parameter}` of `{}`: {note}", program.name));
        }
        Ok(value)
    }

    fn quantity_error(
        &self,
        program: &Program,
        parameter: &str,
        source: QuantityError,
    ) -> ResolveError {
        ResolveError::Quantity {
            job: self.job(),
            program: program.name.clone(),
            parameter: parameter.to_owned(),
            source,
        }
    }

    fn workload(&mut self, program: &Program, node: &Node) -> Result<(), ResolveError> {
        if !program.is_described {
            let (kind, program) = ("workload", program.name.clone());
            return Err(ResolveError::NotRunnable { job: self.job(), kind, program });
        }
        let own = node.as_map().cloned().unwrap_or_default();
        for wrapper in ["nr_instances", "cpu_node_bind", "mem_node_bind"] {
            let value = own.text_of(wrapper).or_else(|| self.atom.keys.text_of(wrapper));
            let is_one = wrapper == "nr_instances" && value.as_deref() == Some("1");
            if value.is_some() && !is_one {
                return Err(self.unsupported(wrapper, "it is not supported yet; take it out"));
            }
        }
        self.tell_unknown(program, &own);
        let values = self.values(program, node)?;
        let commands = program
            .render(&values)
            .map_err(|source| ResolveError::Command { job: self.job(), source })?;
        for command in &commands {
            self.needs.binaries.extend(command.argv.first().cloned());
        }
        self.needs.binaries.extend(program.needed_binaries(&values));
        self.needs.packages.extend(program.packages.iter().cloned());
        self.needs.files.extend(program.files.iter().cloned());
        let modules = program.modules.iter().filter(|(_, when)| when.holds(&values));
        self.needs.modules.extend(modules.map(|(name, _)| name.clone()));
        self.imply_sysctls(program, &values);
        self.expected_s = match (self.expected_s, program.expected_seconds(&values)) {
            (Some(sum), Some(seconds)) => Some(sum.saturating_add(seconds)),
            _ => None,
        };
        self.workloads.push(Workload {
            program: program.name.clone(),
            commands,
            files: program.collect.clone(),
        });
        Ok(())
    }

    fn tell_unknown(&mut self, program: &Program, own: &Map) {
        for (key, node) in own.iter() {
            let Some(key) = key.text().filter(|key| program.parameter(key).is_none()) else {
                continue;
            };
            if !node.value.is_map() && !["nr_instances"].contains(&key) {
                let note = format!("`{}` has no parameter `{key}`; it has no effect", program.name);
                self.notes.push(note);
            }
        }
    }

    /// Kernel settings of a workload; what the job itself sets counts more.
    fn imply_sysctls(&mut self, program: &Program, values: &Values) {
        let implied: Vec<(String, String)> = program
            .sysctls
            .iter()
            .filter(|sysctl| sysctl.when.holds(values))
            .filter(|sysctl| !self.sets_sysctl(&sysctl.name))
            .map(|sysctl| (sysctl.name.clone(), sysctl.value.clone()))
            .collect();
        if implied.is_empty() {
            return;
        }
        let options = implied.into_iter().collect();
        self.setups.push(Setup { program: "sysctl".to_owned(), value: None, options });
    }

    fn sets_sysctl(&self, name: &str) -> bool {
        let short = name.rsplit('.').next().unwrap_or(name).replace('-', "_");
        let own = self.atom.keys.get("sysctl").and_then(Node::as_map);
        let is_set = |map: &Map| map.contains(name) || map.contains(&format!("sc_{short}"));
        own.is_some_and(is_set) || is_set(&self.atom.keys)
    }

    fn setup(&mut self, program: &Program, node: &Node) -> Result<(), ResolveError> {
        let value = node.value.scalar_text();
        let is_none_of = |value: &&String| !program.choices.contains(*value);
        let has_choices = !program.choices.is_empty();
        if let Some(value) = value.as_ref().filter(|_| has_choices).filter(is_none_of) {
            return Err(ResolveError::Value {
                job: self.job(),
                program: program.name.clone(),
                value: value.clone(),
                choices: program.choices.join(", "),
            });
        }
        let own_value = node.as_map().and_then(|own| own.text_of(&program.name));
        if program.name == "fs"
            && value.as_ref().or(own_value.as_ref()).is_none_or(|v| v != "tmpfs")
        {
            let why = "a file system other than tmpfs needs a disk, which no testbox offers yet";
            return Err(self.unsupported(&program.name, why));
        }
        let options = self.options(program, node)?;
        if program.name == "boot_params" {
            self.kernel_cmdline.extend(options.iter().map(|(name, value)| {
                // `bp_`, `bp1_`: the digit lets a parameter stand twice.
                let name = name.split_once('_').map_or(name.as_str(), |(_, name)| name);
                if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
            }));
        }
        self.needs.packages.extend(program.packages.iter().cloned());
        self.needs.binaries.extend(program.needed_binaries(&Values::new()));
        self.setups.push(Setup { program: program.name.clone(), value, options });
        Ok(())
    }

    /// The options of a setup: its own, and its parameters at the top of the job.
    fn options(
        &mut self,
        program: &Program,
        node: &Node,
    ) -> Result<BTreeMap<String, String>, ResolveError> {
        let mut found: Vec<(String, String)> = Vec::new();
        for parameter in &program.parameters {
            // The key itself at the top is the setup's value, not an option of it.
            let text = self.atom.keys.text_of(&parameter.name);
            if let Some(text) = text.filter(|_| parameter.name != program.name) {
                found.push((parameter.name.clone(), text));
            }
        }
        if let Some(own) = node.as_map() {
            for (key, node) in own.iter() {
                let Some(key) = key.text() else { continue };
                match &node.value {
                    Value::Null => found.push((key.to_owned(), String::new())),
                    Value::List(items) => {
                        let words: Vec<String> =
                            items.iter().filter_map(|item| item.value.scalar_text()).collect();
                        found.push((key.to_owned(), words.join(" ")));
                    }
                    Value::Map(_) => {
                        let key = format!("{}.{key}", program.name);
                        return Err(self.unsupported(&key, "a setup's option is one value"));
                    }
                    scalar => found.push((key.to_owned(), scalar.to_text())),
                }
            }
        }
        let mut options = BTreeMap::new();
        for (key, text) in found {
            let value_type = self.catalog.value_type(Some(&program.name), &key);
            let value = match text.is_empty() {
                true => text,
                false => self.quantity(program, &key, &text, value_type)?,
            };
            options.insert(key, value);
        }
        Ok(options)
    }

    fn monitor(&mut self, program: &Program, node: &Node) {
        let keys = &self.atom.keys;
        let is_off = keys.text_of("need_monitors").as_deref() == Some("false")
            || keys.text_of("disable_monitor").as_deref() == Some(program.name.as_str());
        let why = if is_off {
            "the job switches it off"
        } else if !program.is_described {
            "it is known by name only: the agent cannot run it yet"
        } else if program.name.starts_with("numa-") && self.testbox.nr_node < 2 {
            "the testbox has one NUMA node"
        } else {
            return self.add_monitor(program, node);
        };
        self.skip(program, why);
    }

    fn skip(&mut self, program: &Program, why: &str) {
        self.skipped.push(Skipped { program: program.name.clone(), why: why.to_owned() });
    }

    fn add_monitor(&mut self, program: &Program, node: &Node) {
        let mut options = BTreeMap::new();
        let mut interval_ms = program.interval_ms;
        for (key, node) in node.as_map().into_iter().flat_map(Map::iter) {
            let (Some(key), Some(text)) = (key.text(), node.value.scalar_text()) else { continue };
            let interval = match key {
                "interval" => milliseconds(&text, 1000.0),
                "interval_ms" => milliseconds(&text, 1.0),
                _ => {
                    options.insert(key.to_owned(), text);
                    continue;
                }
            };
            match interval {
                Some(interval) => interval_ms = interval,
                None => self.notes.push(format!(
                    "`{key}: {text}` of `{}` is no time; {interval_ms} ms is taken",
                    program.name
                )),
            }
        }
        self.needs.binaries.extend(program.needed_binaries(&Values::new()));
        self.needs.packages.extend(program.packages.iter().cloned());
        self.monitors.push(Monitor { program: program.name.clone(), interval_ms, options });
    }

    /// Monitors of the job's category that it does not name itself.
    fn default_monitors(&mut self) {
        let Some(category) = self.atom.keys.text_of("category") else { return };
        let Some(names) = self.catalog.default_monitors(&category) else {
            self.notes.push(format!("`category: {category}` is not known and adds no monitors"));
            return;
        };
        for name in names {
            if self.atom.keys.contains(name) {
                continue;
            }
            if let Some(program) = self.catalog.get(name) {
                self.monitor(program, &Node::null());
            }
        }
    }

    fn finish(mut self) -> Result<Resolved, ResolveError> {
        self.time_profiles();
        let time_limit_s = self.time_limit_s()?;
        if let Some(words) = self.atom.keys.text_of("kernel_cmdline") {
            self.kernel_cmdline.insert(0, words);
        }
        let kernel_cmdline = self.kernel_cmdline.join(" ");
        let Needs { binaries, files, modules, packages } = &mut self.needs;
        for list in [binaries, files, modules, packages] {
            list.sort();
            list.dedup();
        }
        let plan = Plan {
            job_name: self.atom.name.clone(),
            axes: self.atom.axes(),
            job_yaml: self.atom.yaml(),
            setups: self.setups,
            monitors: self.monitors,
            workloads: self.workloads,
            time_limit_s,
            kernel_cmdline: (!kernel_cmdline.is_empty()).then_some(kernel_cmdline),
            needs: self.needs,
        };
        Ok(Resolved { plan, skipped: self.skipped, notes: self.notes })
    }

    /// A profile that does not say when to begin begins at half of a long workload.
    fn time_profiles(&mut self) {
        let Some(expected) = self.expected_s.filter(|seconds| *seconds >= DELAYED_PROFILE_S) else {
            return;
        };
        let profiles = self.monitors.iter_mut().filter(|m| m.program == "perf-profile");
        for profile in profiles {
            let delay = (expected / 2).to_string();
            profile.options.entry("delay".to_owned()).or_insert(delay);
        }
    }

    fn time_limit_s(&mut self) -> Result<u32, ResolveError> {
        let limit = match self.atom.keys.text_of("max_uptime") {
            Some(text) => {
                let (number, _) = resolve_quantity(&text, ValueType::Seconds, self.testbox)
                    .map_err(|source| ResolveError::Quantity {
                        job: self.job(),
                        program: "job".to_owned(),
                        parameter: "max_uptime".to_owned(),
                        source,
                    })?;
                number.parse().unwrap_or(u64::MAX)
            }
            None => match self.expected_s {
                Some(seconds) => seconds.saturating_mul(PATIENCE).saturating_add(SLACK_S),
                None => UNKNOWN_LIMIT_S,
            },
        };
        Ok(u32::try_from(limit).unwrap_or(u32::MAX))
    }
}

/// A time in a unit of `factor` milliseconds; fractions are fine.
fn milliseconds(text: &str, factor: f64) -> Option<u32> {
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse().ok()?;
    let milliseconds = (number * factor).round();
    (milliseconds >= 1.0 && milliseconds <= f64::from(u32::MAX)).then_some(milliseconds as u32)
}
