//! Complaints of the kernel: lines of its log that say that something went wrong.

/// Most findings kept of one log.
const MAX_FINDINGS: usize = 64;

/// Most characters kept of one finding.
const MAX_LENGTH: usize = 300;

/// What marks a complaint, wherever in the line it stands; a letter or digit before it makes it
/// another word (`DEBUG:`).
const MARKS: [&str; 25] = [
    "BUG:",
    "BUG ",
    "kernel BUG at",
    "Oops:",
    "WARNING:",
    "Kernel panic",
    "general protection fault",
    "unable to handle",
    "Unable to handle",
    "divide error:",
    "invalid opcode:",
    "double fault",
    "stack-protector:",
    "KASAN:",
    "UBSAN:",
    "KCSAN:",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
    "Bad page state",
    "page allocation failure",
    "rcu_sched detected",
    "Call Trace of stalled",
    "nobody cared",
    "Memory failure:",
];

/// Pairs that must both be in the line.
const PAIRS: [(&str, &str); 6] = [
    ("watchdog:", "lockup"),
    ("NMI watchdog:", "LOCKUP"),
    ("blocked for more than", "seconds"),
    ("detected stalls", "CPUs"),
    ("self-detected stall", "CPU"),
    ("invoked oom-killer", "gfp_mask"),
];

/// Marks of a process killed for want of memory.
const OUT_OF_MEMORY: [&str; 2] = ["Out of memory: Kill", "Memory cgroup out of memory: Kill"];

/// The complaints in a log of lines `<6>[    1.234567] text`, without level and time, each once,
/// as printable text.
pub(crate) fn find(log: &str) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    for line in log.lines().map(message) {
        if is_complaint(line) {
            let finding = printable(line);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        if findings.len() == MAX_FINDINGS {
            break;
        }
    }
    findings
}

/// The line that says which process was killed for want of memory, if one was.
pub(crate) fn out_of_memory(log: &str) -> Option<String> {
    let mut lines = log.lines().map(message);
    lines.find(|line| OUT_OF_MEMORY.iter().any(|mark| line.contains(mark))).map(printable)
}

fn is_complaint(line: &str) -> bool {
    MARKS.iter().any(|mark| stands_alone(line, mark))
        || PAIRS.iter().any(|(one, other)| line.contains(one) && line.contains(other))
        || OUT_OF_MEMORY.iter().any(|mark| line.contains(mark))
}

fn stands_alone(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        !line
            .get(..at)
            .unwrap_or_default()
            .ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A line without level and time.
fn message(line: &str) -> &str {
    let rest = line.split_once('>').filter(|(level, _)| level.starts_with('<'));
    let rest = rest.map_or(line, |(_, rest)| rest);
    match rest.split_once("] ") {
        Some((time, text)) if time.starts_with('[') => text,
        _ => rest,
    }
}

/// Text of a guest, made harmless for terminals and bounded.
pub(crate) fn printable(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(MAX_LENGTH).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_found_and_the_rest_is_not() {
        let log = "\
<6>[    0.000000] Linux version 6.1.0-57-cloud-amd64\n\
<7>[    0.100000] DEBUG: nothing\n\
<4>[    1.000000] WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:9000 x+0x1/0x2\n\
<4>[    1.000001] Modules linked in:\n\
<1>[    2.000000] BUG: unable to handle page fault for address: ffffc90000000000\n\
<0>[    3.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [stress-ng:99]\n\
<3>[    4.000000] INFO: task kworker/0:1:7 blocked for more than 120 seconds.\n\
<3>[    5.000000] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n\
<4>[    6.000000] stress-ng invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n\
<3>[    7.000000] Out of memory: Killed process 99 (stress-ng) total-vm:9kB\n\
<4>[    8.000000] WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:9000 x+0x1/0x2\n\
<3>[    9.000000] BUG kmalloc-64 (Not tainted): Redzone overwritten\n\
<6>[   10.000000] clocksource: Switched to clocksource tsc\n";
        insta::assert_snapshot!(find(log).join("\n"), @r"
        WARNING: CPU: 0 PID: 1 at kernel/sched/core.c:9000 x+0x1/0x2
        BUG: unable to handle page fault for address: ffffc90000000000
        watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [stress-ng:99]
        INFO: task kworker/0:1:7 blocked for more than 120 seconds.
        rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
        stress-ng invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0
        Out of memory: Killed process 99 (stress-ng) total-vm:9kB
        BUG kmalloc-64 (Not tainted): Redzone overwritten
        ");
        assert!(out_of_memory(log).unwrap().starts_with("Out of memory: Killed process 99"));
        assert_eq!(out_of_memory("<6>[    1.0] fine\n"), None);
    }

    #[test]
    fn findings_are_bounded_and_printable() {
        let log: String = (0..500)
            .map(|n| format!("<4>[1.0] WARNING: {n}\x1b[2J{}\n", "x".repeat(999)))
            .collect();
        let findings = find(&log);
        assert_eq!(findings.len(), MAX_FINDINGS);
        assert!(findings.iter().all(|f| f.len() <= MAX_LENGTH && !f.contains('\x1b')));
    }
}
