//! A campaign carries out one comparison: plans its runs in the store, has them run, and
//! collects what they measured. Interrupted or killed, it is taken up again by the next one
//! with the same wish.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use patchmark_catalog::Catalog;
use patchmark_model::{
    Column, ColumnRun, Comparison, Event, Failure, FailureReason, Kpis, Metrics, Phase, Plan,
    RunId, RunRecord, RunSpec, RunState, Skipped,
};
use patchmark_store::{
    Claim, ComparisonId, Next, RunKey, Store, StoreError, Wish, WishColumn, job_hash,
};
use patchmark_testbox::{Cancel, Testbox, TestboxError};

use crate::column::Columns;
use crate::derive::{Derived, derive};
use crate::progress::Progress;
use crate::schedule::{Slot, interleave};
use crate::userspace::rootfs_axis;

/// How often a column may fail at the start before no more of its runs are tried.
const HOPELESS_AFTER: usize = 2;

/// How long a claim lasts beyond the job's own limit, seconds: boot, packing, collection, a
/// laptop that slept. A dead process frees its claims at once; this is for one that hangs.
const LEASE_MARGIN_S: f64 = 3600.0;

/// What is wanted.
pub struct Campaign<'a> {
    /// Where runs are kept.
    pub store: &'a Store,
    /// Where they run.
    pub testbox: &'a dyn Testbox,
    /// For the KPIs.
    pub catalog: &'a Catalog,
    /// What they run.
    pub plan: &'a Plan,
    /// The columns.
    pub columns: &'a Columns,
    /// Runs of each column.
    pub runs: usize,
    /// Whether runs of earlier comparisons are left alone.
    pub fresh: bool,
    /// Runs under way at once.
    pub parallel: usize,
    /// Set to stop.
    pub cancel: &'a Cancel,
}

/// What a campaign ended with.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was measured so far.
    pub comparison: Comparison,
    /// The headline metrics among it.
    pub kpis: Kpis,
    /// Setups and monitors that were left out in any run, once each.
    pub skipped: Vec<Skipped>,
    /// Columns of which no more runs were tried, and why.
    pub given_up: Vec<(usize, String)>,
    /// Whether it was stopped before all runs were had.
    pub interrupted: bool,
    /// Runs that were taken from the store.
    pub reused: usize,
    /// Mean host seconds of each phase over the runs that were run now.
    pub phase_seconds: HashMap<Phase, f64>,
}

/// Why a campaign could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The testbox.
    #[error(transparent)]
    Testbox(#[from] TestboxError),
}

/// What the workers share.
struct Shared<'a> {
    comparison: ComparisonId,
    slots: HashMap<RunId, Slot>,
    tell: &'a (dyn Fn(Progress) + Sync),
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    given_up: Vec<(usize, String)>,
    failures: HashMap<usize, usize>,
    successes: HashMap<usize, usize>,
    records: Vec<RunRecord>,
    error: Option<CampaignError>,
}

impl Campaign<'_> {
    /// Has every run that is missing, and collects all of them.
    ///
    /// # Errors
    /// The infrastructure's. Runs that had ended by then are kept.
    pub fn carry_out(&self, tell: &(dyn Fn(Progress) + Sync)) -> Result<Outcome, CampaignError> {
        let facts = self.testbox.facts();
        let rootfs = rootfs_axis(facts, &self.plan.needs);
        let wish = self.wish(&rootfs)?;
        for column in &self.columns.specs {
            self.store.put_kernel(&column.kernel, now())?;
        }
        self.store.put_job(self.plan, now())?;
        self.store.put_testbox(facts, now())?;
        let planned = self.store.plan(&wish, now())?;

        let mut reused = vec![0; self.columns.specs.len()];
        for run in planned.runs.iter().filter(|run| run.has_ended()) {
            if let Some(count) = reused.get_mut(run.column) {
                *count += 1;
            }
        }
        tell(Progress::Planned {
            columns: (0..self.columns.specs.len()).map(|c| self.columns.value(c)).collect(),
            runs: self.runs,
            reused: reused.clone(),
        });
        let slots = planned.runs.iter().map(|planned| {
            (planned.run.id.clone(), Slot { column: planned.column, index: planned.index })
        });
        let shared = Shared {
            comparison: planned.id.clone(),
            slots: slots.collect(),
            tell,
            state: Mutex::default(),
        };
        std::thread::scope(|scope| {
            for _ in 0..self.parallel.max(1) {
                scope.spawn(|| self.work(&shared));
            }
        });

        let mut state = shared.state.into_inner().unwrap_or_else(|poison| poison.into_inner());
        if let Some(error) = state.error.take() {
            return Err(error);
        }
        let interrupted = self.cancel.is_cancelled();
        if !interrupted {
            self.store.end_comparison(&planned.id, now())?;
        }
        self.collect(&planned.id, &rootfs, state, interrupted, reused.iter().sum())
    }

    fn wish(&self, rootfs: &str) -> Result<Wish, CampaignError> {
        let job = job_hash(self.plan)?;
        let columns = self.columns.specs.iter().enumerate().map(|(index, spec)| WishColumn {
            key: RunKey {
                axes: self.columns.run_axes(index, self.plan, rootfs),
                kernel: spec.kernel.id.digest.clone(),
                tbox_group: self.testbox.facts().group.clone(),
                job: job.clone(),
            },
            kernel: spec.kernel.id.clone(),
        });
        let order = interleave(self.columns.specs.len(), self.runs);
        Ok(Wish {
            columns: columns.collect(),
            order: order.into_iter().map(|slot| slot.column).collect(),
            fresh: self.fresh,
            retry_failed: true,
        })
    }

    /// One worker: takes runs until there are none, or something stops the campaign.
    fn work(&self, shared: &Shared<'_>) {
        while !self.cancel.is_cancelled() {
            let skip: Vec<usize> = match shared.state.lock() {
                Ok(state) if state.error.is_some() => return,
                Ok(state) => state.given_up.iter().map(|(column, _)| *column).collect(),
                Err(_) => return,
            };
            let lease = f64::from(self.plan.time_limit_s) + LEASE_MARGIN_S;
            let done = match self.store.claim_next(&shared.comparison, &skip, lease, now()) {
                Ok(Next::Claimed(claim)) => self.run_one(shared, *claim),
                // Another process, or another worker, holds what is left; it may yet give it back.
                Ok(Next::Busy(_)) => {
                    std::thread::sleep(Duration::from_millis(300));
                    continue;
                }
                Ok(Next::Done) => return,
                Err(error) => Err(error.into()),
            };
            if let (Err(error), Ok(mut state)) = (done, shared.state.lock()) {
                state.error.get_or_insert(error);
                return;
            }
        }
    }

    fn run_one(&self, shared: &Shared<'_>, claim: Claim) -> Result<(), CampaignError> {
        let column = claim.column();
        let slot =
            shared.slots.get(claim.id()).copied().unwrap_or(Slot { column, index: usize::MAX - 1 });
        let Some(spec) = self.columns.specs.get(column) else {
            return Ok(self.store.release(claim)?);
        };
        let mut plan = self.plan.clone();
        let own = plan.kernel_cmdline.take().unwrap_or_default();
        let cmdline = [own.as_str(), spec.cmdline.as_str()].join(" ").trim().to_owned();
        plan.kernel_cmdline = (!cmdline.is_empty()).then_some(cmdline);
        let order = RunSpec { id: claim.id().clone(), plan, host_time: now() };

        (shared.tell)(Progress::Started(slot));
        let mut hear = |event: Event| {
            (shared.tell)(match event {
                Event::Phase(phase) => Progress::Phase(slot, phase),
                Event::Note(text) => Progress::Note(slot, text),
            });
        };
        let ran = self.testbox.run(&spec.kernel, &order, claim.dir(), &mut hear, self.cancel);
        let mut record = match ran {
            Ok(_) | Err(_) if self.cancel.is_cancelled() => {
                return Ok(self.store.release(claim)?);
            }
            Ok(record) => record,
            Err(error) => {
                self.store.release(claim)?;
                return Err(error.into());
            }
        };
        self.keep(&claim, &mut record)?;
        self.count(shared, column, &record);
        (shared.tell)(Progress::Ended(slot, Box::new(record)));
        Ok(())
    }

    /// Derives the metrics and hands the run to the store. A workload that left no number has
    /// failed, whatever its exit code says.
    fn keep(&self, claim: &Claim, record: &mut RunRecord) -> Result<(), CampaignError> {
        if record.state == RunState::Finished {
            match derive(claim.dir(), self.plan) {
                Ok(Derived { metrics, .. }) => {
                    let kpis = self.kpis_among(metrics.keys().map(|name| name.as_str()));
                    return Ok(self.store.finish(claim, record, &metrics, &kpis, now())?);
                }
                Err(failure) => {
                    record.state = RunState::Failed;
                    record.failure = Some(failure);
                }
            }
        }
        let failure = record.failure.clone().unwrap_or_else(|| Failure {
            reason: FailureReason::Incomplete,
            detail: "the testbox gave no reason".to_owned(),
        });
        Ok(self.store.fail(claim, &failure, Some(record), now())?)
    }

    /// Gives a column up that has failed from the start, so that a kernel that does not boot
    /// costs two time limits and not ten.
    fn count(&self, shared: &Shared<'_>, column: usize, record: &RunRecord) {
        let Ok(mut state) = shared.state.lock() else { return };
        state.records.push(record.clone());
        let counts = match record.state {
            RunState::Finished => &mut state.successes,
            _ => &mut state.failures,
        };
        *counts.entry(column).or_default() += 1;
        let hopeless = state.failures.get(&column).is_some_and(|count| *count >= HOPELESS_AFTER)
            && !state.successes.contains_key(&column)
            && !state.given_up.iter().any(|(given_up, _)| *given_up == column);
        if hopeless {
            let reason = record.failure.as_ref().map(|f| f.reason.to_string()).unwrap_or_default();
            let why = format!("the first {HOPELESS_AFTER} runs failed ({reason})");
            state.given_up.push((column, why.clone()));
            (shared.tell)(Progress::GivenUp(column, why));
        }
    }

    fn collect(
        &self,
        id: &ComparisonId,
        rootfs: &str,
        state: State,
        interrupted: bool,
        reused: usize,
    ) -> Result<Outcome, CampaignError> {
        let mut columns: Vec<Column> = (0..self.columns.specs.len())
            .map(|c| Column { value: self.columns.value(c), note: None, runs: Vec::new() })
            .collect();
        let mut skipped: Vec<Skipped> = Vec::new();
        for planned in self.store.comparison_runs(id)?.into_iter().filter(|run| run.has_ended()) {
            let complete = planned.run.state == RunState::Finished;
            let metrics =
                if complete { self.store.metrics(&planned.run.id)? } else { Metrics::new() };
            for left_out in self.left_out(&planned.run.id) {
                if !skipped.contains(&left_out) {
                    skipped.push(left_out);
                }
            }
            let failure = planned.run.failure.map(|f| format!("{}: {}", f.reason, f.detail));
            if let Some(column) = columns.get_mut(planned.column) {
                column.runs.push(ColumnRun { id: planned.run.id, complete, failure, metrics });
            }
        }
        let axes = self.columns.shared_axes(self.plan, self.testbox.facts(), rootfs);
        let comparison = Comparison { axes, key: self.columns.key.to_owned(), columns };
        let kpis = self.kpis_among(comparison.metric_names().into_iter().map(|n| n.as_str()));
        let phase_seconds = mean_phases(&state.records);
        let given_up = state.given_up;
        Ok(Outcome { comparison, kpis, skipped, given_up, interrupted, reused, phase_seconds })
    }

    /// What a run left out, as its `run.json` says.
    fn left_out(&self, run: &RunId) -> Vec<Skipped> {
        let file = self.store.run_dir(run).join("run.json");
        let record = fs_err::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        record.map(|record: RunRecord| record.skipped).unwrap_or_default()
    }

    fn kpis_among<'n>(&self, names: impl Iterator<Item = &'n str>) -> Kpis {
        names.filter_map(|name| Some((name.into(), self.catalog.kpi(name)?))).collect()
    }
}

fn mean_phases(records: &[RunRecord]) -> HashMap<Phase, f64> {
    let phases = [Phase::Pack, Phase::Boot, Phase::Setup, Phase::Run, Phase::Collect];
    let mean = |phase: Phase| {
        let name = phase.to_string();
        let seconds: Vec<f64> =
            records.iter().filter_map(|record| record.phase_seconds.get(&name).copied()).collect();
        (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
    };
    phases.into_iter().filter_map(|phase| Some((phase, mean(phase)?))).collect()
}

/// Seconds since the epoch.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|age| age.as_secs_f64()).unwrap_or_default()
}
