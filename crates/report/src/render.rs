//! Reports as text. Nothing is computed here; text from kernels and guests is escaped.

mod lkp;
mod summary;

pub use lkp::lkp;
pub use summary::{SummaryOptions, summary};
