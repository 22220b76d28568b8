//! What can go wrong with a job.

use crate::{Diagnostic, QuantityError};

/// Why a job file cannot be loaded or expanded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JobError {
    /// A file cannot be read.
    #[error("{file}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        why: String,
    },
    /// The file is wrong; at least one of the diagnostics is an error.
    #[error("{}", first_error(.0))]
    Invalid(Vec<Diagnostic>),
    /// A `hosts/` file of the lkp-tests folder is missing.
    #[error("the lkp-tests folder has no hosts/{testbox}: add one, or expand without the folder")]
    UnknownHost {
        /// The testbox's name.
        testbox: String,
    },
    /// A file of the lkp-tests folder that split-job would load cannot be used.
    #[error("{file}: {why}")]
    Defaults {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// `--set` was given something else than `key: value` or `key=value`.
    #[error("`{given}` is no setting: {why}; write `key=value` or `key: value`")]
    Setting {
        /// What was given.
        given: String,
        /// What is wrong.
        why: String,
    },
    /// The matrix is too large to be meant.
    #[error("{file}: the matrix has more than {limit} jobs: shorten its lists")]
    TooLarge {
        /// The file.
        file: String,
        /// The limit.
        limit: usize,
    },
}

impl JobError {
    /// The diagnostics, when the file itself is wrong.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            JobError::Invalid(diagnostics) => diagnostics,
            _ => &[],
        }
    }
}

fn first_error(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let more = match errors {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let first = diagnostics.iter().find(|d| d.is_error()).or_else(|| diagnostics.first());
    first.map_or_else(|| "the file is wrong".to_owned(), |first| format!("{first}{more}"))
}

/// Why a job cannot run on a testbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The job names no workload.
    #[error("job {job}: it names no workload, so there is nothing to measure")]
    NoWorkload {
        /// The job's name.
        job: String,
    },
    /// A program is known by name, but not how to run it.
    #[error(
        "job {job}: the {kind} `{program}` cannot be run yet; describe it in a catalogue file \
         {program}.yaml, or take it out of the job"
    )]
    NotRunnable {
        /// The job's name.
        job: String,
        /// `workload`, `setup` or `daemon`.
        kind: &'static str,
        /// The program.
        program: String,
    },
    /// A construct of the dialect that expands but does not run.
    #[error("job {job}: `{key}` cannot be run: {why}")]
    Unsupported {
        /// The job's name.
        job: String,
        /// The key.
        key: String,
        /// Why, and what to write instead.
        why: String,
    },
    /// A value does not fit its parameter.
    #[error("job {job}: `{parameter}` of `{program}`: {source}")]
    Quantity {
        /// The job's name.
        job: String,
        /// The program.
        program: String,
        /// The parameter.
        parameter: String,
        /// What is wrong.
        #[source]
        source: QuantityError,
    },
    /// A value is none of those there are.
    #[error("job {job}: `{parameter}` of `{program}` is `{value}`; it is one of {choices}")]
    Choice {
        /// The job's name.
        job: String,
        /// The program.
        program: String,
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
        /// The values there are.
        choices: String,
    },
    /// A setup's value is none of those there are.
    #[error("job {job}: the setup `{program}` has no value `{value}`; it is one of {choices}")]
    Value {
        /// The job's name.
        job: String,
        /// The setup.
        program: String,
        /// The value.
        value: String,
        /// The values there are.
        choices: String,
    },
    /// A command line cannot be made.
    #[error("job {job}: {source}")]
    Command {
        /// The job's name.
        job: String,
        /// What is wrong.
        #[source]
        source: patchmark_catalog::RenderError,
    },
}
