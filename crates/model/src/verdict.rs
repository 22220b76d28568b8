//! Verdict values: what the samples support for one metric.

use serde::{Deserialize, Serialize};

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Changed, and the direction of the metric makes it an improvement.
    Better,
    /// Changed, and the direction of the metric makes it a regression.
    Worse,
    /// Changed, and nobody said which way is better.
    Changed,
    /// The interval lies within the smallest effect that matters.
    Unchanged,
    /// The samples support neither.
    Unsure,
}

/// The unit of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectUnit {
    /// Percent of the base's mean.
    Percent,
    /// The metric's own unit; points for shares.
    Absolute,
}

/// A difference with its confidence interval, head minus base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The unit of the three numbers below.
    pub unit: EffectUnit,
    /// The difference of the means.
    pub estimate: f64,
    /// Lower end of the interval; `None` when the samples allow none (fewer than two on a side).
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Coverage of the interval: 0.95.
    pub confidence: f64,
}

/// What the samples of one metric in two columns support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is called.
    pub call: Call,
    /// The effect; `None` when a side has no sample.
    pub effect: Option<Effect>,
    /// (runs that have the metric, complete runs) of the base.
    pub base_coverage: (usize, usize),
    /// (runs that have the metric, complete runs) of the head.
    pub head_coverage: (usize, usize),
    /// Why, in words.
    pub reason: String,
}
