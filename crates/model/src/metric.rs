//! Metrics: named numbers of a run.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a metric: `stress-ng.sockfd.ops_per_sec`. The part before the first dot is the
/// program it came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricName(pub String);

impl MetricName {
    /// A name from text.
    pub fn new(name: impl Into<String>) -> Self {
        MetricName(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The program the metric came from: everything before the first dot.
    pub fn program(&self) -> &str {
        self.0.split('.').next().unwrap_or(&self.0)
    }

    /// Whether a change is told in points, not in percent: profile shares and names that end
    /// in `%` are percentages themselves.
    pub fn is_share(&self) -> bool {
        self.0.starts_with("perf-profile") || self.0.ends_with('%')
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for MetricName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MetricName {
    fn from(name: &str) -> Self {
        MetricName(name.to_owned())
    }
}

/// The metrics of one run: one finite number per metric. A metric that the run lacks has no
/// entry.
pub type Metrics = BTreeMap<MetricName, f64>;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better: throughput.
    Higher,
    /// Less is better: latency, run time.
    Lower,
}

/// A headline metric of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kpi {
    /// Which way is better, when it is known.
    pub direction: Option<Direction>,
    /// The unit, for people: `ops/s`.
    pub unit: Option<String>,
}

/// The headline metrics among the metrics at hand.
pub type Kpis = BTreeMap<MetricName, Kpi>;
