//! Job files: what does this file ask for?
//!
//! A job file is YAML in the dialect of lkp-tests: programs and their parameters as keys, lists
//! that make a matrix, documents that vary the first one, textual includes. The way of the data:
//!
//! ```text
//! text -> Expanded text (include) -> documents (yaml) -> atom jobs (expand) -> Plan (resolve)
//! ```
//!
//! - [`JobFile::load`] reads a file and all it includes; [`JobFile::expand`] yields its
//!   [`AtomJob`]s, in the order and under the names that lkp-tests' `split-job` gives them.
//! - [`check`] finds everything wrong with a file, with line, column and a nearest known name.
//! - [`resolve()`] answers what is left open for one testbox (`100%` of which CPUs?) and yields a
//!   [`Plan`](patchmark_model::Plan).
//!
//! Files are read through [`Files`] alone, so that nothing here touches a disk by itself. Ruby in
//! job files (`{{ }}`, `<% %>`, lines that begin with `%`) is refused: a job file is data.

mod atom;
mod check;
mod comment;
mod defaults;
mod diagnostic;
mod emit;
mod error;
mod expand;
mod files;
mod include;
mod jobfile;
mod lkp_source;
mod matrix;
mod overrides;
mod path_params;
mod programs;
mod quantity;
mod resolve;
mod revise;
mod ruby;
mod scalar;
mod source;
mod template;
mod template_expr;
mod value;
mod yaml;

pub use atom::AtomJob;
pub use check::check;
pub use diagnostic::{Diagnostic, Severity};
pub use error::{JobError, ResolveError};
pub use expand::{ExpandOptions, Expansion};
pub use files::{DiskFiles, Files, MemoryFiles};
pub use jobfile::{JobFile, LoadOptions};
pub use lkp_source::LkpSource;
pub use overrides::Overrides;
pub use quantity::{QuantityError, resolve_quantity};
pub use resolve::{Resolved, resolve};
pub use value::{Key, Map, Node, Place, Value};
