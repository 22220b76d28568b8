//! The job files that come with the project: all of them check and expand, and those whose
//! programs are described resolve.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use patchmark_catalog::Catalog;
use patchmark_job::{
    AtomJob, DiskFiles, ExpandOptions, JobFile, LoadOptions, Overrides, Resolved, check, resolve,
};
use patchmark_model::{Clock, TestboxFacts, TestboxKind};

fn jobs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jobs").canonicalize().unwrap()
}

fn job_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(jobs_folder()).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "yaml"));
    files.sort();
    assert!(files.len() > 15);
    files
}

fn testbox() -> TestboxFacts {
    TestboxFacts {
        kind: TestboxKind::Vm,
        group: "vm-icount-1c-1024m".into(),
        clock: Clock::Icount,
        nr_cpu: 1,
        nr_node: 1,
        memory: 1 << 30,
        rootfs: "packed".into(),
    }
}

fn expand(file: &Path, settings: &[&str]) -> Vec<AtomJob> {
    let job = JobFile::load(file, &DiskFiles, LoadOptions::default()).unwrap();
    let overrides = Overrides::parse(settings).unwrap();
    let options = ExpandOptions { overrides: Some(&overrides), ..ExpandOptions::default() };
    let expansion = job.expand(&options, Catalog::builtin()).unwrap();
    assert!(expansion.warnings.is_empty(), "{:?}", expansion.warnings);
    expansion.jobs
}

fn resolved(job: &str) -> Resolved {
    let atoms = expand(&jobs_folder().join(job), &[]);
    resolve(&atoms[0], &testbox(), Catalog::builtin()).unwrap()
}

#[test]
fn every_job_file_checks_and_expands() {
    for file in job_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let found = check(&file, &text, &DiskFiles, LoadOptions::default(), Catalog::builtin());
        assert!(found.is_empty(), "{}", found[0]);
        assert!(!expand(&file, &[]).is_empty(), "{}", file.display());
    }
}

#[test]
fn jobs_of_described_programs_resolve_and_others_say_why_not() {
    let mut runnable = Vec::new();
    for file in job_files() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let outcomes: Vec<_> = expand(&file, &[])
            .iter()
            .map(|atom| resolve(atom, &testbox(), Catalog::builtin()))
            .collect();
        match outcomes.iter().find_map(|outcome| outcome.as_ref().err()) {
            None => runnable.push(name),
            Some(error) => {
                assert!(outcomes.iter().all(Result::is_err), "{name}: {error}");
                let words = error.to_string();
                assert!(words.contains("cannot be run"), "{words}");
            }
        }
    }
    insta::assert_snapshot!(runnable.join("\n"), @r"
    hackbench
    idle
    perf-bench-futex
    perf-bench-mem
    perf-bench-sched-messaging
    perf-bench-sched-pipe
    perf-bench-syscall
    stress-ng-classes
    stress-ng-filesystem
    stress-ng-full
    stress-ng-sendfile
    stress-ng-sockfd
    stress-ng-syscalls
    will-it-scale
    ");
}

#[test]
fn the_plan_of_the_sockfd_job() {
    let Resolved { mut plan, skipped, notes } = resolved("stress-ng-sockfd.yaml");
    plan.job_yaml = "(elsewhere)".into();
    let skipped: Vec<_> = skipped.iter().map(|s| format!("{}: {}", s.program, s.why)).collect();
    insta::assert_debug_snapshot!((plan, skipped, notes));
}

#[test]
fn axes_are_those_of_a_report() {
    let plan = resolved("stress-ng-sendfile.yaml").plan;
    assert_eq!(
        plan.axes.to_string(),
        "class=pipe/cpufreq_governor=performance/nr_threads=100%/test=sendfile/\
         testcase=stress-ng/testtime=60s"
    );
}

#[test]
fn settings_change_a_job_and_its_name() {
    let file = jobs_folder().join("stress-ng-sockfd.yaml");
    let jobs = expand(&file, &["testtime=60s", "stress-ng.test=[dup, link]", "nr_threads: 50%"]);
    let names: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(
        names,
        ["stress-ng-sockfd-performance-50%-dup-60s", "stress-ng-sockfd-performance-50%-link-60s"]
    );
    let Resolved { plan, notes, .. } = resolve(&jobs[0], &testbox(), Catalog::builtin()).unwrap();
    assert_eq!(plan.workloads[0].commands[0].argv.last().unwrap(), "1");
    assert_eq!(notes, ["`nr_threads` of `stress-ng`: 50% of 1 is less than one; taken as 1"]);
    let profile = plan.monitors.iter().find(|m| m.program == "perf-profile").unwrap();
    assert_eq!(profile.options["delay"], "30");
    assert_eq!(plan.time_limit_s, 900);
}

#[test]
fn without_perf_monitors_nothing_needs_perf() {
    let file = jobs_folder().join("stress-ng-sockfd.yaml");
    let settings = ["perf-profile-=", "category=none"];
    let jobs = expand(&file, &settings);
    let Resolved { plan, notes, .. } = resolve(&jobs[0], &testbox(), Catalog::builtin()).unwrap();
    assert_eq!(plan.needs.binaries, ["stress-ng"]);
    assert_eq!(plan.needs.packages, ["stress-ng"]);
    assert_eq!(notes, ["`category: none` is not known and adds no monitors"]);
}
