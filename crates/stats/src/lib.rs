//! What do these numbers say: estimators, tests, intervals.
