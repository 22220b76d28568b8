//! Resolution for a testbox: commands, settings, and what cannot run.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;

use patchmark_catalog::Catalog;
use patchmark_job::{
    ExpandOptions, JobFile, LoadOptions, MemoryFiles, ResolveError, Resolved, resolve,
};
use patchmark_model::{Clock, TestboxFacts, TestboxKind};

fn testbox() -> TestboxFacts {
    TestboxFacts {
        kind: TestboxKind::Vm,
        group: "vm".into(),
        clock: Clock::Kvm,
        nr_cpu: 4,
        nr_node: 2,
        memory: 2 << 30,
        rootfs: "packed".into(),
    }
}

fn resolved(text: &str) -> Result<Resolved, ResolveError> {
    let files = MemoryFiles::default();
    let job = JobFile::parse(Path::new("j.yaml"), text, &files, LoadOptions::default()).unwrap();
    let expansion = job.expand(&ExpandOptions::default(), Catalog::builtin()).unwrap();
    resolve(&expansion.jobs[0], &testbox(), Catalog::builtin())
}

fn commands(text: &str) -> Vec<String> {
    let plan = resolved(text).unwrap().plan;
    let commands = plan.workloads.iter().flat_map(|workload| &workload.commands);
    commands.map(|command| command.argv.join(" ")).collect()
}

#[test]
fn commands_of_the_described_workloads() {
    let jobs = [
        "stress-ng: {test: mq, testtime: 2s, nr_threads: 50%}",
        "stress-ng: {test: exec, testtime: 2s}",
        "stress-ng: {class: memory, testtime: 5s}\nnr_threads: 2",
        "stress-ng: {class: cpu, testtime: 5s}",
        "stress-ng: {test: cyclic, method: itimer, testtime: 1m}",
        "will-it-scale: {test: futex4, mode: thread, runtime: 60s}\nnr_task: 100%",
        "will-it-scale: {test: brk1}\nnr_task: 1",
        "hackbench: {mode: threads, ipc: pipe}\nnr_threads: 200%\niterations: 2",
        "perf-bench-futex: {test: wake, nwakes: 3}\nnr_task: 100%\nruntime: 20s",
        "perf-bench-futex: {test: hash, shared: shared}\nruntime: 20s",
        "perf-bench-mem: {op: memcpy, function: all, size: 1MB}",
        "perf-bench-numa-mem: {mem_proc: 300M, nr_threads: 2t, thp: true}",
        "perf-bench-sched-messaging: {loops: 100, groups: 10, ipc: pipe, mode: thread}",
        "perf-bench-sched-pipe: {loops: 10000000ops, mode: threads}",
        "perf-bench-syscall: {op: basic}",
        "sleep: {runtime: 3s}",
    ];
    let told: Vec<String> =
        jobs.iter().map(|job| format!("{job}\n    {}\n", commands(job).join("\n    "))).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn setups_keep_the_order_of_the_job() {
    let plan = resolved(
        "sysctl:\n  sc_numa_balancing: 0\n  vm.swappiness: 10\ntransparent_hugepage:\n  \
         thp_enabled: never\nfs: tmpfs\nnr_tmpfs: 2\ncpufreq_governor:\nboot_params:\n  \
         bp_memmap: 1G!4G\n  bp_disable_mtrr_trim:\nkernel_cmdline: quiet\nstress-ng:\n  test: aio\n",
    )
    .unwrap()
    .plan;
    let setups: Vec<String> = plan
        .setups
        .iter()
        .map(|s| format!("{} {:?} {:?}", s.program, s.value, s.options))
        .collect();
    insta::assert_snapshot!(setups.join("\n"), @r#"
    sysctl None {"sc_numa_balancing": "0", "vm.swappiness": "10"}
    transparent_hugepage None {"thp_enabled": "never"}
    fs Some("tmpfs") {"nr_tmpfs": "2"}
    boot_params None {"bp_disable_mtrr_trim": "", "bp_memmap": "1G!4G"}
    sysctl None {"fs.aio-max-nr": "1048576", "kernel.sched_autogroup_enabled": "0"}
    "#);
    assert_eq!(plan.kernel_cmdline.as_deref(), Some("quiet disable_mtrr_trim memmap=1G!4G"));
}

#[test]
fn monitors_have_intervals_and_options_or_are_listed() {
    let Resolved { plan, skipped, notes } = resolved(
        "sleep:\nvmstat: {interval: 5}\nmeminfo: {interval: 0.5}\ninterrupts:\nperf-stat: \
         {interval_ms: 100, events: cycles}\nturbostat:\nmpstat: {interval: soon}\n\
         disable_monitor: meminfo\n",
    )
    .unwrap();
    let monitors: Vec<String> = plan
        .monitors
        .iter()
        .map(|m| format!("{} {} {:?}", m.program, m.interval_ms, m.options))
        .collect();
    insta::assert_snapshot!(monitors.join("\n"), @r#"
    vmstat 5000 {}
    interrupts 0 {}
    perf-stat 100 {"events": "cycles"}
    mpstat 1000 {}
    "#);
    let skipped: Vec<String> =
        skipped.iter().map(|s| format!("{}: {}", s.program, s.why)).collect();
    insta::assert_snapshot!(skipped.join("\n"), @r#"
    meminfo: the job switches it off
    turbostat: it is known by name only: the agent cannot run it yet
    "#);
    insta::assert_snapshot!(notes.join("\n"), @r#"
    `interval: soon` of `mpstat` is no time; 1000 ms is taken
    "#);
}

#[test]
fn modules_are_those_of_the_test() {
    let plan = resolved("stress-ng: {test: af-alg}").unwrap().plan;
    assert_eq!(plan.needs.modules, ["af_alg", "algif_hash", "algif_rng", "algif_skcipher"]);
}

#[test]
fn what_cannot_run_says_why() {
    let told: Vec<String> = [
        "vmstat:",
        "unixbench: {test: pipe}",
        "sleep:\ndisk: 1HDD",
        "sleep:\nfs: xfs",
        "sleep:\nnetserver:",
        "sleep:\nif role client:\n  sleep:",
        "sleep:\nbackground:\n  sleep: {runtime: 1}",
        "stress-ng: {test: futex}\nnr_threads: 100%x",
        "hackbench: {mode: proces, iterations: 1}",
        "hackbench: {mode: process}",
        "cpufreq_governor: fastest\nsleep:",
        "sleep:\nneed_memory: 64G",
        "sleep:\nnr_instances: 2",
        "sleep:\nmax_uptime: long",
        "will-it-scale:",
        "perf-bench-mem:",
    ]
    .iter()
    .map(|job| match resolved(job) {
        Ok(_) => panic!("{job} resolves"),
        Err(error) => error.to_string(),
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn keys_without_effect_are_noted() {
    let notes =
        resolved("sleep: {runtime: 1, depth: 2}\nsomething:\nneed_kconfig: X\ncategory: z\n")
            .unwrap()
            .notes;
    insta::assert_snapshot!(notes.join("\n"), @r#"
    `need_kconfig` is not checked against the kernel
    `sleep` has no parameter `depth`; it has no effect
    `something` is no known program; it has no effect
    `category: z` is not known and adds no monitors
    "#);
}

#[test]
fn the_time_limit_is_generous_and_can_be_set() {
    assert_eq!(resolved("sleep: {runtime: 10}").unwrap().plan.time_limit_s, 400);
    assert_eq!(resolved("sleep: {runtime: 10}\nmax_uptime: 2m").unwrap().plan.time_limit_s, 120);
}
