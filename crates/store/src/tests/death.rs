//! Processes that are killed: at every place between two steps, and anywhere with SIGKILL.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use patchmark_model::{Failure, FailureReason};

use super::*;

/// What a killed process works at: `RUNS` runs of each of two kernels, each fifth one fails.
const RUNS: usize = 3;
/// The same for those that are killed at any time.
const MANY: usize = 100;

/// Runs this test binary again as a process of its own that works on a store.
fn spawn(dir: &Path, work: &str, crash_at: Option<u32>) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "tests::death::worker", "--ignored", "--nocapture"])
        .env("STORE_TEST_DIR", dir)
        .env("STORE_TEST_WORK", work)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(number) = crash_at {
        command.env("STORE_TEST_CRASH_AT", number.to_string());
    }
    command.spawn().unwrap()
}

fn run_to_end(dir: &Path, work: &str, crash_at: Option<u32>) -> ExitStatus {
    spawn(dir, work, crash_at).wait().unwrap()
}

/// Not a test of its own: the process that the others start and kill.
#[test]
#[ignore = "started by other tests"]
fn worker() {
    let Some(dir) = std::env::var_os("STORE_TEST_DIR") else { return };
    let store = Store::open(Path::new(&dir), NOW).unwrap();
    match std::env::var("STORE_TEST_WORK").unwrap().as_str() {
        "compare" => compare(&store, RUNS),
        "compare-many" => compare(&store, MANY),
        "remove" => {
            let runs = store.runs(&crate::Query::default()).unwrap();
            let ids: Vec<RunId> = runs.into_iter().map(|run| run.id).take(3).collect();
            store.remove(&ids, NOW).unwrap();
        }
        "derive" => {
            for run in store.runs(&crate::Query::default()).unwrap() {
                if run.state == RunState::Finished {
                    store.set_metrics(&run.id, &metrics(99.0), &kpis()).unwrap();
                }
            }
        }
        other => panic!("{other}"),
    }
}

fn compare(store: &Store, runs: usize) {
    // Failed runs count as done, so that the number of runs at the end is known.
    let wish = Wish { retry_failed: false, ..wish(runs) };
    let planned = store.plan(&wish, NOW).unwrap();
    loop {
        match store.claim_next(&planned.id, &[], LEASE, NOW).unwrap() {
            Next::Done => break,
            Next::Busy(_) => std::thread::sleep(Duration::from_millis(5)),
            Next::Claimed(claim) => {
                let mut journal = fs_err::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(store.dir().join("journal"))
                    .unwrap();
                let place = planned.runs.iter().position(|p| p.run.id == *claim.id()).unwrap();
                if place % 5 == 4 {
                    let failure =
                        Failure { reason: FailureReason::Timeout, detail: "slow".to_owned() };
                    store.fail(&claim, &failure, None, NOW).unwrap();
                } else {
                    finish(store, &claim, place as f64);
                }
                journal.write_all(format!("{}\n", claim.id()).as_bytes()).unwrap();
            }
        }
    }
    store.end_comparison(&planned.id, NOW).unwrap();
}

/// No run has ended twice.
fn assert_each_ended_once(dir: &Path) {
    let journal = fs_err::read_to_string(dir.join("journal")).unwrap_or_default();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for line in journal.lines() {
        *counts.entry(line).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

fn assert_complete(dir: &Path, runs: usize) {
    let store = Store::open(dir, NOW).unwrap();
    assert_sound(&store);
    let all = store.runs(&crate::Query::default()).unwrap();
    assert_eq!(all.len(), 2 * runs, "nothing is there twice");
    assert!(all.iter().all(|run| run.state != RunState::Queued));
    assert_each_ended_once(dir);
}

#[test]
fn killed_between_any_two_steps_a_comparison_goes_on() {
    let mut survived_at = None;
    for number in 0..400 {
        let dir = scratch();
        let status = run_to_end(dir.path(), "compare", Some(number));
        assert_sound(&Store::open(dir.path(), NOW).unwrap());
        assert!(run_to_end(dir.path(), "compare", None).success());
        assert_complete(dir.path(), RUNS);
        if status.success() {
            survived_at = Some(number);
            break;
        }
    }
    let number = survived_at.expect("every place was tried");
    assert!(number > 50, "only {number} places were passed");
}

#[test]
fn killed_again_and_again_a_comparison_comes_to_its_end() {
    let dir = scratch();
    let mut deaths = 0;
    // Each process gets a few steps further than it needs to heal what the last one left.
    for number in (4..).step_by(3).take(60) {
        if run_to_end(dir.path(), "compare", Some(number)).success() {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 3, "{deaths}");
    assert!(run_to_end(dir.path(), "compare", None).success());
    assert_complete(dir.path(), RUNS);
}

#[test]
fn killed_while_removing_or_deriving_the_store_is_sound() {
    for (work, left) in [("remove", 2 * RUNS - 3), ("derive", 2 * RUNS)] {
        let mut tried = 0;
        for number in 0..200 {
            let dir = scratch();
            assert!(run_to_end(dir.path(), "compare", None).success());
            let status = run_to_end(dir.path(), work, Some(number));
            let store = Store::open(dir.path(), NOW).unwrap();
            assert_sound(&store);
            let count = store.runs(&crate::Query::default()).unwrap().len();
            assert!((left..=2 * RUNS).contains(&count), "{work} {number}: {count}");
            tried = number;
            if status.success() {
                assert_eq!(count, left);
                break;
            }
        }
        assert!((3..199).contains(&tried), "{work}: {tried} places");
    }
}

#[test]
fn sigkill_anywhere_loses_nothing_and_doubles_nothing() {
    let dir = scratch();
    let mut random = 0x9e37_79b9_u32;
    let mut killed = 0;
    for _ in 0..30 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut child = spawn(dir.path(), "compare-many", None);
        std::thread::sleep(Duration::from_millis(15 + u64::from(random >> 24) / 3));
        // Fails when the child has ended already.
        let _ = child.kill();
        if !child.wait().unwrap().success() {
            killed += 1;
        }
        assert_sound(&Store::open(dir.path(), NOW).unwrap());
        assert_each_ended_once(dir.path());
    }
    println!("{killed} of 30 were killed at work");
    assert!(killed > 0);
    assert!(run_to_end(dir.path(), "compare-many", None).success());
    assert_complete(dir.path(), MANY);
}

#[test]
fn four_processes_and_a_killer_share_a_comparison() {
    let dir = scratch();
    let mut workers: Vec<_> = (0..4).map(|_| spawn(dir.path(), "compare-many", None)).collect();
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(60));
        let mut victim = workers.remove(0);
        let _ = victim.kill();
        let _ = victim.wait();
        workers.push(spawn(dir.path(), "compare-many", None));
    }
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    assert_complete(dir.path(), MANY);
}
