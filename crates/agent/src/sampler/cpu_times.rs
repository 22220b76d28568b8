//! The `cpu` lines and counters of /proc/stat (fs/proc/stat.c).

/// The columns of a `cpu` line, in clock ticks since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    pub(crate) user: u64,
    pub(crate) nice: u64,
    pub(crate) system: u64,
    pub(crate) idle: u64,
    pub(crate) iowait: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    pub(crate) steal: u64,
    pub(crate) guest: u64,
    pub(crate) guest_nice: u64,
}

impl CpuTimes {
    /// Reads the columns behind the name; those an old kernel lacks are 0.
    pub(crate) fn parse(columns: &str) -> CpuTimes {
        let mut numbers = columns.split_ascii_whitespace().map(|n| n.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        CpuTimes {
            user: next(),
            nice: next(),
            system: next(),
            idle: next(),
            iowait: next(),
            irq: next(),
            softirq: next(),
            steal: next(),
            guest: next(),
            guest_nice: next(),
        }
    }

    /// What has been added since `before`. Idle and iowait may go back a little on a CPU that
    /// comes online again; that counts as nothing.
    pub(crate) fn since(&self, before: &CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(before.user),
            nice: self.nice.saturating_sub(before.nice),
            system: self.system.saturating_sub(before.system),
            idle: self.idle.saturating_sub(before.idle),
            iowait: self.iowait.saturating_sub(before.iowait),
            irq: self.irq.saturating_sub(before.irq),
            softirq: self.softirq.saturating_sub(before.softirq),
            steal: self.steal.saturating_sub(before.steal),
            guest: self.guest.saturating_sub(before.guest),
            guest_nice: self.guest_nice.saturating_sub(before.guest_nice),
        }
    }

    /// All time; guest time is part of user and nice.
    pub(crate) fn total(&self) -> u64 {
        self.user
            + self.nice
            + self.system
            + self.idle
            + self.iowait
            + self.irq
            + self.softirq
            + self.steal
    }
}

/// What vmstat takes from /proc/stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCounters {
    pub(crate) cpu: CpuTimes,
    pub(crate) interrupts: u64,
    pub(crate) context_switches: u64,
    pub(crate) running: u64,
    pub(crate) blocked: u64,
}

impl KernelCounters {
    /// Reads the file's text.
    pub(crate) fn parse(text: &str) -> KernelCounters {
        let mut counters = KernelCounters::default();
        for line in text.lines() {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            let first = || rest.split_ascii_whitespace().next()?.parse().ok();
            match key {
                "cpu" => counters.cpu = CpuTimes::parse(rest),
                "intr" => counters.interrupts = first().unwrap_or(0),
                "ctxt" => counters.context_switches = first().unwrap_or(0),
                "procs_running" => counters.running = first().unwrap_or(0),
                "procs_blocked" => counters.blocked = first().unwrap_or(0),
                _ => {}
            }
        }
        counters
    }
}
