//! Whole runs on the running kernel.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use patchmark_agent::{Place, execute};
use patchmark_model::{
    Axes, Command, Event, FailureReason, Monitor, Needs, Phase, Plan, RunRecord, RunSpec, RunState,
    Setup, Workload,
};

fn command(argv: &[&str]) -> Command {
    Command { argv: argv.iter().map(|word| (*word).to_owned()).collect(), env: BTreeMap::new() }
}

fn workload(program: &str, commands: &[&[&str]]) -> Workload {
    Workload {
        program: program.to_owned(),
        commands: commands.iter().map(|argv| command(argv)).collect(),
        files: Vec::new(),
    }
}

fn monitor(program: &str, interval_ms: u32) -> Monitor {
    Monitor { program: program.to_owned(), interval_ms, options: BTreeMap::new() }
}

fn spec(name: &str, workloads: Vec<Workload>) -> RunSpec {
    RunSpec {
        id: format!("{name}-{}", std::process::id()).parse().unwrap(),
        plan: Plan {
            job_name: name.to_owned(),
            axes: Axes::default(),
            job_yaml: "testcase: sleep\n".to_owned(),
            setups: Vec::new(),
            monitors: Vec::new(),
            workloads,
            time_limit_s: 30,
            kernel_cmdline: None,
            needs: Needs::default(),
        },
        host_time: 0.0,
    }
}

fn raw(dir: &Path, name: &str) -> String {
    let path = dir.join(format!("{name}.zst"));
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    String::from_utf8(zstd::decode_all(file).unwrap()).unwrap()
}

fn run(spec: &RunSpec, dir: &Path) -> RunRecord {
    execute(spec, dir, &Place::local(), &mut |_| {})
}

#[test]
fn a_run_leaves_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("run");
    let mut spec = spec(
        "good",
        vec![workload(
            "sh",
            &[
                &["sh", "-c", "echo out; echo err >&2; echo kept > left.txt; sleep 0.3"],
                &["sh", "-c", "echo more; pwd"],
            ],
        )],
    );
    spec.plan.workloads[0].files = vec!["left.txt".to_owned(), "../../etc/passwd".to_owned()];
    spec.plan.monitors = [
        "vmstat",
        "mpstat",
        "proc-vmstat",
        "meminfo",
        "numa-vmstat",
        "numa-meminfo",
        "numa-numastat",
        "interrupts",
        "softirqs",
        "diskstats",
        "buddyinfo",
        "time",
    ]
    .map(|program| monitor(program, 100))
    .to_vec();
    spec.plan.monitors.push(monitor("rocket", 100));
    let mut events = Vec::new();
    let record = execute(&spec, &dir, &Place::local(), &mut |event| events.push(event));
    assert_eq!(record.state, RunState::Finished, "{record:?}");
    assert_eq!(record.workloads.len(), 2);
    assert!(record.workloads[0].elapsed_s >= 0.3);
    assert!(record.agent_cpu_seconds.unwrap() < 0.3);
    assert!(record.end_time - record.start_time >= 0.3);
    let phases: Vec<&Event> = events.iter().filter(|e| matches!(e, Event::Phase(_))).collect();
    let expected = [Phase::Setup, Phase::Run, Phase::Collect].map(Event::Phase);
    assert_eq!(phases, expected.iter().collect::<Vec<_>>());

    let output = raw(&dir, "sh");
    assert!(output.starts_with("out\nmore\n/"), "{output}");
    assert_eq!(raw(&dir, "stderr"), "err\n");
    assert_eq!(raw(&dir, "left.txt"), "kept\n");
    assert!(!dir.join("work").exists());
    let time = std::fs::read_to_string(dir.join("time")).unwrap();
    assert!(time.contains("Maximum resident set size"), "{time}");
    assert_eq!(time, std::fs::read_to_string(dir.join("sh.time")).unwrap());
    assert_eq!(std::fs::read_to_string(dir.join("job.yaml")).unwrap(), spec.plan.job_yaml);
    let stored: RunRecord =
        serde_json::from_slice(&std::fs::read(dir.join("run.json")).unwrap()).unwrap();
    assert_eq!(stored, record);
    let env: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("env.json")).unwrap()).unwrap();
    assert!(env["uname"]["release"].is_string());
    for name in ["proc-vmstat", "meminfo", "interrupts", "softirqs"] {
        assert!(raw(&dir, name).matches("time: ").count() >= 3, "{name}");
    }
    assert!(record.skipped.iter().any(|skipped| skipped.program == "rocket"));
    assert!(!record.skipped.iter().any(|skipped| skipped.program == "time"));
}

#[test]
fn stderr_is_the_raw_output_of_a_program_that_writes_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec("stderr", vec![workload("x", &[&["sh", "-c", "echo metrics >&2"]])]);
    run(&spec, dir.path());
    assert_eq!(raw(dir.path(), "x"), "metrics\n");
}

#[test]
fn a_failing_command_fails_the_run_and_ends_the_workload() {
    let dir = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 2] =
        [&["sh", "-c", "echo cannot allocate the thing >&2; exit 3"], &["sh", "-c", "echo no"]];
    let record = run(&spec("fails", vec![workload("x", &commands)]), dir.path());
    assert_eq!(record.state, RunState::Failed);
    let failure = record.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::WorkloadFailed);
    assert!(failure.detail.contains("exited with status 3"), "{}", failure.detail);
    assert!(failure.detail.contains("cannot allocate the thing"), "{}", failure.detail);
    assert_eq!(record.workloads.len(), 1);
    assert_eq!(record.workloads[0].code, Some(3));
    let time = std::fs::read_to_string(dir.path().join("x.time")).unwrap();
    assert!(time.starts_with("Command exited with non-zero status 3\n"));
}

#[test]
fn a_killed_command_names_the_signal() {
    let dir = tempfile::tempdir().unwrap();
    let record =
        run(&spec("killed", vec![workload("x", &[&["sh", "-c", "kill -9 $$"]])]), dir.path());
    assert_eq!(record.workloads[0].signal, Some(9));
    let detail = record.failure.unwrap().detail;
    assert!(detail.contains("was killed by SIGKILL"), "{detail}");
}

#[test]
fn a_missing_program_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let record =
        run(&spec("missing", vec![workload("x", &[&["no-such-benchmark", "1"]])]), dir.path());
    let detail = record.failure.unwrap().detail;
    assert!(detail.contains("`no-such-benchmark` is not on this testbox"), "{detail}");
}

#[test]
fn the_time_limit_ends_the_workload_and_what_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec("slow", vec![workload("x", &[&["sh", "-c", "sleep 61.5 & sleep 61.5"]])]);
    spec.plan.time_limit_s = 1;
    let start = Instant::now();
    let record = run(&spec, dir.path());
    assert!(start.elapsed() < Duration::from_secs(8));
    assert_eq!(record.failure.as_ref().unwrap().reason, FailureReason::Timeout);
    assert!(record.failure.unwrap().detail.contains("limit of 1 s"));
    assert!(!is_running("61.5"), "the background sleep is gone too");
}

fn is_running(argument: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let cmdline = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        cmdline == format!("sleep\0{argument}\0").as_bytes()
    })
}

#[test]
fn a_request_to_stop_ends_the_run_soon() {
    let dir = tempfile::tempdir().unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&flag);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        theirs.store(true, Ordering::Relaxed);
    });
    let place = Place::local().stopped_by(flag);
    let spec = spec("stop", vec![workload("x", &[&["sleep", "62.5"]])]);
    let start = Instant::now();
    let record = execute(&spec, dir.path(), &place, &mut |_| {});
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(record.failure.unwrap().detail.contains("stopped on request"));
}

#[test]
fn setups_are_in_force_during_the_workload_and_gone_after_it() {
    let root = tempfile::tempdir().unwrap();
    let swappiness = root.path().join("proc/sys/vm/swappiness");
    std::fs::create_dir_all(swappiness.parent().unwrap()).unwrap();
    std::fs::write(&swappiness, "60\n").unwrap();
    let place = Place::local().with_root(root.path());
    for script in ["cat $FILE", "cat $FILE; exit 1", "cat $FILE; kill -11 $$"] {
        let dir = tempfile::tempdir().unwrap();
        let mut spec = spec("setup", vec![workload("x", &[&["sh", "-c", script]])]);
        let file = swappiness.to_str().unwrap().to_owned();
        spec.plan.workloads[0].commands[0].env.insert("FILE".to_owned(), file);
        spec.plan.setups = vec![Setup {
            program: "sysctl".to_owned(),
            value: None,
            options: [("vm.swappiness".to_owned(), "1".to_owned())].into(),
        }];
        let record = execute(&spec, dir.path(), &place, &mut |_| {});
        assert_eq!(raw(dir.path(), "x"), "1", "{script}: {record:?}");
        assert_eq!(std::fs::read_to_string(&swappiness).unwrap(), "60", "{script}");
    }
}

#[test]
fn a_setup_that_the_agent_does_not_know_fails_before_the_workload() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec("unknown", vec![workload("x", &[&["sh", "-c", "echo ran"]])]);
    spec.plan.setups =
        vec![Setup { program: "rocket".to_owned(), value: None, options: BTreeMap::new() }];
    let record = run(&spec, dir.path());
    assert!(record.failure.unwrap().detail.contains("no setup `rocket`"));
    assert!(!dir.path().join("x.zst").exists());
}

#[test]
fn names_that_lead_out_of_the_directory_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["../x", "run.json", "", "a/b"] {
        let record = run(&spec("names", vec![workload(name, &[&["true"]])]), dir.path());
        assert_eq!(record.state, RunState::Failed, "{name}");
    }
    assert!(!dir.path().join("../x").exists());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_incomplete_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let record = run(&spec("nowhere", vec![workload("x", &[&["true"]])]), &file.join("run"));
    assert_eq!(record.failure.unwrap().reason, FailureReason::Incomplete);
}

#[test]
fn perf_counts_and_profiles() {
    if Place::local_executable("perf").is_none() {
        println!("skipped: perf is not here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.5";
    let mut spec = spec("perf", vec![workload("x", &[&["sh", "-c", script]])]);
    spec.plan.monitors = vec![monitor("perf-stat", 200), monitor("perf-profile", 0)];
    let record = run(&spec, dir.path());
    println!("{:?}", record.skipped);
    if record.skipped.iter().any(|skipped| skipped.program.starts_with("perf")) {
        println!("skipped: perf may not count here");
        return;
    }
    let stat = raw(dir.path(), "perf-stat");
    assert!(stat.starts_with("perf stat -a --scale -I 200 -x , -e "), "{stat}");
    assert!(stat.contains(",context-switches,"), "{stat}");
    let profile = raw(dir.path(), "perf-profile");
    assert!(profile.starts_with("# ========\n"), "{profile}");
    assert!(profile.contains("# Samples: "), "{profile}");
    assert!(dir.path().join("perf-profile.data.zst").exists());
}
