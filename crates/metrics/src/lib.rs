//! What did this run measure: raw files to metrics.
//!
//! A raw file is what a program of a run left behind: the text of `/proc/vmstat` once a second,
//! the output of stress-ng, the kernel's log. [`parse`] reads one into [`Samples`], [`reduce`]
//! makes one number per metric of them, [`run_metrics`] does so for a whole run directory.
//!
//! Everything but [`RunDirectory`] takes bytes and gives values; what comes from a test machine
//! is hostile, so nothing here panics, and names, lines, notes and decompressed files are bounded.
//! A line that cannot be read costs that line and makes a [`Note`], never the file. What is missing
//! stays missing: it is no zero.
//!
//! # Forms
//!
//! A periodic file is a sequence of blocks, each a line `time: <seconds since the epoch>` and the
//! text of the file in `/proc`, `/sys` or debugfs that the program is named after. Per NUMA node a
//! line `node: <number>` goes before the text of that node. `cpuidle` blocks are lines
//! `cpu<n>.<state>.{time,usage}: <value>`; `vmstat` is the output of `vmstat -n --timestamp`,
//! `mpstat` that of `mpstat -o JSON`, `perf-stat` that of `perf stat -I <ms> -x ,`,
//! `perf-profile` the text of `perf report --header --children -g folded`, `time` that of GNU
//! `time -v`. Other programs are read as they print.
//!
//! # Compatibility
//!
//! With [`ParseOptions::lkp_compatible`] names and numbers are those that lkp-tests makes of the
//! same files. Without it, its known faults are mended; [`reduce`] and the modules say where.

mod calendar;
mod compressed;
mod kind;
pub mod lkp;
mod message_id;
mod metric_name;
mod notes;
mod number;
mod options;
mod parsed;
mod program;
mod reduce;
mod run;
mod run_directory;
mod samples;
mod source;
mod spread;

pub use kind::{Kind, kind};
pub use notes::{Note, Notes};
pub use options::{ParseOptions, Window};
pub use parsed::{ParseError, Parsed, parse, raw_content};
pub use program::programs;
pub use reduce::reduce;
pub use run::{RunFiles, RunMetrics, RunNote, run_metrics};
pub use run_directory::RunDirectory;
pub use samples::{Samples, Series};
