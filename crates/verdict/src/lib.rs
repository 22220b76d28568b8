//! Did it change: samples to verdicts.
