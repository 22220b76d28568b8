//! Programs: the things a job runs.

use patchmark_model::Command;
use serde::Deserialize;

use crate::{
    CommandTemplate, Condition, Expression, KpiPattern, Parameter, ParameterDefault, RenderError,
    ValueType, Values, WordsTemplate,
};

/// What a program is for. One name can be several: a setup that prepares and a workload that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Measured: `stress-ng`.
    Workload,
    /// Applied before the workload and restored after it: `cpufreq_governor`.
    Setup,
    /// Runs beside the workload: `vmstat`.
    Monitor,
    /// A server that a workload talks to: `netserver`.
    Daemon,
}

impl Kind {
    /// The word for it, as in the data.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Workload => "workload",
            Kind::Setup => "setup",
            Kind::Monitor => "monitor",
            Kind::Daemon => "daemon",
        }
    }
}

/// A program of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, the key in job files.
    pub name: String,
    /// What it is for; at least one.
    pub kinds: Vec<Kind>,
    /// One sentence; empty for a program of the index.
    pub description: String,
    /// Whether a job that names it can run: it has a file of its own in the catalogue.
    pub is_described: bool,
    /// Its parameters, in the order of its documentation.
    pub parameters: Vec<Parameter>,
    /// For a setup that is written as `name: value`: the values there are; any when empty.
    pub choices: Vec<String>,
    /// Debian packages that bring its executables.
    pub packages: Vec<String>,
    /// Executables it needs, by name or absolute path, with holes for parameters.
    pub binaries: Vec<WordsTemplate>,
    /// Files and folders it needs, by absolute path.
    pub files: Vec<String>,
    /// Kernel modules it needs, by name; each with the condition under which it does.
    pub modules: Vec<(String, Condition)>,
    /// Files the commands leave in their working directory and that belong to the run.
    pub collect: Vec<String>,
    /// A workload's commands, in order.
    pub commands: Vec<CommandTemplate>,
    /// Kernel settings that the workload needs to run as its makers mean it.
    pub sysctls: Vec<ImpliedSysctl>,
    /// How long it runs, in seconds; the first entry whose condition holds counts.
    pub durations: Vec<Duration>,
    /// A monitor's milliseconds between samples when a job does not say; 0 samples once before
    /// and once after the workload.
    pub interval_ms: u32,
    /// Its headline metrics; the first pattern that fits counts.
    pub kpis: Vec<KpiPattern>,
}

/// A kernel setting that a workload implies under a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpliedSysctl {
    /// When.
    pub when: Condition,
    /// The setting: `fs.mqueue.queues_max`.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// How long a workload runs under a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duration {
    /// When.
    pub when: Condition,
    /// Seconds.
    pub seconds: Expression,
}

impl Program {
    /// A program of the index: name, kinds and parameters only.
    pub(crate) fn from_index(name: &str, kinds: Vec<Kind>, parameters: Vec<Parameter>) -> Self {
        Program {
            name: name.to_owned(),
            kinds,
            description: String::new(),
            is_described: false,
            parameters,
            choices: Vec::new(),
            packages: Vec::new(),
            binaries: Vec::new(),
            files: Vec::new(),
            modules: Vec::new(),
            collect: Vec::new(),
            commands: Vec::new(),
            sysctls: Vec::new(),
            durations: Vec::new(),
            interval_ms: 1000,
            kpis: Vec::new(),
        }
    }

    /// Whether it is of a kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether its parameters can change a test's result: all kinds but monitors. Such programs
    /// and their parameters make the matrix and the name of a job.
    pub fn shapes_result(&self) -> bool {
        self.kinds.iter().any(|kind| *kind != Kind::Monitor)
    }

    /// A parameter by name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Adds the defaults of parameters that have no value. An expression that lacks a value
    /// itself adds nothing: the command that needs it will say so.
    pub fn fill_defaults(&self, values: &mut Values) {
        for parameter in &self.parameters {
            if values.get(&parameter.name).is_some_and(|value| !value.is_empty()) {
                continue;
            }
            let value = match &parameter.default {
                None => continue,
                Some(ParameterDefault::Text(text)) => text.clone(),
                Some(ParameterDefault::Expression(expression)) => {
                    match expression.evaluate(values) {
                        Ok(number) => number.to_string(),
                        Err(_) => continue,
                    }
                }
            };
            values.insert(parameter.name.clone(), value);
        }
    }

    /// The workload's commands for these values, which hold plain numbers (no `100%`, no `60s`).
    pub fn render(&self, values: &Values) -> Result<Vec<Command>, RenderError> {
        let mut commands = Vec::new();
        for template in self.commands.iter().filter(|template| template.when.holds(values)) {
            commands.extend(template.render(&self.name, values)?);
        }
        if commands.is_empty() {
            let conditions: Vec<&str> = self.commands.iter().map(|c| c.when.text()).collect();
            return Err(RenderError::NoCommand {
                program: self.name.clone(),
                hint: format!("one of these must hold: {}", conditions.join("; ")),
            });
        }
        Ok(commands)
    }

    /// The executables it needs with these values; one whose parameter is unset is left out.
    pub fn needed_binaries(&self, values: &Values) -> Vec<String> {
        self.binaries.iter().filter_map(|b| b.render(&self.name, values).ok()).flatten().collect()
    }

    /// How long it is expected to run with these values, in seconds; `None` when nobody can say.
    pub fn expected_seconds(&self, values: &Values) -> Option<u64> {
        let duration = self.durations.iter().find(|duration| duration.when.holds(values))?;
        duration.seconds.evaluate(values).ok().and_then(|seconds| u64::try_from(seconds).ok())
    }

    /// What a value of one of its parameters means, where the program itself says so.
    pub fn value_type(&self, parameter: &str) -> Option<ValueType> {
        self.parameter(parameter).and_then(|parameter| parameter.value_type)
    }
}
