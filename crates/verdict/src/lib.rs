//! Did it change: samples to verdicts.
//!
//! One door: [`judge`]. It takes the samples of one metric in two columns and a [`Policy`], and
//! answers with a [`Verdict`](patchmark_model::Verdict). Which estimator and which test stand
//! behind it is nobody else's business.
//!
//! Absent is not zero: a run that lacks the metric adds nothing to a mean, and when the two
//! sides lack it to different degrees the difference is withheld.

mod constant;
mod judge;
mod policy;
mod resolution;

pub use judge::judge;
pub use policy::Policy;
