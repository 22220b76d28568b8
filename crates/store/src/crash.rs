//! Places where a process may be killed, for tests that kill it at each of them in turn.

/// A place between two steps that change what is on disk.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn point() {}

/// Aborts the process at the place whose number the environment names.
#[cfg(test)]
pub(crate) fn point() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    static FATAL: OnceLock<Option<u32>> = OnceLock::new();
    let fatal = FATAL.get_or_init(|| std::env::var("STORE_TEST_CRASH_AT").ok()?.parse().ok());
    if *fatal == Some(PASSED.fetch_add(1, Ordering::SeqCst)) {
        std::process::abort();
    }
}
