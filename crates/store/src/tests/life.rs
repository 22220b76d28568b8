//! Planning, claiming, finishing, reading, removing.

use patchmark_model::{Axes, Failure, FailureReason, KernelArtefacts, Metrics, RunState};

use super::*;
use crate::{Query, StoreError};

fn open() -> (tempfile::TempDir, Store) {
    let dir = scratch();
    let store = Store::open(dir.path(), NOW).unwrap();
    assert!(store.notes().is_empty());
    (dir, store)
}

#[test]
fn runs_are_claimed_in_order_and_come_back_with_their_metrics() {
    let (_dir, store) = open();
    let planned = store.plan(&wish(2), NOW).unwrap();
    assert_eq!(planned.resumed, None);
    let places: Vec<_> = planned.runs.iter().map(|place| (place.column, place.index)).collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    for (number, place) in planned.runs.iter().enumerate() {
        let claim = claim(&store, &planned);
        assert_eq!((claim.id(), claim.column(), claim.attempt()), (&place.run.id, place.column, 1));
        assert!(names(claim.dir()).is_empty());
        finish(&store, &claim, number as f64);
    }
    assert!(matches!(store.claim_next(&planned.id, &[], LEASE, NOW).unwrap(), Next::Done));
    let runs = store.comparison_runs(&planned.id).unwrap();
    for (number, place) in runs.iter().enumerate() {
        assert_eq!(place.run.state, RunState::Finished);
        assert_eq!((place.run.started, place.run.ended), (Some(NOW), Some(NOW + 5.0)));
        assert_eq!(store.metrics(&place.run.id).unwrap(), metrics(number as f64));
        assert_eq!(place.run.kpis.len(), 1, "an absent headline metric stays absent");
    }
    drop(store);
    let again = Store::open(_dir.path(), NOW).unwrap();
    assert_sound(&again);
}

#[test]
fn a_second_comparison_reuses_runs_and_a_fresh_one_does_not() {
    let (_dir, store) = open();
    let first = store.plan(&wish(2), NOW).unwrap();
    for _ in 0..4 {
        finish(&store, &claim(&store, &first), 1.0);
    }
    store.end_comparison(&first.id, NOW).unwrap();

    let more = store.plan(&wish(3), NOW).unwrap();
    let reused: Vec<bool> = more.runs.iter().map(|place| place.has_ended()).collect();
    assert_eq!(reused, [true, true, true, true, false, false]);

    let same = store.plan(&wish(2), NOW).unwrap();
    assert_ne!(same.id, first.id);
    let ids = |planned: &Planned| -> Vec<RunId> {
        planned.runs.iter().map(|place| place.run.id.clone()).collect()
    };
    assert_eq!(ids(&same), ids(&first));

    let fresh_wish = Wish { fresh: true, ..wish(2) };
    let fresh = store.plan(&fresh_wish, NOW).unwrap();
    assert!(fresh.runs.iter().all(|place| !place.has_ended()));
    assert!(ids(&fresh).iter().all(|id| !ids(&first).contains(id) && !ids(&more).contains(id)));
    // Until it has ended, the same wish is the same comparison.
    let resumed = store.plan(&fresh_wish, NOW + 9.0).unwrap();
    assert_eq!((resumed.resumed, ids(&resumed)), (Some(NOW), ids(&fresh)));
    store.end_comparison(&fresh.id, NOW).unwrap();
    let newer = store.plan(&fresh_wish, NOW).unwrap();
    assert!(ids(&newer).iter().all(|id| !ids(&fresh).contains(id)));
    assert_eq!(store.comparisons(10).unwrap().len(), 5);
}

#[test]
fn a_kernel_against_itself_gets_different_runs_on_both_sides() {
    let (_dir, store) = open();
    let wish = Wish { columns: vec![column("aaaa"), column("aaaa")], ..wish(2) };
    let planned = store.plan(&wish, NOW).unwrap();
    let mut ids: Vec<_> = planned.runs.iter().map(|place| place.run.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_failed_run_keeps_its_place_its_reason_and_its_files_and_has_no_metrics() {
    let (dir, store) = open();
    let planned = store.plan(&wish(1), NOW).unwrap();
    let failed = claim(&store, &planned);
    fs_err::write(failed.dir().join("console.log"), "Kernel panic").unwrap();
    let failure =
        Failure { reason: FailureReason::KernelPanic, detail: "Kernel panic - not".to_owned() };
    store.fail(&failed, &failure, None, NOW + 2.0).unwrap();
    finish(&store, &claim(&store, &planned), 3.0);
    let runs = store.comparison_runs(&planned.id).unwrap();
    assert_eq!(runs[0].run.failure, Some(failure));
    assert_eq!(runs[0].run.state, RunState::Failed);
    assert_eq!(store.metrics(failed.id()).unwrap(), Metrics::new());
    assert!(store.run_dir(failed.id()).join("console.log").is_file());
    // It counts in the comparison it happened in; the next one tries again.
    let resumed = store.plan(&wish(1), NOW).unwrap();
    assert_eq!(resumed.runs[0].run.id, *failed.id());
    store.end_comparison(&planned.id, NOW).unwrap();
    let next = store.plan(&wish(1), NOW).unwrap();
    assert_eq!(next.runs[0].run.state, RunState::Queued);
    assert_eq!(next.runs[1].run.state, RunState::Finished);
    drop(store);
    assert_sound(&Store::open(dir.path(), NOW).unwrap());
}

#[test]
fn a_claim_is_free_again_when_dropped_released_or_out_of_time() {
    let (_dir, store) = open();
    let planned = store.plan(&Wish { order: vec![0], ..wish(1) }, NOW).unwrap();
    let first = claim(&store, &planned);
    let busy = store.claim_next(&planned.id, &[], LEASE, NOW).unwrap();
    assert!(matches!(busy, Next::Busy(holders) if holders[0].pid == std::process::id()));
    assert!(matches!(store.claim_next(&planned.id, &[0], LEASE, NOW).unwrap(), Next::Done));
    drop(first);
    let second = claim(&store, &planned);
    assert_eq!(second.attempt(), 2);
    store.release(*second).unwrap();
    assert_eq!(names(&store.tmp()), Vec::<String>::new());
    let third = claim(&store, &planned);
    store.renew(&third, LEASE, NOW + 500.0).unwrap();
    assert!(matches!(
        store.claim_next(&planned.id, &[], LEASE, NOW + 1000.0).unwrap(),
        Next::Busy(_)
    ));
    let fourth = match store.claim_next(&planned.id, &[], LEASE, NOW + 2000.0).unwrap() {
        Next::Claimed(claim) => claim,
        other => panic!("{other:?}"),
    };
    let late = store.finish(&third, &record(third.id()), &metrics(1.0), &kpis(), NOW);
    assert!(late.is_err(), "{late:?}");
    assert!(matches!(store.renew(&third, LEASE, NOW), Err(StoreError::ClaimLost(_))));
    finish(&store, &fourth, 4.0);
    assert_eq!(store.metrics(fourth.id()).unwrap(), metrics(4.0));
}

#[test]
fn queries_choose_by_everything_a_run_has() {
    let (_dir, store) = open();
    let planned = store.plan(&wish(3), NOW).unwrap();
    for _ in 0..3 {
        finish(&store, &claim(&store, &planned), 1.0);
    }
    let count = |query: Query| store.runs(&query).unwrap().len();
    assert_eq!(count(Query::default()), 6);
    assert_eq!(count(Query { states: vec![RunState::Finished], ..Query::default() }), 3);
    assert_eq!(count(Query { kernel: Some("aaaa-cloud".into()), ..Query::default() }), 3);
    assert_eq!(count(Query { kernel: Some("bb".into()), ..Query::default() }), 3);
    assert_eq!(count(Query { kernel: Some("%".into()), ..Query::default() }), 0);
    assert_eq!(count(Query { limit: Some(2), ..Query::default() }), 2);
    assert_eq!(count(Query { since: Some(NOW + 1.0), ..Query::default() }), 0);
    let axes = |pairs: &[(&str, &str)]| Query {
        axes: Axes::new(pairs.iter().copied()),
        ..Query::default()
    };
    assert_eq!(count(axes(&[("testcase", "stress-ng"), ("nr_threads", "100%")])), 6);
    assert_eq!(count(axes(&[("nr_threads", "50%")])), 0);
    assert_eq!(count(axes(&[("absent", "")])), 0);
    assert_eq!(store.finished_runs(&key("aaaa")).unwrap().len(), 2);
    let id = planned.runs[0].run.id.as_str();
    assert_eq!(store.run(id).unwrap().id.as_str(), id);
    assert!(matches!(store.run("01"), Err(StoreError::Misuse(_))));
    for bad in ["", "../x", "%"] {
        assert!(store.run(bad).is_err(), "{bad}");
    }
}

#[test]
fn metrics_can_be_derived_again() {
    let (dir, store) = open();
    let planned = store.plan(&wish(1), NOW).unwrap();
    let claim = claim(&store, &planned);
    finish(&store, &claim, 1.0);
    store.set_metrics(claim.id(), &metrics(2.5), &kpis()).unwrap();
    assert_eq!(store.metrics(claim.id()).unwrap(), metrics(2.5));
    let run = store.run(claim.id().as_str()).unwrap();
    assert_eq!(run.kpis.values().copied().collect::<Vec<_>>(), [2.5]);
    let queued = &planned.runs[1].run.id;
    assert!(matches!(store.set_metrics(queued, &metrics(1.0), &kpis()), Err(StoreError::NoRun(_))));
    drop(store);
    assert_sound(&Store::open(dir.path(), NOW).unwrap());
}

#[test]
fn removed_runs_are_gone_with_their_files_and_their_places_are_filled_again() {
    let (dir, store) = open();
    let planned = store.plan(&wish(1), NOW).unwrap();
    let claim = claim(&store, &planned);
    let under_way = store.remove(&[claim.id().clone()], NOW).unwrap_err();
    assert!(matches!(under_way, StoreError::UnderWay { .. }), "{under_way}");
    finish(&store, &claim, 1.0);
    let ghost: RunId = "ghost".parse().unwrap();
    let both = [claim.id().clone(), ghost];
    assert!(matches!(store.remove(&both, NOW), Err(StoreError::NoRun(_))));
    assert!(store.run_dir(claim.id()).is_dir(), "all or none");
    store.remove(&both[..1], NOW).unwrap();
    assert!(!store.run_dir(claim.id()).exists());
    assert_eq!(store.comparison_runs(&planned.id).unwrap().len(), 1);
    let again = store.plan(&wish(1), NOW).unwrap();
    assert_eq!(again.runs.len(), 2);
    assert_ne!(again.runs[0].run.id, *claim.id());
    drop(store);
    assert_sound(&Store::open(dir.path(), NOW).unwrap());
}

#[test]
fn kernels_jobs_and_testboxes_are_remembered() {
    let (_dir, store) = open();
    let kernel = KernelArtefacts {
        id: column("aaaa").kernel,
        release: "6.1.0".into(),
        image: None,
        modules: None,
        system_map: None,
        config: None,
        kconfig: "debian-cloud-amd64".into(),
        compiler: "gcc-12".into(),
    };
    store.put_kernel(&kernel, NOW).unwrap();
    store.put_kernel(&kernel, NOW + 1.0).unwrap();
    assert_eq!(store.kernels().unwrap(), [kernel]);
    let plan = patchmark_model::Plan {
        job_name: "stress-ng".into(),
        axes: Axes::default(),
        job_yaml: "suite: x".into(),
        setups: Vec::new(),
        monitors: Vec::new(),
        workloads: Vec::new(),
        time_limit_s: 9,
        kernel_cmdline: None,
        needs: Default::default(),
    };
    let hash = store.put_job(&plan, NOW).unwrap();
    assert_eq!(store.job(&hash).unwrap(), Some(plan));
    assert_eq!(store.job("other").unwrap(), None);
    assert_eq!(store.testbox("other").unwrap(), None);
}

/// Not a measurement, only a guard against a list that is quadratic or without an index.
#[test]
fn thousands_of_runs_are_planned_and_listed_in_no_time() {
    let (_dir, store) = open();
    let begun = std::time::Instant::now();
    let planned = store.plan(&wish(2500), NOW).unwrap();
    assert_eq!(planned.runs.len(), 5000);
    let planned_in = begun.elapsed();
    let page = store.runs(&Query { limit: Some(50), ..Query::default() }).unwrap();
    assert_eq!(page.len(), 50);
    let paged_in = begun.elapsed() - planned_in;
    assert_eq!(store.runs(&Query::default()).unwrap().len(), 5000);
    let listed_in = begun.elapsed() - planned_in - paged_in;
    let claim = claim(&store, &planned);
    finish(&store, &claim, 1.0);
    println!("planned {planned_in:?}, a page {paged_in:?}, all {listed_in:?}");
    assert!(begun.elapsed().as_secs() < 30);
}
