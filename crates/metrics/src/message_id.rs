//! Identifiers of log messages: what changes from run to run (numbers, addresses, versions) is
//! taken out, so that the same message of two runs has one name.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

mod device_names;

/// A pattern of the source that is known to compile.
pub(crate) fn regex(pattern: &str) -> Regex {
    #[allow(clippy::expect_used)] // Patterns are constants; a test compiles each of them.
    Regex::new(pattern).expect("constant pattern")
}

struct Step {
    pattern: Regex,
    replacement: &'static str,
}

fn steps(table: &[(&str, &'static str)]) -> Vec<Step> {
    table
        .iter()
        .map(|(pattern, replacement)| Step { pattern: regex(pattern), replacement })
        .collect()
}

fn run<'t>(steps: &[Step], text: &'t str) -> Cow<'t, str> {
    steps.iter().fold(Cow::Borrowed(text), |text, step| {
        match step.pattern.replace_all(&text, step.replacement) {
            Cow::Borrowed(_) => text,
            Cow::Owned(changed) => Cow::Owned(changed),
        }
    })
}

/// Numbers become `#`, blanks `_` (or nothing beside punctuation).
static COMMON: LazyLock<Vec<Step>> = LazyLock::new(|| {
    steps(&[
        // 5.5.0-rc1-00048-g5a35435ef4e6e
        (r"(?-u:\b)[3-9]\.[0-9]+[-a-z0-9.]+", "#"),
        // 28-Dec-2013
        (r"(?-u:\b)[1-9][0-9]-[A-Z][a-z]+-[0-9]{4}(?-u:\b)", "#"),
        (r"(?-u:\b)0x[0-9a-f]+(?-u:\b)", "#"),
        (r"(?-u:\b)[a-f0-9]{40}(?-u:\b)", "#"),
        (r"(?-u:\b)[0-9][0-9.]*", "#"),
        (r"#x(?-u:\b)", "0x"),
        (r#"[\\"$]"#, "~"),
        (r"[ \t]+", " "),
        (r"([^a-zA-Z0-9]) ", "$1"),
        (r" ([^a-zA-Z])", "$1"),
        (r"^ ", ""),
        (r" ", "_"),
        (r"[-_.,;:#!*\[(]+$", ""),
    ])
});

/// The identifier of a line of output.
pub(crate) fn of_line(line: &str) -> String {
    run(&COMMON, line).into_owned()
}

/// Before the common steps: paths of build directories, addresses, flags.
static KERNEL_BEFORE: LazyLock<Vec<Step>> = LazyLock::new(|| {
    steps(&[
        (r" \]$", ""),
        (r"/c/kernel-tests/src/[^/]+/", ""),
        (r"/c/(?:wfg|yliu)/[^/]+/", ""),
        (r"/lkp/[^/]+/linux[0-9]*/", ""),
        (r"/kernel-tests/linux[0-9]*/", ""),
        (r"\.(?:isra|constprop|part)\.[0-9]+", ""),
    ])
});

static KERNEL_NUMBERS: LazyLock<Vec<Step>> = LazyLock::new(|| {
    steps(&[
        (r"(?-u:\b)[0-9a-f]{8}(?-u:\b)", "#"),
        (r"(?-u:\b)[0-9a-f]{16}(?-u:\b)", "#"),
        (r"=[0-9a-f]+(?-u:\b)", "=#"),
        (r"[+/]0x[0-9a-f]+(?-u:\b)", ""),
        (r"[+/][0-9a-f]+(?-u:\b)", ""),
        // BUG kmalloc-512 (Tainted: G S      W       T ): Right Redzone overwritten
        (r" \(Tainted:.+\)", ""),
    ])
});

/// After the common steps: line numbers of source files, CPU and task numbers.
static KERNEL_AFTER: LazyLock<Vec<Step>> = LazyLock::new(|| {
    steps(&[
        (r"([a-z]:)[0-9]+(?-u:\b)", "$1"),
        (r"#:\[<#>\]\[<#>\]", ""),
        (r"RIP:#:", "RIP:"),
        // soft lockup - CPU#3 stuck for 22s! [trinity-c0:1234], [kworker/u258:3:99]
        (r"[^/a-zA-Z0-9_][0-9A-Za-z_][0-9]+[^0-9A-Za-z_]", "#"),
        (r"[^0-9A-Za-z_][0-9A-Za-z_][0-9]+[^/a-zA-Z0-9_]", "#"),
    ])
});

/// The identifier of a kernel message.
pub(crate) fn of_kernel_message(message: &str) -> String {
    let message = run(&KERNEL_BEFORE, message);
    let message = device_names::without_numbers(&message);
    let message = run(&KERNEL_NUMBERS, &message);
    run(&KERNEL_AFTER, &of_line(&message)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_no_part_of_an_identifier() {
        assert_eq!(of_line("make -j 576 vmlinux_prereq failed"), "make-j#vmlinux_prereq_failed");
        assert_eq!(
            of_kernel_message("WARNING: at kernel/trace/ftrace.c:2006 ftrace_bug+0x216/0x330"),
            "WARNING:at_kernel/trace/ftrace.c:#ftrace_bug"
        );
        assert_eq!(
            of_kernel_message("block nbd15: Attempted send on closed socket"),
            "block_nbd#:Attempted_send_on_closed_socket"
        );
    }
}
