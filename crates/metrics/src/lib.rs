//! What did this run measure: raw files to metrics.
