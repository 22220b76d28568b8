//! How is it told: tables, summaries, JSON.
//!
//! [`Report::build`] computes everything that is told about a comparison; the functions of
//! [`render`] print it and compute nothing, and `serde_json` writes all of it (the layout is
//! described in `docs/report.schema.json`). What a reader sees is explained in
//! `docs/reading-a-report.md`.

mod build;
mod context;
mod lkp;
mod matrix;
mod number;
mod options;
mod own;
pub mod render;
mod report;
pub mod table;
mod text;

#[cfg(test)]
mod conformance;

pub use context::Context;
pub use options::TableOptions;
pub use report::{
    Absent, AgainstBase, FailedRun, Group, LeftOut, Report, ReportColumn, ReportMetric, Samples,
    Thresholds,
};
