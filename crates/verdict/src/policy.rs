//! What counts as a change.

/// What counts as a change. The defaults suit interleaved runs, one boot each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Coverage of the interval of a headline metric.
    pub kpi_confidence: f64,
    /// Coverage of the interval of any other metric. There are thousands of them, so the bar is
    /// higher: of 1,000 metrics that did not change, 0.99 lets about 10 look changed.
    pub other_confidence: f64,
    /// The smallest change of a mean that matters, in percent of the base.
    pub smallest_percent: f64,
    /// The smallest change of a share that matters, in points.
    pub smallest_points: f64,
    /// How far apart the shares of runs that have the metric may lie before the difference is
    /// withheld: at 0.25, 5 of 6 runs against 6 of 6 is still compared, 4 of 6 is not.
    pub coverage_gap: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            kpi_confidence: 0.95,
            other_confidence: 0.99,
            smallest_percent: 1.0,
            smallest_points: 0.1,
            coverage_gap: 0.25,
        }
    }
}
