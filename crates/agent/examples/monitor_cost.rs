//! What the monitors cost: CPU time of the agent beside that of a bare loop that reads the same
//! files into a buffer, both at work at the same time.
//!
//!     cargo run --release -p patchmark-agent --example monitor_cost [ROUNDS [INTERVAL_MS]]

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use patchmark_agent::{Place, execute};
use patchmark_model::{Axes, Command, Monitor, Needs, Plan, RunSpec, Workload};
use rustix::time::{ClockId, clock_gettime};

const MONITORS: [&str; 15] = [
    "vmstat",
    "mpstat",
    "proc-vmstat",
    "meminfo",
    "numa-vmstat",
    "numa-meminfo",
    "numa-numastat",
    "interrupts",
    "softirqs",
    "sched_debug",
    "diskstats",
    "slabinfo",
    "cpuidle",
    "buddyinfo",
    "uptime",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let interval_ms: u32 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let interval = Duration::from_millis(u64::from(interval_ms));

    let dir = std::env::temp_dir().join(format!("monitor-cost-{}", std::process::id()));
    let bare = std::thread::spawn(move || bare_loop(rounds, interval));
    let half_a_round_more = interval.as_secs_f64() * (f64::from(rounds) + 0.5);
    let record =
        execute(&spec(half_a_round_more, interval_ms)?, &dir, &Place::local(), &mut |_| {});
    let bare = bare.join().map_err(|_| "the bare loop panicked")?;
    std::fs::remove_dir_all(&dir)?;

    for skipped in &record.skipped {
        println!("left out: {} ({})", skipped.program, skipped.why);
    }
    let agent = record.agent_cpu_seconds.ok_or("the run failed")?;
    let minute = 60_000.0 / f64::from(interval_ms) / f64::from(rounds);
    println!("rounds of {interval_ms} ms:    {rounds}");
    println!("agent:               {agent:.4} CPU s, {:.4} a minute", agent * minute);
    println!(
        "bare loop ({:2} files): {:.4} CPU s, {:.4} a minute",
        bare.files,
        bare.cpu,
        bare.cpu * minute
    );
    println!("ratio:               {:.2}", agent / bare.cpu);
    Ok(())
}

struct Bare {
    files: usize,
    cpu: f64,
}

/// Reads each file from start to end, at the agent's pace.
fn bare_loop(rounds: u32, interval: Duration) -> Bare {
    let files: Vec<File> = paths().iter().filter_map(|path| File::open(path).ok()).collect();
    let mut buffer = vec![0; 1 << 20];
    read_all(&files, &mut buffer);
    let start = Instant::now();
    let before = thread_cpu_seconds();
    for round in 1..=rounds {
        std::thread::sleep((start + interval * round).saturating_duration_since(Instant::now()));
        read_all(&files, &mut buffer);
    }
    Bare { files: files.len(), cpu: thread_cpu_seconds() - before }
}

fn read_all(files: &[File], buffer: &mut [u8]) {
    for file in files {
        let mut offset = 0;
        while let Ok(n) = file.read_at(buffer, offset) {
            if n == 0 {
                break;
            }
            offset += n as u64;
        }
    }
}

/// The files of all monitors, each once.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "/proc/stat",
        "/proc/meminfo",
        "/proc/vmstat",
        "/proc/interrupts",
        "/proc/softirqs",
        "/proc/diskstats",
        "/proc/slabinfo",
        "/proc/buddyinfo",
        "/proc/uptime",
        "/sys/kernel/debug/sched/debug",
    ]
    .map(str::to_owned)
    .to_vec();
    for node in 0..64 {
        for file in ["vmstat", "meminfo", "numastat"] {
            paths.push(format!("/sys/devices/system/node/node{node}/{file}"));
        }
    }
    for cpu in 0..512 {
        for state in 0..10 {
            for file in ["time", "usage"] {
                paths.push(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}"));
            }
        }
    }
    paths
}

fn thread_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn spec(seconds: f64, interval_ms: u32) -> Result<RunSpec, Box<dyn Error>> {
    let monitor = |program: &&str| Monitor {
        program: (*program).to_owned(),
        interval_ms,
        options: BTreeMap::new(),
    };
    let argv = vec!["sleep".to_owned(), seconds.to_string()];
    Ok(RunSpec {
        id: "monitor-cost".parse()?,
        plan: Plan {
            job_name: "monitor-cost".to_owned(),
            axes: Axes::default(),
            job_yaml: String::new(),
            setups: Vec::new(),
            monitors: MONITORS.iter().map(monitor).collect(),
            workloads: vec![Workload {
                program: "sleep".to_owned(),
                commands: vec![Command { argv, env: BTreeMap::new() }],
                files: Vec::new(),
            }],
            time_limit_s: 0,
            kernel_cmdline: None,
            needs: Needs::default(),
        },
        host_time: 0.0,
    })
}
