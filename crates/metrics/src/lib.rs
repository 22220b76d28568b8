//! What did this run measure: raw files to metrics.

mod calendar;
mod message_id;
mod metric_name;
mod notes;
mod number;
mod options;
mod parsed;
mod program;
mod samples;
mod source;

pub use notes::{Note, Notes};
pub use options::{ParseOptions, Window};
pub use parsed::{ParseError, Parsed, parse};
pub use program::programs;
pub use samples::{Samples, Series};
