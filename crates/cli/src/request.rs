//! What `compare`, `run` and `testbox check` have in common: a job, a testbox and kernels, and a
//! campaign over them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use patchmark_catalog::Catalog;
use patchmark_job::{DiskFiles, ExpandOptions, JobFile, LoadOptions, Overrides, Resolved, resolve};
use patchmark_lab::{Campaign, CampaignError, Columns, Outcome};
use patchmark_model::{
    Axes, Command, Failure, KernelArtefacts, Needs, Plan, RunRecord, RunState, TestboxFacts,
    TestboxKind, Workload,
};
use patchmark_report::Context;
use patchmark_store::Store;
use patchmark_testbox::{Cancel, Testbox, TestboxError};

use crate::args::{Global, JobOptions};
use crate::command::job;
use crate::exit::{Exit, Trouble};
use crate::place;
use crate::progress::Display;

/// The jobs of a file, resolved for a testbox, in the order of the matrix.
pub fn plans(
    file: &Path,
    settings: &[String],
    facts: &TestboxFacts,
) -> Result<Vec<Resolved>, Trouble> {
    let catalog = Catalog::builtin();
    let overrides = Overrides::parse(settings).map_err(Trouble::usage)?;
    let job = JobFile::load(file, &DiskFiles, LoadOptions::default()).map_err(job::trouble)?;
    let options = ExpandOptions { overrides: Some(&overrides), ..ExpandOptions::default() };
    let expansion = job.expand(&options, catalog).map_err(job::trouble)?;
    expansion
        .jobs
        .iter()
        .map(|atom| resolve(atom, facts, catalog))
        .collect::<Result<_, _>>()
        .map_err(|error| {
            Trouble::usage(error)
                .hint(format!("check the file: patchmark job check {}", file.display()))
        })
}

/// A campaign's settings that come from the command line.
pub struct Settings {
    /// Runs of each column.
    pub runs: usize,
    /// Leave runs of earlier comparisons alone.
    pub fresh: bool,
    /// Runs under way at once; `None` chooses.
    pub parallel: Option<usize>,
}

impl Settings {
    /// Settings as given on the command line.
    pub fn new(runs: u16, options: &JobOptions) -> Settings {
        let parallel = options.parallel.map(usize::from);
        Settings { runs: runs.into(), fresh: options.fresh, parallel }
    }
}

/// Carries one job out. Ctrl-C stops it; what has ended by then is kept.
pub fn carry_out(
    store: &Store,
    testbox: &dyn Testbox,
    plan: &Plan,
    columns: &Columns,
    settings: &Settings,
    display: &Display,
) -> Result<Outcome, Trouble> {
    let cancel = stop_on_signals()?;
    let campaign = Campaign {
        store,
        testbox,
        catalog: Catalog::builtin(),
        plan,
        columns,
        runs: settings.runs,
        fresh: settings.fresh,
        parallel: settings.parallel.unwrap_or_else(|| lanes(testbox.facts())),
        cancel: &cancel,
    };
    let outcome = campaign.carry_out(&|progress| display.show(progress));
    display.finish();
    let outcome = outcome.map_err(campaign_trouble)?;
    if outcome.interrupted {
        let kept: usize = outcome.comparison.columns.iter().map(|column| column.runs.len()).sum();
        let wanted = settings.runs * columns.specs.len();
        return Err(Trouble {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted: {kept} of {wanted} runs are kept"),
            hints: vec!["the same command goes on from there".to_owned()],
        });
    }
    Ok(outcome)
}

/// What a report needs to know beside the samples.
pub fn context(
    resolved: &Resolved,
    facts: &TestboxFacts,
    columns: &Columns,
    outcome: &Outcome,
) -> Context {
    let mut notes = resolved.notes.clone();
    let differences = columns.further_differences();
    if !differences.is_empty() {
        notes.push(format!(
            "the kernels differ in more than their source: {}",
            differences.join("; ")
        ));
    }
    for (column, why) in &outcome.given_up {
        notes.push(format!("{}: {why}; no more were tried", columns.value(*column)));
    }
    if outcome.reused > 0 {
        let runs = if outcome.reused == 1 { "run was" } else { "runs were" };
        notes.push(format!(
            "{} {runs} taken from the store; --fresh makes new ones",
            outcome.reused
        ));
    }
    let mut skipped = resolved.skipped.clone();
    skipped.extend(outcome.skipped.iter().cloned());
    Context {
        job: resolved.plan.job_name.clone(),
        clock: facts.clock,
        machine: machine(facts),
        notes,
        skipped,
    }
}

fn machine(facts: &TestboxFacts) -> String {
    let cpus = format!("{} CPU{}", facts.nr_cpu, if facts.nr_cpu == 1 { "" } else { "s" });
    let memory = format!("{} MiB", facts.memory >> 20);
    let host = host_cpu().unwrap_or_else(|| "this machine".to_owned());
    match facts.kind {
        TestboxKind::Vm => format!("QEMU VM with {cpus}, {memory}, on {host}"),
        TestboxKind::Local => format!("{host}, {cpus}, {memory}"),
    }
}

fn host_cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// Runs under a clock that load cannot disturb share the host's CPUs; others run alone.
fn lanes(facts: &TestboxFacts) -> usize {
    const MEMORY_SHARE: u64 = 2;
    if !facts.clock.is_load_proof() {
        return 1;
    }
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let room =
        available_memory().map_or(cpus as u64, |bytes| bytes / MEMORY_SHARE / facts.memory.max(1));
    cpus.min(room as usize).clamp(1, 16)
}

fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

/// A flag that the first SIGINT or SIGTERM sets; the second ends the process.
fn stop_on_signals() -> Result<Cancel, Trouble> {
    static CANCEL: OnceLock<Cancel> = OnceLock::new();
    if let Some(cancel) = CANCEL.get() {
        return Ok(cancel.clone());
    }
    let cancel = CANCEL.get_or_init(Cancel::new).clone();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, cancel.flag())
            .and_then(|_| signal_hook::flag::register(signal, cancel.flag()))
            .map_err(Trouble::infrastructure)?;
    }
    Ok(cancel)
}

fn campaign_trouble(error: CampaignError) -> Trouble {
    match error {
        CampaignError::Store(error) => place::store_trouble(error),
        CampaignError::Testbox(error) => place::testbox_trouble(error),
    }
}

/// Boots a kernel on a testbox and runs `true`. A failure comes with the folder of what is
/// known of it.
pub fn try_out(
    testbox: &dyn Testbox,
    kernels: &[KernelArtefacts],
    cmdline: Option<&str>,
    global: &Global,
    display: &Display,
) -> Result<Result<RunRecord, (Failure, PathBuf)>, Trouble> {
    let store = place::open_store(global)?;
    let cmdlines: Vec<String> = cmdline.into_iter().map(str::to_owned).collect();
    let columns = Columns::new(kernels.to_vec(), &cmdlines).map_err(Trouble::usage)?;
    let settings = Settings { runs: 1, fresh: true, parallel: Some(1) };
    let outcome = carry_out(&store, testbox, &trial_plan(), &columns, &settings, display)?;
    let runs = outcome.comparison.columns.into_iter().flat_map(|column| column.runs);
    let Some(run) = runs.into_iter().next() else {
        return Err(Trouble::infrastructure(TestboxError::Cancelled));
    };
    let folder = store.run_dir(&run.id);
    let record = std::fs::read(folder.join("run.json"))
        .ok()
        .and_then(|text| serde_json::from_slice::<RunRecord>(&text).ok());
    match record {
        Some(record) if record.state == RunState::Finished => Ok(Ok(record)),
        Some(RunRecord { failure: Some(failure), .. }) => Ok(Err((failure, folder))),
        _ => Err(Trouble::infrastructure(anyhow::anyhow!("{} has no run.json", folder.display()))),
    }
}

fn trial_plan() -> Plan {
    let argv = vec!["true".to_owned()];
    Plan {
        job_name: "testbox-check".to_owned(),
        axes: Axes::new([("testcase", "testbox-check")]),
        job_yaml: "testcase: testbox-check\n".to_owned(),
        setups: Vec::new(),
        monitors: Vec::new(),
        workloads: vec![Workload {
            program: "true".to_owned(),
            commands: vec![Command { argv, env: Default::default() }],
            files: Vec::new(),
        }],
        time_limit_s: 60,
        kernel_cmdline: None,
        needs: Needs { binaries: vec!["true".to_owned()], ..Needs::default() },
    }
}
