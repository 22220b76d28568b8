//! Samples: one run's value of one metric, or its absence.

use serde::{Deserialize, Serialize};

/// The values of one metric over the runs of one column, in run order. `None` is a run that
/// lacks the metric; it is never read as zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SampleSet(pub Vec<Option<f64>>);

impl SampleSet {
    /// A set in which every run has the metric.
    pub fn complete(values: impl IntoIterator<Item = f64>) -> Self {
        SampleSet(values.into_iter().map(Some).collect())
    }

    /// The values that exist, in run order.
    pub fn present(&self) -> Vec<f64> {
        self.0.iter().flatten().copied().collect()
    }

    /// Number of runs, whether they have the metric or not.
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    /// Number of runs that have the metric.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Mean of the values that exist; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        let present = self.present();
        (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_sample_is_left_out_of_the_mean() {
        let set = SampleSet(vec![Some(99.0), None, Some(97.0)]);
        assert_eq!(set.mean(), Some(98.0));
        assert_eq!((set.count(), set.runs()), (2, 3));
        assert_eq!(SampleSet(vec![None]).mean(), None);
    }
}
