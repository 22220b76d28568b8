//! Oopses: what a kernel says when it is at fault.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::message_id::regex;

use super::Finding;

/// Distinct findings that are kept of one log.
const MAX_FINDINGS: usize = 4096;

/// Lines after the head of a lock report that may name the locks.
const LOCK_CONTEXT: usize = 30;

/// What an oops is known by, as regular expressions; the leftmost match of a line names it, and
/// of those the first of this table. Grouped by the part of the kernel that prints it.
const OOPS: &[&str] = &[
    // Panics and exceptions (kernel/panic.c, arch/*/kernel/traps.c)
    r"Kernel panic - not syncing: .*",
    r"PANIC: double fault,",
    r"PANIC: early exception",
    r"Oops: .*",
    r"[Kk]ernel BUG at(?: .*)?",
    r"EIP is at [a-zA-Z0-9._]+\+0x.*/0x.*",
    r"EIP: [a-zA-Z0-9._]+\+0x[a-f0-9]+/0x[a-f0-9]+",
    r"RIP: [0-9a-f]{4}:[a-zA-Z0-9._]+\+0x.*/0x.*",
    r"RIP: [0-9a-f]{4}:\[.*\] [a-zA-Z0-9._]+\+0x.*/0x.*",
    r"Unknown interrupt or fault at:",
    r"low stack detected by irq handler",
    r"KGDB: re-enter exception: ALL breakpoints killed",
    r"CPU[0-9]+: .* cpu clock throttled .*",
    r" -- System halted",
    r"Initiating system reboot",
    // Boot (arch/x86/boot, init/)
    r"32-bit relocation outside of kernel!",
    r"64-bit relocation outside of kernel!",
    r"Destination address inappropriately aligned",
    r"Destination address too large",
    r"Wrong destination address",
    r"Failed to allocate space for phdrs",
    r"Kernel is not a valid ELF file",
    r"Initramfs unpacking failed:",
    r"rootfs image is not initramfs \(invalid magic at start of compressed archive\)",
    r"IP-Config: Auto-configuration of network failed",
    r"initcall .* returned with .*",
    // Locking (kernel/locking/lockdep.c)
    r" but this task is not holding: .*",
    r" is exiting with locks still held!",
    r" is freeing memory .*, with a lock still held there!",
    r" is leaving the kernel with locks still held!",
    r" is trying to contend lock \(.*\) at",
    r" is trying to lock: .*",
    r" is trying to release lock \(.*\) at",
    r"inconsistent \{.*\} -> \{.*\} usage\.",
    // Stalls and hangs
    r"INFO: .* cpu=.*",
    r"INFO: .*detected stall.*",
    r"INFO: 0x.*. First byte 0x.*",
    r"INFO: Object 0x.*",
    r"INFO: Slab 0x.*",
    r"INFO: task .* blocked for more than .* seconds",
    r"INFO: trying to register non-static key.",
    r"irq .* nobody cared",
    r"genirq: Flags mismatch irq .*",
    r"smp: csd: Re-sending CSD lock",
    r"S0Box: more than 5 loops in s0box_interrupt",
    // Memory (mm/)
    r"invoked oom-killer: gfp_mask=0x",
    r"Mem-Info:",
    r"Out of memory and no killable processes",
    r"Out of memory: Kill process",
    r"page allocation failure: order:[0-9]+, mode:0x.*",
    r"warn_alloc_failed\+0x",
    r"pagealloc: memory corruption",
    r"pagealloc: single bit error",
    r"GUP no longer grows the stack",
    r"getblk\(\): invalid block size [0-9]+ requested",
    // Reference counts (lib/refcount.c)
    r"addition on 0; use-after-free",
    r"decrement hit 0; leaking memory",
    r"refcount_t: underflow; use-after-free",
    r"saturated; leaking memory",
    r"unknown saturation event",
    // Sanitizers and control flow integrity
    r"KASAN: .*",
    r"UBSAN: .*",
    r"CFI failure at [a-zA-Z0-9_]+",
    r"no CFI hash found at.*",
    // Assertions of subsystems
    r"[Aa]ssertion failed",
    r"[Aa]ssertion failure",
    r"audit: \(.*\) error: .*",
    r"failed to enable IOPF feature",
    r"kobject .*: (?:tried to .*|invalid kobject pointer!|must have a ktype to be initialized properly!)",
    r"neighbour: Destroying alive neighbour.*",
    r"rsyslogd.* bad frame in 32bit sigreturn",
    r"sysctl could not get directory:",
    r"sysctl duplicate entry:",
    r"sysctl link missing during unregister:",
    r"sysctl table check failed:",
    r"sysfs: cannot create duplicate filename",
    // Warnings (kernel/panic.c, kernel/locking, kernel/rcu, kernel/workqueue.c)
    r"WARNING: .* detected$",
    r"WARNING: .* lock.*",
    r"WARNING: .*!$",
    r"WARNING: at .*",
    r"WARNING: bad lookup idx: .*",
    r"WARNING: chain_key collision",
    r"WARNING: CPU: [0-9]+ PID: .+ at .*",
    r"WARNING: dead process",
    r"WARNING: kernel stack",
    r"WARNING: stack recursion",
    r"WARNING: suspicious RCU usage",
    r"WARNING: workqueue cpumask:",
    // By form: `general protection fault: 0000 [#1]`, `BUG: ...` behind a time or a caller
    r"BUG .* \(.*\): .*",
    r"[a-zA-Z0-9_ #]+: [0-9a-f]{4} \[#[0-9]+\]",
    r"[a-zA-Z0-9_ -]+: BUG: .*",
    r"[^ ]*\.[ch]:[0-9]+ .*!$",
    r"\[ *[0-9.]+\] BUG: .*",
    r"\[ BUG: [^b].*! \]",
    r"\[ INFO: [^i].* \]",
    r"\[ {0,4}[A-Z][0-9]{1,5}\] BUG: .*",
    r"\[drm:.*\[i915\]\]",
    r"^BUG: .*",
];

/// Lines that look like an oops and are none: tests that provoke one, remarks.
const NO_OOPS: &[&str] = &[
    r"BUG: KASAN: .* \[kasan_test\]",
    r"BUG: KFENCE: .* \[kfence_test\]",
    r"INFO: NMI handler .* took too long to run",
    r"INFO: Stall ended before state dump start",
    r"Killed process [0-9]+ \(",
    r"Out of memory: .*trinity",
    r"Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible via Spectre v2 BHB attacks",
    r"trinity.*: page allocation failure",
    r"trinity.*: page allocation stalls for",
];

static OOPS_PATTERN: LazyLock<Regex> = LazyLock::new(|| regex(&OOPS.join("|")));
static NO_OOPS_PATTERN: LazyLock<Regex> = LazyLock::new(|| regex(&NO_OOPS.join("|")));

/// Whether a line is an oops.
pub(super) fn is_oops(line: &str) -> bool {
    OOPS_PATTERN.is_match(line)
}

/// Takes paths of build directories and the compiler's clone numbers out of a line. Two messages
/// that a serial line ran together are cut in two, by a line feed.
pub(super) fn clean_line(line: &str) -> String {
    static BUILD_PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"/kbuild/src/[^/]+/"));
    static CLONE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"\.(?:isra|constprop|part)\.[0-9]+\+0x"));
    static LEVEL: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^<[0-9]>|^(?:kern  |user  |daemon):......: "));
    let mut line = line.trim_end_matches('\r').to_owned();
    if line.contains("/kbuild/src/") {
        line = BUILD_PATH.replace(&line, "").into_owned();
    }
    if line.contains("+0x") {
        line = CLONE.replace(&line, "+0x").into_owned();
    }
    if let Some(at) = second_stamp(&line).filter(|_| !LEVEL.is_match(&line)) {
        line.insert(at, '\n');
    }
    line
}

/// Where the last `[   12.345678] ` of a line is, unless it begins the line.
fn second_stamp(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    memchr::memrchr_iter(b'[', bytes).take_while(|at| *at > 0).find(|at| {
        let inside = line[at + 1..].trim_start_matches(' ').as_bytes();
        let digits = |from: usize| {
            inside.iter().skip(from).take(7).take_while(|byte| byte.is_ascii_digit()).count()
        };
        let whole = digits(0);
        (1..=6).contains(&whole)
            && inside.get(whole) == Some(&b'.')
            && digits(whole + 1) == 6
            && inside.get(whole + 7..whole + 9) == Some(b"] ")
    })
}

/// The oopses of a log, each kind once.
pub(super) fn find(lines: &[String]) -> Vec<Finding> {
    let lines: Vec<&str> = lines.iter().flat_map(|line| line.split('\n')).collect();
    let mut findings = Findings::default();
    for (at, line) in lines.iter().enumerate() {
        let oops = OOPS_PATTERN.find(line);
        if (oops.is_none() && !line.contains("+0x")) || NO_OOPS_PATTERN.is_match(line) {
            continue;
        }
        match oops {
            Some(oops) => {
                findings.add(oops.as_str().to_owned(), line);
                findings.out_of_memory |= line.contains("invoked oom-killer: gfp_mask=")
                    || line.contains("Out of memory and no killable processes");
                if let Some(line) = with_locks(&lines[at..])
                    && let Some(oops) = OOPS_PATTERN.find(&line)
                {
                    findings.add(oops.as_str().to_owned(), &line);
                }
            }
            None => findings.add_call(line),
        }
    }
    findings.found
}

/// The head of a lock report, with the locks that its next lines name.
fn with_locks(lines: &[&str]) -> Option<String> {
    let head = lines.first()?;
    let is_head = head.contains("possible recursive locking detected")
        || head.contains("possible circular locking dependency detected");
    if !is_head {
        return None;
    }
    let locks: Vec<&str> = lines
        .iter()
        .take(LOCK_CONTEXT + 1)
        .filter(|line| {
            let parts = ["trying to acquire lock", "already holding lock", "at: "];
            parts.iter().any(|part| line.contains(part))
        })
        .take(4)
        .map(|line| match line.rfind(" at:") {
            Some(at) => &line[at + 1..],
            None if line.starts_with('[') => line.rfind("] ").map_or(*line, |end| &line[end + 2..]),
            None => line,
        })
        .collect();
    (!locks.is_empty()).then(|| format!("{head} {}", locks.join(" ")))
}

#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    known: HashMap<String, ()>,
    out_of_memory: bool,
    previous_call: Option<String>,
}

impl Findings {
    fn add(&mut self, what: String, line: &str) {
        if self.found.len() < MAX_FINDINGS && self.known.insert(what.clone(), ()).is_none() {
            self.found.push(Finding { what, line: line.to_owned() });
        }
    }

    /// A line of a call trace. Worth a name are the functions that well-known ones call.
    fn add_call(&mut self, line: &str) {
        static WELL_KNOWN: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?:do_one_initcall|do_basic_setup|kernel_init_freeable|kernel_init|kthread|kernel_thread|process_one_work|notifier_call_chain|SyS_[a-z0-9_]+)\+0x",
            )
        });
        if line.contains(" ? ") {
            return;
        }
        if !WELL_KNOWN.is_match(line) {
            self.previous_call = Some(line.to_owned());
            return;
        }
        let previous = self.previous_call.take();
        if let Some(previous) = previous.filter(|_| !line.contains("SyS_")) {
            self.add_function(&previous);
        }
        self.add_function(line);
    }

    fn add_function(&mut self, line: &str) {
        static IGNORED: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?:do_one_initcall|do_basic_setup|kernel_init_freeable|kernel_init|kthread|kernel_thread|process_one_work|notifier_call_chain|worker_thread|warn_slowpath_.*)\+0x",
            )
        });
        static FUNCTION: LazyLock<Regex> =
            LazyLock::new(|| regex(r">\] ([a-zA-Z0-9_.]+)\+0x[0-9a-fx/]+"));
        if self.out_of_memory || IGNORED.is_match(line) {
            return;
        }
        if let Some(function) = FUNCTION.captures(line).and_then(|found| found.get(1)) {
            self.add(format!("calltrace:{}", function.as_str()), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_ran_together_are_cut() {
        assert_eq!(clean_line("foo[    1.234567] bar"), "foo\n[    1.234567] bar");
        assert_eq!(clean_line("[    1.234567] bar"), "[    1.234567] bar");
        assert_eq!(clean_line("<4>[ 1.234567] a [ 1.234568] b"), "<4>[ 1.234567] a [ 1.234568] b");
    }

    #[test]
    fn the_leftmost_pattern_names_an_oops() {
        let log = ["[   16.238279] WARNING: CPU: 0 PID: 546 at kernel/x.c:12 f+0x1/0x2".to_owned()];
        let found = find(&log);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("WARNING: CPU: 0 PID: 546 at"));
    }
}
