//! Everything wrong with a job file, found without running it.

use std::collections::BTreeSet;
use std::path::Path;

use patchmark_catalog::{Catalog, Kind, Program, ValueType, nearest};

use crate::programs::{Programs, Referenced};
use crate::quantity::is_well_formed;
use crate::source::Sources;
use crate::value::{Key, Map, Node, Value};
use crate::{Diagnostic, ExpandOptions, Files, JobFile, LoadOptions, Place, Severity, jobfile};

/// Checks a job file: YAML, includes, Ruby, programs, parameters, values, keys that stand twice,
/// jobs with the same name. Every problem is told, in the order of the file.
pub fn check(
    path: &Path,
    text: &str,
    files: &dyn Files,
    options: LoadOptions<'_>,
    catalog: &Catalog,
) -> Vec<Diagnostic> {
    let (job, mut diagnostics) = jobfile::read(path, text, files, options);
    if let Some(job) = job {
        diagnostics.extend(job.duplicate_warnings(Severity::Error));
        let mut checker = Checker::new(&job, options.lkp.map(|lkp| &lkp.programs), catalog);
        checker.documents();
        diagnostics.append(&mut checker.diagnostics);
        if !diagnostics.iter().any(Diagnostic::is_error) {
            let lkp = options.lkp.map(|lkp| (lkp, files));
            let bare = ExpandOptions { lkp, no_defaults: true, ..ExpandOptions::default() };
            match job.expand(&bare, catalog) {
                Ok(expansion) => diagnostics.extend(
                    // Keys that stand twice have been told, as errors.
                    expansion.warnings.into_iter().filter(|w| !w.message.contains("stands twice")),
                ),
                Err(error) => diagnostics.push(Diagnostic::new(
                    Severity::Error,
                    &job.sources,
                    Place::default(),
                    error.to_string(),
                    None,
                )),
            }
        }
    }
    diagnostics.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    // An include taken in twice brings its problems twice.
    diagnostics.dedup();
    diagnostics
}

/// Keys of the dialect that begin with a word and a blank: `if role server`.
const STATEMENTS: [&str; 11] = [
    "if ",
    "for ",
    "while ",
    "until ",
    "call ",
    "command ",
    "source ",
    "script ",
    "function ",
    "elsif ",
    "else",
];

/// Parameters of whatever runs a workload.
const WRAPPER: [&str; 4] = ["nr_instances", "cpu_node_bind", "mem_node_bind", "cluster"];

struct Checker<'a> {
    job: &'a JobFile,
    sources: &'a Sources,
    catalog: &'a Catalog,
    /// Programs that some document refers to.
    programs: Vec<&'a Program>,
    /// Programs of an lkp-tests folder, which the catalogue need not have.
    lkp: Option<&'a Programs>,
    /// What the documents refer to of those.
    referenced: Vec<Referenced>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn new(job: &'a JobFile, lkp: Option<&'a Programs>, catalog: &'a Catalog) -> Self {
        let mut names = BTreeSet::new();
        for document in std::iter::once(&job.first).chain(&job.further) {
            document.for_each(&mut |_, key, _| {
                names.insert(head(key).to_owned());
            });
        }
        let programs = names.iter().filter_map(|name| catalog.get(name)).collect();
        let documents = std::iter::once(&job.first).chain(&job.further);
        let referenced = lkp
            .map(|lkp| documents.map(|document| Referenced::by(document, lkp)).collect())
            .unwrap_or_default();
        let diagnostics = Vec::new();
        Checker { job, sources: &job.sources, catalog, programs, lkp, referenced, diagnostics }
    }

    fn documents(&mut self) {
        // An lkp-tests folder does not say which of its programs are workloads.
        let has_workload = self.programs.iter().any(|program| program.is(Kind::Workload));
        if !has_workload && self.lkp.is_none() {
            let help = "a job has a workload as a key: `stress-ng:`, `hackbench:`".to_owned();
            self.report(Severity::Warning, Place::default(), "no workload is named", Some(help));
        }
        for document in std::iter::once(&self.job.first).chain(&self.job.further) {
            self.block(document);
        }
    }

    /// A level at which programs can stand: the top of a document, an `if`.
    fn block(&mut self, map: &'a Map) {
        for (key, node) in map.iter() {
            let Key::Text(key) = key else { continue };
            let name = head(key);
            if STATEMENTS.iter().any(|word| name.starts_with(word)) {
                if let Value::Map(inner) = &node.value {
                    self.block(inner);
                }
            } else if let Some(program) = self.catalog.get(name) {
                self.program(program, key, node);
            } else if self.is_parameter(name) {
                self.value(None, name, node);
            } else if !self.catalog.is_plain_key(name) && !self.is_of_lkp(name) {
                self.unknown(key, name, node);
            }
        }
    }

    fn program(&mut self, program: &'a Program, key: &str, node: &'a Node) {
        // `a.b: value` sets a parameter in depth; `program-` takes something out.
        if let Some((_, parameter)) = key.split_once('.') {
            let parameter = parameter.trim_end_matches(['+', '-']);
            return self.parameter(program, parameter, node.place, node);
        }
        match &node.value {
            Value::Map(options) if !key.ends_with('-') => {
                for (option, value) in options.iter() {
                    if let Key::Text(option) = option {
                        self.parameter(program, option, value.place, value);
                    }
                }
            }
            Value::Map(_) | Value::Null => {}
            // A name can be both a program and its one parameter: `fs: xfs`, `iosched: none`.
            _ if program.parameter(&program.name).is_some() => {
                self.value(Some(program), &program.name, node);
            }
            value => {
                let texts = scalars(value);
                self.choices(&program.name, &program.choices, &texts, node);
            }
        }
    }

    fn parameter(&mut self, program: &'a Program, name: &str, place: Place, node: &'a Node) {
        if program.parameter(name).is_some() || WRAPPER.contains(&name) {
            return self.value(Some(program), name, node);
        }
        // A program's key can hold further programs, run in the background of it.
        if self.catalog.get(name).is_some() || node.value.is_map() {
            return;
        }
        let known = program.parameters.iter().map(|parameter| parameter.name.as_str());
        let near = nearest(name, known.clone());
        // Of a program known by name only, the list of parameters may lack some; of a monitor
        // nothing depends on them.
        let is_certain = near.is_some() || (program.is_described && program.shapes_result());
        // Whatever kernel setting there is can be a parameter of these.
        let is_open = matches!(program.name.as_str(), "sysctl" | "boot_params" | "cgroup2");
        if is_open && (near.is_none() || name.contains('.')) {
            return;
        }
        let severity = if is_certain { Severity::Error } else { Severity::Warning };
        let names: Vec<&str> = known.take(12).collect();
        let help = near
            .map(did_you_mean)
            .or_else(|| (!names.is_empty()).then(|| format!("it has: {}", names.join(", "))));
        let message = format!("`{}` has no parameter `{name}`", program.name);
        self.report(severity, self.key_place(place, name), &message, help);
    }

    /// Whether a top-level key is a parameter of a program of this job.
    fn is_parameter(&self, name: &str) -> bool {
        WRAPPER.contains(&name) || self.programs.iter().any(|p| p.parameter(name).is_some())
    }

    /// Whether a key is a program of the lkp-tests folder, or a parameter of one of this job.
    fn is_of_lkp(&self, name: &str) -> bool {
        self.lkp.is_some_and(|lkp| lkp.knows(name))
            || self.referenced.iter().any(|referenced| referenced.is_dimension(name))
    }

    fn unknown(&mut self, key: &str, name: &str, node: &'a Node) {
        let place = self.key_place(node.place, key);
        let looks_like_program = matches!(node.value, Value::Null | Value::Map(_));
        if looks_like_program {
            if let Value::Map(inner) = &node.value {
                // A block of programs that runs in the background.
                if inner.iter().any(|(k, _)| k.text().is_some_and(|k| self.is_known(k))) {
                    return self.block(inner);
                }
            }
            if self.tell_foreign_parameter(name, place) {
                return;
            }
            let near = self.catalog.nearest(name).or_else(|| self.near_key(name));
            let severity = if near.is_some() { Severity::Error } else { Severity::Warning };
            let help = near.map(did_you_mean);
            let message = format!("unknown program `{name}`");
            return self.report(severity, place, &message, help);
        }
        let parameters = self.programs.iter().flat_map(|p| p.parameters.iter());
        let near_parameter = nearest(name, parameters.map(|p| p.name.as_str()));
        if let Some(near) = near_parameter {
            let message = format!("unknown parameter `{name}`");
            return self.report(Severity::Error, place, &message, Some(did_you_mean(near)));
        }
        if self.tell_foreign_parameter(name, place) {
            return;
        }
        if let Some(near) = self.catalog.nearest(name).or_else(|| self.near_key(name)) {
            let message = format!("unknown key `{name}`");
            self.report(Severity::Warning, place, &message, Some(did_you_mean(near)));
        }
        // Any other scalar is a variable of the job's own.
    }

    /// A parameter that only programs have that this job does not name.
    fn tell_foreign_parameter(&mut self, name: &str, place: Place) -> bool {
        const MOST: usize = 4;
        let mut others: Vec<&Program> =
            self.catalog.programs().filter(|p| p.parameter(name).is_some()).collect();
        if others.is_empty() {
            return false;
        }
        // Those that can be run come first.
        others.sort_by_key(|program| !program.is_described);
        let more = others.len().saturating_sub(MOST);
        let names: Vec<String> =
            others.iter().take(MOST).map(|program| format!("`{}`", program.name)).collect();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("`{name}` is a parameter of no program of this job");
        let help = format!("it is one of {}{rest}", names.join(", "));
        self.report(Severity::Warning, place, &message, Some(help));
        true
    }

    fn is_known(&self, key: &str) -> bool {
        self.catalog.get(head(key)).is_some() || STATEMENTS.iter().any(|w| key.starts_with(w))
    }

    fn near_key(&self, name: &str) -> Option<&'a str> {
        nearest(name, self.catalog.plain_keys().filter(|key| !key.ends_with('*')))
    }

    /// The place of a key, given that of its value: the key's own when the value is nothing, else
    /// the same line, where the key stands before it.
    fn key_place(&self, place: Place, key: &str) -> Place {
        let Some(source) = self.sources.get(place.file) else { return place };
        let lines: Vec<&str> = source.text.lines().take(place.line + 1).collect();
        for (at, line) in lines.iter().enumerate().rev().take(4) {
            if let Some(byte) = line.find(&format!("{key}:")) {
                let column = line.get(..byte).map_or(0, |head| head.chars().count());
                return Place { line: at, column, ..place };
            }
        }
        place
    }

    fn value(&mut self, program: Option<&'a Program>, name: &str, node: &'a Node) {
        let owner = program.or_else(|| {
            self.programs.iter().copied().find(|p| p.shapes_result() && p.parameter(name).is_some())
        });
        let value_type = self.catalog.value_type(owner.map(|p| p.name.as_str()), name);
        let texts = scalars(&node.value);
        if let Some(parameter) = owner.and_then(|program| program.parameter(name)) {
            self.choices(name, &parameter.choices, &texts, node);
        }
        for (text, place) in &texts {
            if is_shell(text) || value_type == ValueType::Text {
                continue;
            }
            if !is_well_formed(text, value_type) {
                let message = format!("`{name}: {text}`: {}", value_type.expected());
                let place = place.unwrap_or(node.place);
                let help = self.value_help(text, value_type);
                self.report(Severity::Error, place, &message, help);
            }
        }
    }

    fn value_help(&self, text: &str, value_type: ValueType) -> Option<String> {
        // The longest beginning that would do: `100%x` -> `100%`.
        let ends = text.char_indices().map(|(at, _)| at).rev();
        let good = ends.filter_map(|end| text.get(..end)).find(|t| is_well_formed(t, value_type));
        good.map(did_you_mean)
    }

    fn choices(
        &mut self,
        name: &str,
        choices: &[String],
        texts: &[(String, Option<Place>)],
        node: &Node,
    ) {
        if choices.is_empty() {
            return;
        }
        for (text, place) in texts {
            if choices.contains(text) || is_shell(text) {
                continue;
            }
            let message = format!("`{name}` has no value `{text}`");
            let help = match nearest(text, choices.iter().map(String::as_str)) {
                Some(near) => did_you_mean(near),
                None => format!("it is one of {}", choices.join(", ")),
            };
            self.report(Severity::Error, place.unwrap_or(node.place), &message, Some(help));
        }
    }

    fn report(&mut self, severity: Severity, place: Place, message: &str, help: Option<String>) {
        let diagnostic = Diagnostic::new(severity, self.sources, place, message, help);
        self.diagnostics.push(diagnostic);
    }
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// `a+`, `a-`, `a.b` -> `a`; a key with a blank in it stays.
fn head(key: &str) -> &str {
    if key.contains(' ') {
        return key;
    }
    let key = key.strip_suffix(['+', '-']).unwrap_or(key);
    key.split('.').next().unwrap_or(key)
}

fn is_shell(text: &str) -> bool {
    text.contains('$')
}

/// The scalars of a value or of a list, as text, with places where they have their own.
fn scalars(value: &Value) -> Vec<(String, Option<Place>)> {
    match value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| Some((item.value.scalar_text()?, Some(item.place))))
            .collect(),
        other => other.scalar_text().map(|text| (text, None)).into_iter().collect(),
    }
}
