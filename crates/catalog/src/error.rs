//! What can be wrong with catalogue data, and with filling a command line.

use std::path::PathBuf;

/// Why a catalogue cannot be loaded. `line` and `column` count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A file cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A file holds something that is no catalogue entry.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        /// The file's name.
        file: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What is wrong and what is expected instead.
        message: String,
    },
}

/// Why a command line cannot be filled with a job's values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A value that the command needs is not set.
    #[error("`{program}` needs `{parameter}`: set it in the job")]
    Missing {
        /// The program.
        program: String,
        /// The parameter.
        parameter: String,
    },
    /// A value is used in a calculation and is no whole number, or the result is none.
    #[error("`{program}`: `{expression}` cannot be calculated: {why}")]
    Calculation {
        /// The program.
        program: String,
        /// The expression as written.
        expression: String,
        /// Why.
        why: String,
    },
    /// No command of the program fits the values.
    #[error("`{program}` has no command line for these parameters: {hint}")]
    NoCommand {
        /// The program.
        program: String,
        /// The conditions of the commands there are.
        hint: String,
    },
}
