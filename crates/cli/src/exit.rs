//! Exit codes and the errors that lead to them.

use std::process::ExitCode;

/// How a command ended; the numbers are documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Fine = 0,
    /// The answer is "a regression", or a check found errors.
    Regression = 1,
    /// Wrong use: an option, a job file, a kernel's name.
    Usage = 2,
    /// The infrastructure failed.
    Infrastructure = 3,
    /// The kernel or the workload failed.
    Workload = 4,
    /// Ended by Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error of a command: what to print and how to exit.
#[derive(Debug)]
pub struct Trouble {
    /// The exit code.
    pub exit: Exit,
    /// What went wrong.
    pub error: anyhow::Error,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl Trouble {
    /// Wrong use.
    pub fn usage(error: impl Into<anyhow::Error>) -> Trouble {
        Trouble { exit: Exit::Usage, error: error.into(), hints: Vec::new() }
    }

    /// The infrastructure failed.
    pub fn infrastructure(error: impl Into<anyhow::Error>) -> Trouble {
        Trouble { exit: Exit::Infrastructure, error: error.into(), hints: Vec::new() }
    }

    /// Adds a line on what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Trouble {
        self.hints.push(hint.into());
        self
    }
}
