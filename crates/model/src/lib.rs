//! The nouns of Patchmark. Nothing here does I/O, reads a clock or knows another crate.
//!
//! Data flows through these types from left to right:
//! a job becomes a [`RunSpec`], a testbox turns it into a run directory described by a
//! [`RunRecord`], its raw files become [`Metrics`], the metrics of many runs a
//! [`Comparison`], and each metric of it gets a [`Verdict`].
//!
//! The invariant that every other crate relies on: **absent is not zero**. A metric that a
//! run lacks has no entry in its [`Metrics`] and is `None` in a [`SampleSet`].

mod axes;
mod clock;
mod comparison;
mod event;
mod kernel;
mod metric;
mod run;
mod sample;
mod spec;
mod testbox;
mod verdict;
pub mod wire;

pub use axes::Axes;
pub use clock::Clock;
pub use comparison::{Column, ColumnRun, Comparison};
pub use event::{Event, Phase};
pub use kernel::{KernelArtefacts, KernelId};
pub use metric::{Direction, Kpi, Kpis, MetricName, Metrics};
pub use run::{Failure, FailureReason, RunId, RunRecord, RunState, Skipped, WorkloadExit};
pub use sample::SampleSet;
pub use spec::{Command, Monitor, Needs, Plan, RunSpec, Setup, Workload};
pub use testbox::{TestboxFacts, TestboxKind};
pub use verdict::{Call, Effect, EffectUnit, Verdict};
