//! Tests of the store as a whole: its life, its deaths, its company.

mod company;
mod death;
mod life;
mod trouble;

use std::path::Path;

use patchmark_model::{Axes, KernelId, Kpi, Kpis, MetricName, Metrics, RunId, RunRecord, RunState};

use crate::files::{METRICS, STORED};
use crate::{Claim, Next, Planned, RunKey, Store, Wish, WishColumn};

/// A time for tests that do not care.
const NOW: f64 = 1_800_000_000.0;
const LEASE: f64 = 600.0;

/// A folder in memory where there is one: thousands of synchronised writes to a busy disk take
/// minutes, and a killed process leaves the same behind on either.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn key(kernel: &str) -> RunKey {
    RunKey {
        axes: Axes::new([("testcase", "stress-ng"), ("nr_threads", "100%"), ("test", "sockfd")]),
        kernel: kernel.to_owned(),
        tbox_group: "vm-icount-1c-1024m".to_owned(),
        job: "job".to_owned(),
    }
}

fn column(kernel: &str) -> WishColumn {
    let id = KernelId {
        spec: format!("deb:{kernel}"),
        label: format!("{kernel}-cloud"),
        digest: kernel.to_owned(),
    };
    WishColumn { key: key(kernel), kernel: id }
}

/// `runs` runs of each of two kernels by turns.
fn wish(runs: usize) -> Wish {
    Wish {
        columns: vec![column("aaaa"), column("bbbb")],
        order: (0..runs).flat_map(|_| [0, 1]).collect(),
        fresh: false,
        retry_failed: true,
    }
}

fn record(id: &RunId) -> RunRecord {
    RunRecord {
        id: id.clone(),
        state: RunState::Finished,
        failure: None,
        start_time: NOW,
        end_time: NOW + 1.0,
        workloads: Vec::new(),
        taint: Some(0),
        dmesg_findings: Vec::new(),
        skipped: Vec::new(),
        agent_cpu_seconds: None,
        phase_seconds: Default::default(),
    }
}

fn metrics(value: f64) -> Metrics {
    [("stress-ng.sockfd.ops_per_sec", value), ("vmstat.cs", 7.0)]
        .into_iter()
        .map(|(name, value)| (MetricName::from(name), value))
        .collect()
}

/// Names one headline metric that runs have, and one that they lack.
fn kpis() -> Kpis {
    let kpi = Kpi { direction: None, unit: None };
    ["stress-ng.sockfd.ops_per_sec", "stress-ng.absent"]
        .into_iter()
        .map(|name| (MetricName::from(name), kpi.clone()))
        .collect()
}

fn claim(store: &Store, planned: &Planned) -> Box<Claim> {
    match store.claim_next(&planned.id, &[], LEASE, NOW).unwrap() {
        Next::Claimed(claim) => claim,
        other => panic!("{other:?}"),
    }
}

/// Does a run: a raw file, then its end.
fn finish(store: &Store, claim: &Claim, value: f64) {
    fs_err::write(claim.dir().join("stress-ng.zst"), "raw").unwrap();
    store.finish(claim, &record(claim.id()), &metrics(value), &kpis(), NOW + 5.0).unwrap();
}

/// What must hold of a store at any time when nobody is at work on it and it was just opened.
fn assert_sound(store: &Store) {
    let runs = store.runs(&crate::Query::default()).unwrap();
    let mut ended: Vec<String> = Vec::new();
    for run in &runs {
        assert_ne!(run.state, RunState::Running, "nobody is at work: {run:?}");
        let dir = store.run_dir(&run.id);
        if run.state == RunState::Queued {
            assert!(!dir.exists(), "{} is queued and has a directory", run.id);
            continue;
        }
        ended.push(run.id.to_string());
        assert!(dir.join(STORED).is_file(), "{} is half a directory", run.id);
        if run.state == RunState::Finished {
            assert!(dir.join(METRICS).is_file() && dir.join("run.json").is_file());
            assert!(dir.join("stress-ng.zst").is_file());
            let metrics = store.metrics(&run.id).unwrap();
            let name = "stress-ng.sockfd.ops_per_sec";
            assert_eq!(run.kpis.get(name), metrics.get(name), "{}", run.id);
            assert_eq!(run.kpis.len(), 1);
        }
    }
    let mut slots: Vec<_> = runs.iter().map(|run| (run.key.clone(), run.slot)).collect();
    slots.sort();
    slots.dedup();
    assert_eq!(slots.len(), runs.len(), "a slot is there twice");
    ended.sort();
    assert_eq!(names(&store.dir().join("runs")), ended, "directories and rows differ");
    assert_eq!(names(&store.dir().join("tmp")), Vec::<String>::new(), "something is left over");
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs_err::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
