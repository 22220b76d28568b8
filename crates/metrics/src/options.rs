//! What a caller may ask of the parsers.

/// The part of a run that counts, in seconds from its first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Samples before this instant are left out; `None` begins with the first.
    pub begin: Option<f64>,
    /// Samples at or after this instant are left out; `None` ends with the last.
    pub end: Option<f64>,
}

/// How raw files are read and reduced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParseOptions {
    /// Do exactly as lkp-tests does, its known faults included, so that numbers can be
    /// compared with those of an existing lkp-tests lab. What differs is told at
    /// [`crate::reduce`] and at each program.
    pub lkp_compatible: bool,
    /// The part of the run that counts.
    pub window: Window,
    /// Report the kernel's own boot-time self tests that `kmsg` shows (`Testing ...: OK`).
    pub boot_tests: bool,
    /// Further messages that are of no interest in `kmsg` (substrings).
    pub ignored_kmsg: Vec<String>,
    /// Further lines that are of no interest in `stderr` (regular expressions of whole lines;
    /// one that cannot be compiled is left out).
    pub ignored_stderr: Vec<String>,
}
