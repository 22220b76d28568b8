//! What do these numbers say: estimators, tests, intervals.
//!
//! Pure functions over slices of finite numbers. Nothing here knows what a metric, a run or an
//! absent sample is: callers leave absent samples out before they ask. Functions that cannot
//! answer (too few values, a denominator that may be zero) return `None`, never a NaN.

mod moments;
mod ratio;
mod student;
mod sum;
mod welch;

pub use moments::{Moments, mean, median, population_stddev, sample_variance, upper_median};
pub use ratio::{Ratio, fieller};
pub use student::{t_quantile, t_two_sided_p};
pub use sum::compensated_sum;
pub use welch::{Interval, Welch, welch};
