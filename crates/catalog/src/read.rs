//! Reads the YAML files of the catalogue. The raw types mirror the files; every text that has a
//! grammar of its own keeps its place, so that a fault is named with file, line and column.

use std::collections::BTreeMap;

use patchmark_model::Kpi;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::parameter::Default;
use crate::{
    CatalogError, CommandTemplate, Condition, Duration, Expression, ImpliedSysctl, Kind,
    KpiPattern, Parameter, Program, Show, ValueType, WordsTemplate, kpi,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    name: Spanned<String>,
    kinds: Vec<Kind>,
    description: String,
    #[serde(default)]
    parameters: Vec<RawParameter>,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    binaries: Vec<Spanned<String>>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    modules: Vec<RawModule>,
    #[serde(default)]
    collect: Vec<String>,
    #[serde(default)]
    commands: Vec<RawCommand>,
    #[serde(default)]
    sysctls: Vec<RawSysctl>,
    #[serde(default)]
    durations: Vec<RawDuration>,
    #[serde(default = "one_second")]
    interval_ms: u32,
    #[serde(default)]
    kpis: Vec<RawKpi>,
}

fn one_second() -> u32 {
    1000
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    name: Spanned<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    show_name: bool,
    #[serde(rename = "type")]
    value_type: Option<ValueType>,
    #[serde(default)]
    choices: Vec<String>,
    default: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModule {
    name: String,
    when: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCommand {
    run: Spanned<String>,
    when: Option<Spanned<String>>,
    repeat: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSysctl {
    when: Option<Spanned<String>>,
    set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDuration {
    when: Option<Spanned<String>>,
    seconds: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawKpi {
    metric: String,
    better: Option<Spanned<String>>,
    unit: Option<String>,
}

/// Names that command lines may use beside a program's parameters: facts of the testbox.
const FACTS: [&str; 3] = ["nr_cpu", "nr_node", "memory"];

/// Reads `<program>.yaml`.
pub(crate) fn program(file: &str, text: &str) -> Result<Program, CatalogError> {
    let raw: RawProgram = yaml(file, text)?;
    let place = Place { file };
    let parameters = raw
        .parameters
        .into_iter()
        .map(|parameter| place.parameter(parameter))
        .collect::<Result<Vec<_>, _>>()?;
    let known = |name: &str| FACTS.contains(&name) || parameters.iter().any(|p| p.name == name);
    let mut program = Program::from_index(&raw.name.value, raw.kinds, Vec::new());
    if program.kinds.is_empty() {
        return Err(place.fault(&raw.name, "`kinds` is empty".to_owned()));
    }
    for command in &raw.commands {
        program.commands.push(place.command(command, &known)?);
    }
    for entry in &raw.sysctls {
        let when = place.condition(entry.when.as_ref(), &known)?;
        program.sysctls.extend(entry.set.iter().map(|(name, value)| ImpliedSysctl {
            when: when.clone(),
            name: name.clone(),
            value: value.clone(),
        }));
    }
    for entry in &raw.durations {
        let when = place.condition(entry.when.as_ref(), &known)?;
        let seconds = place.expression(&entry.seconds, &known)?;
        program.durations.push(Duration { when, seconds });
    }
    for raw in &raw.binaries {
        let words = WordsTemplate::parse(&raw.value).map_err(|why| place.fault(raw, why))?;
        place.check_names(raw, words.names(), &known)?;
        program.binaries.push(words);
    }
    for module in raw.modules {
        program.modules.push((module.name, place.condition(module.when.as_ref(), &known)?));
    }
    program.kpis = place.kpis(raw.kpis)?;
    program.parameters = parameters;
    program.is_described = true;
    program.description = raw.description;
    program.choices = raw.choices;
    program.packages = raw.packages;
    program.files = raw.files;
    program.collect = raw.collect;
    program.interval_ms = raw.interval_ms;
    if program.is(Kind::Workload) && program.commands.is_empty() {
        return Err(place.fault(&raw.name, "a workload needs `commands`".to_owned()));
    }
    Ok(program)
}

/// Reads `parameters.yaml`: type -> names.
pub(crate) fn parameter_types(
    file: &str,
    text: &str,
) -> Result<BTreeMap<String, ValueType>, CatalogError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        #[serde(rename = "type")]
        value_type: ValueType,
        names: Vec<String>,
    }
    let entries: Vec<Entry> = yaml(file, text)?;
    let pairs = entries.into_iter().flat_map(|entry| {
        entry.names.into_iter().map(move |name| (name, entry.value_type)).collect::<Vec<_>>()
    });
    Ok(pairs.collect())
}

/// Reads `categories.yaml`: category -> monitors.
pub(crate) fn categories(
    file: &str,
    text: &str,
) -> Result<BTreeMap<String, Vec<String>>, CatalogError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        category: String,
        monitors: Vec<String>,
    }
    let entries: Vec<Entry> = yaml(file, text)?;
    Ok(entries.into_iter().map(|entry| (entry.category, entry.monitors)).collect())
}

/// Reads `kpis.yaml`.
pub(crate) fn kpis(file: &str, text: &str) -> Result<Vec<KpiPattern>, CatalogError> {
    let raw: Vec<RawKpi> = yaml(file, text)?;
    Place { file }.kpis(raw)
}

fn yaml<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, CatalogError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let location = error.location();
        let number = |at: Option<u64>| at.and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        CatalogError::Invalid {
            file: file.to_owned(),
            line: number(location.as_ref().map(serde_saphyr::Location::line)),
            column: number(location.as_ref().map(serde_saphyr::Location::column)),
            message: one_line(&error.without_snippet().to_string()),
        }
    })
}

/// The first line, without the place that the error repeats at its end.
fn one_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.split(" at line ").next().unwrap_or(line).to_owned()
}

/// Turns raw texts into parsed ones and names the place of a fault.
struct Place<'a> {
    file: &'a str,
}

impl Place<'_> {
    fn fault<T>(&self, at: &Spanned<T>, message: String) -> CatalogError {
        CatalogError::Invalid {
            file: self.file.to_owned(),
            line: usize::try_from(at.referenced.line()).unwrap_or(1),
            column: usize::try_from(at.referenced.column()).unwrap_or(1),
            message,
        }
    }

    fn check_names<'n>(
        &self,
        at: &Spanned<String>,
        names: impl IntoIterator<Item = &'n str>,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<(), CatalogError> {
        match names.into_iter().find(|name| !known(name)) {
            Some(name) => Err(self.fault(at, format!("`{name}` is no parameter of the program"))),
            None => Ok(()),
        }
    }

    fn condition(
        &self,
        raw: Option<&Spanned<String>>,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<Condition, CatalogError> {
        let Some(raw) = raw else { return Ok(Condition::default()) };
        let condition = Condition::parse(&raw.value).map_err(|why| self.fault(raw, why))?;
        self.check_names(raw, condition.names(), known)?;
        Ok(condition)
    }

    fn expression(
        &self,
        raw: &Spanned<String>,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<Expression, CatalogError> {
        let expression = Expression::parse(&raw.value).map_err(|why| self.fault(raw, why))?;
        self.check_names(raw, expression.names(), known)?;
        Ok(expression)
    }

    fn command(
        &self,
        raw: &RawCommand,
        known: &dyn Fn(&str) -> bool,
    ) -> Result<CommandTemplate, CatalogError> {
        let when = self.condition(raw.when.as_ref(), known)?;
        let repeat = raw.repeat.as_ref().map(|r| self.expression(r, known)).transpose()?;
        let template = CommandTemplate::parse(&raw.run.value, when, repeat)
            .map_err(|why| self.fault(&raw.run, why))?;
        self.check_names(&raw.run, template.names(), known)?;
        Ok(template)
    }

    fn parameter(&self, raw: RawParameter) -> Result<Parameter, CatalogError> {
        let default = match &raw.default {
            None => None,
            Some(text) => Some(match text.value.strip_prefix('=') {
                None => Default::Text(text.value.clone()),
                Some(expression) => Default::Expression(
                    Expression::parse(expression).map_err(|why| self.fault(text, why))?,
                ),
            }),
        };
        Ok(Parameter {
            name: raw.name.value,
            description: raw.description,
            show: if raw.show_name { Show::KeyValue } else { Show::Value },
            value_type: raw.value_type,
            choices: raw.choices,
            default,
        })
    }

    fn kpis(&self, raw: Vec<RawKpi>) -> Result<Vec<KpiPattern>, CatalogError> {
        let pattern = |raw: RawKpi| {
            let direction = match &raw.better {
                None => None,
                Some(word) => Some(kpi::direction(&word.value).ok_or_else(|| {
                    self.fault(word, "`better` is `higher` or `lower`".to_owned())
                })?),
            };
            Ok(KpiPattern { metric: raw.metric, kpi: Kpi { direction, unit: raw.unit } })
        };
        raw.into_iter().map(pattern).collect()
    }
}
