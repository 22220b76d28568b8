//! The programs a job can name, as data: parameters, command lines, headline metrics.
//!
//! [`Catalog`] is the entry point. Its data is `catalog/` at the root of the project, embedded in
//! the binary; a folder of the user's can lay more programs over it:
//!
//! | file | holds |
//! |---|---|
//! | `<program>.yaml` | one [`Program`], fully described: a job that names it can run |
//! | `index.txt` | programs known by name, kind and parameters only: jobs that name them check and expand |
//! | `parameters.yaml` | what the values of parameters mean, by name, where a program says nothing else |
//! | `keys.txt` | keys of job files that are no program and no parameter |
//! | `categories.yaml` | monitors that run because of a job's `category:` |
//! | `kpis.yaml` | headline metrics of programs that have no file of their own |
//!
//! Nothing here runs anything: a program's command lines are templates ([`CommandTemplate`]) that
//! are filled with a job's values.

mod catalog;
mod condition;
mod error;
mod expression;
mod index;
mod kpi;
mod parameter;
mod program;
mod read;
mod template;

pub use catalog::{Catalog, nearest};
pub use condition::Condition;
pub use error::{CatalogError, RenderError};
pub use expression::Expression;
pub use kpi::KpiPattern;
pub use parameter::{Default as ParameterDefault, Parameter, Show, ValueType};
pub use program::{Duration, ImpliedSysctl, Kind, Program};
pub use template::{CommandTemplate, WordsTemplate};

/// Values of parameters by name, as text.
pub type Values = std::collections::BTreeMap<String, String>;
