//! Job files: loading.

use std::path::{Path, PathBuf};

use crate::include::Includer;
use crate::source::{Line, Sources, lines_of};
use crate::value::{Key, Map, Node, Place, Value};
use crate::yaml::Documents;
use crate::{Diagnostic, Files, JobError, LkpSource, Severity, comment, ruby, yaml};

/// How to load a job file.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions<'a> {
    /// An lkp-tests folder: include files are looked for there as well.
    pub lkp: Option<&'a LkpSource>,
    /// Load a saved job as if it were the file it came from: sections that other files added
    /// (`#! hosts/...`) are passed over.
    pub compatible: bool,
}

/// A job file, read with all it includes: a first document and those that vary it.
#[derive(Clone, Debug)]
pub struct JobFile {
    /// The path as it was given.
    pub path: PathBuf,
    /// The first document, with the comment that names the file and with `job_origin`.
    pub first: Map,
    /// Each further document; it changes the first one.
    pub further: Vec<Map>,
    pub(crate) duplicates: Vec<(Place, String)>,
    pub(crate) sources: Sources,
}

impl JobFile {
    /// Reads a file. Fails with every fault that keeps it from being read: includes not found,
    /// Ruby, YAML syntax.
    pub fn load(
        path: &Path,
        files: &dyn Files,
        options: LoadOptions<'_>,
    ) -> Result<Self, JobError> {
        let text = files.read(path).map_err(|error| JobError::Unreadable {
            file: path.display().to_string(),
            why: error.to_string(),
        })?;
        JobFile::parse(path, &text, files, options)
    }

    /// Reads a text as if it were the file at `path`.
    pub fn parse(
        path: &Path,
        text: &str,
        files: &dyn Files,
        options: LoadOptions<'_>,
    ) -> Result<Self, JobError> {
        match read(path, text, files, options) {
            (Some(job), diagnostics) if diagnostics.is_empty() => Ok(job),
            (_, diagnostics) => Err(JobError::Invalid(diagnostics)),
        }
    }

    /// The file's stem, which the names of its jobs begin with.
    pub fn stem(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        name.strip_suffix(".yaml").unwrap_or(&name).to_owned()
    }

    /// Keys that stand twice in one map, as warnings.
    pub(crate) fn duplicate_warnings(&self, severity: Severity) -> Vec<Diagnostic> {
        let diagnostic = |(place, key): &(Place, String)| {
            let message = format!("`{key}` stands twice in one map; only the last one counts");
            let help = Some("put the values in one list, or take one line out".to_owned());
            Diagnostic::new(severity, &self.sources, *place, message, help)
        };
        self.duplicates.iter().map(diagnostic).collect()
    }
}

/// Reads a text with all it includes: the job, unless it is no YAML, and every fault that keeps it
/// from being used.
pub(crate) fn read(
    path: &Path,
    text: &str,
    files: &dyn Files,
    options: LoadOptions<'_>,
) -> (Option<JobFile>, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let name = path.display().to_string();
    let file = sources.add(&name, text);
    let mut lines = lines_of(file, text);
    if options.compatible {
        lines = without_added_sections(lines);
    }
    let mut includer = Includer {
        files,
        lkp_root: options.lkp.map(LkpSource::root),
        sources: &mut sources,
        diagnostics: Vec::new(),
    };
    let lines = includer.expand(comment::keep_comments(lines), path);
    let mut diagnostics = includer.diagnostics;
    let ruby = ruby::find(&lines);
    for (place, what) in &ruby {
        let message = format!("{what} is Ruby, which job files cannot hold");
        let help = Some(ruby::HELP.to_owned());
        diagnostics.push(Diagnostic::new(Severity::Error, &sources, *place, message, help));
    }
    let Documents { roots, duplicates } = match yaml::parse(&lines) {
        Ok(documents) => documents,
        // With Ruby in it, a text need not be YAML.
        Err(_) if !ruby.is_empty() => return (None, diagnostics),
        Err(yaml::Fault { place, message }) => {
            let message = format!("no YAML: {message}");
            diagnostics.push(Diagnostic::new(Severity::Error, &sources, place, message, None));
            return (None, diagnostics);
        }
    };
    let mut maps = Vec::with_capacity(roots.len());
    for root in roots {
        match root.value {
            Value::Map(map) => maps.push(map),
            Value::Null if !maps.is_empty() => maps.push(Map::default()),
            _ => {
                let help = Some("a job file holds `key: value` lines".to_owned());
                let message = "this document is no map";
                let fault = Diagnostic::new(Severity::Error, &sources, root.place, message, help);
                diagnostics.push(fault);
            }
        }
    }
    if maps.is_empty() {
        if diagnostics.is_empty() {
            let fault =
                Diagnostic::new(Severity::Error, &sources, Place::default(), "no job in it", None);
            diagnostics.push(fault);
        }
        return (None, diagnostics);
    }
    let first = with_origin(maps.remove(0), &name, options.lkp);
    let job = JobFile { path: path.to_owned(), first, further: maps, duplicates, sources };
    (Some(job), diagnostics)
}

/// Names the file in a comment before the first key, unless the job says where it came from.
fn with_origin(first: Map, name: &str, lkp: Option<&LkpSource>) -> Map {
    let mut job = Map::default();
    if first.text_of("job_origin").is_none() {
        let shown = lkp.map_or(name, |lkp| lkp.relative(name));
        job.insert(Key::Comment(format!("#! {shown}")), Node::null());
    }
    for (key, node) in first.iter() {
        job.insert(key.clone(), node.clone());
    }
    if job.text_of("job_origin").is_none() {
        job.set("job_origin", Node::text(name));
    }
    job
}

/// The lines up to the first section of another file; of sections only those of job files stay.
fn without_added_sections(lines: Vec<Line>) -> Vec<Line> {
    let section = |line: &Line| {
        let text = line.text.strip_prefix(':').unwrap_or(&line.text);
        text.strip_prefix("#! ").map(|name| name.trim_end_matches(':').ends_with(".yaml"))
    };
    let mut is_own = true;
    let mut kept = lines;
    kept.retain(|line| {
        if let Some(of_job_file) = section(line) {
            is_own = of_job_file;
        }
        is_own
    });
    kept
}
