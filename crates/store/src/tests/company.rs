//! Several stores open on one folder, in threads; processes are in `death`.

use std::sync::{Arc, Barrier, Mutex};

use super::*;

/// A hundred slots, four stores: each slot is done by exactly one of them.
#[test]
fn a_hundred_slots_are_claimed_once_each() {
    let dir = scratch();
    Store::open(dir.path(), NOW).unwrap();
    let (barrier, done) = (Arc::new(Barrier::new(4)), Arc::new(Mutex::new(Vec::new())));
    let path = dir.path();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (barrier, done) = (barrier.clone(), done.clone());
            scope.spawn(move || {
                barrier.wait();
                let store = Store::open(path, NOW).unwrap();
                let planned = store.plan(&wish(50), NOW).unwrap();
                assert_eq!(planned.runs.len(), 100);
                barrier.wait();
                loop {
                    match store.claim_next(&planned.id, &[], LEASE, NOW).unwrap() {
                        Next::Done => break,
                        Next::Busy(_) => std::thread::yield_now(),
                        Next::Claimed(claim) => {
                            finish(&store, &claim, 1.0);
                            done.lock().unwrap().push(claim.id().clone());
                        }
                    }
                }
            });
        }
    });
    let mut done = done.lock().unwrap().clone();
    assert_eq!(done.len(), 100);
    done.sort();
    done.dedup();
    assert_eq!(done.len(), 100);
    let store = Store::open(dir.path(), NOW).unwrap();
    assert!(store.notes().is_empty(), "{:?}", store.notes());
    assert_sound(&store);
}

#[test]
fn opening_a_store_leaves_the_work_of_others_alone() {
    let dir = scratch();
    let busy = Store::open(dir.path(), NOW).unwrap();
    let planned = busy.plan(&wish(1), NOW).unwrap();
    let claim = claim(&busy, &planned);
    fs_err::write(claim.dir().join("stress-ng.zst"), "raw").unwrap();
    let other = Store::open(dir.path(), NOW).unwrap();
    assert!(other.notes().is_empty());
    assert!(claim.dir().join("stress-ng.zst").is_file());
    let reader = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(reader.runs(&crate::Query::default()).unwrap().len(), 2);
    assert!(reader.plan(&wish(1), NOW).is_err());
    finish(&busy, &claim, 1.0);
    assert_eq!(other.run(claim.id().as_str()).unwrap().state, RunState::Finished);
    // When the holder goes, what it held is free for the other.
    let second = super::claim(&busy, &planned);
    let id = second.id().clone();
    drop(busy);
    let taken = super::claim(&other, &planned);
    assert_eq!((taken.id(), taken.attempt()), (&id, 2));
}
