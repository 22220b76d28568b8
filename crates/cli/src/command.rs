//! The commands, one a file.

pub mod compare;
pub mod docs;
pub mod doctor;
pub mod job;
pub mod kernel;
pub mod metrics;
pub mod parse;
pub mod results;
pub mod run;
pub mod testbox;
