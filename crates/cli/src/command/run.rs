//! `patchmark run`: a job on one kernel.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use patchmark_lab::{Columns, Outcome};
use patchmark_store::Store;

use crate::args::{Global, JobOptions, TestboxName};
use crate::exit::{Exit, Trouble};
use crate::place;
use crate::progress::Display;
use crate::request::{self, Settings};

/// Options of `patchmark run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmark run jobs/stress-ng-sockfd.yaml --kernel deb:6.1-cloud
  patchmark run jobs/hackbench.yaml --testbox local --runs 5
  # boot another kernel, run the same again, then compare what the store has:
  patchmark compare 6.1.0-57-amd64 running --testbox local --job jobs/hackbench.yaml")]
pub struct RunArgs {
    /// The job file; every point of its matrix is run
    pub job: PathBuf,
    /// The kernel; the local testbox has the running one
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// Runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,
    /// Add to the kernel command line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub cmdline: Option<String>,
    /// How the job is run
    #[command(flatten)]
    pub options: JobOptions,
}

/// Runs the command. Ends with 4 when a run failed.
pub fn run(args: &RunArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let display = Display::new(global.quiet);
    let kernel = match (&args.kernel, args.options.testbox.testbox) {
        (Some(kernel), _) => kernel.clone(),
        (None, TestboxName::Local) => "running".to_owned(),
        (None, TestboxName::Vm) => {
            return Err(Trouble::usage(anyhow::anyhow!("which kernel shall the VM boot?"))
                .hint("name one: --kernel deb:6.1-cloud")
                .hint("or run on this machine's kernel: --testbox local"));
        }
    };
    let store = place::open_store(global)?;
    store.notes().iter().for_each(|note| display.note(note));
    let kernels = place::kernels(&[kernel], global, &display)?;
    let testbox = place::testbox(&args.options.testbox, &kernels, global, &display)?;
    let cmdlines: Vec<String> = args.cmdline.iter().cloned().collect();
    let columns = Columns::new(kernels, &cmdlines).map_err(Trouble::usage)?;
    let settings = Settings::new(args.runs, &args.options);
    let mut failed = false;
    let mut values = Vec::new();
    for resolved in request::plans(&args.job, &args.options.settings, testbox.facts())? {
        let outcome = request::carry_out(
            &store,
            testbox.as_ref(),
            &resolved.plan,
            &columns,
            &settings,
            &display,
        )?;
        failed |= outcome.comparison.columns.iter().any(|c| c.runs.iter().any(|run| !run.complete));
        let context = request::context(&resolved, testbox.facts(), &columns, &outcome);
        if global.json {
            values.push(serde_json::json!({
                "job": context.job,
                "axes": outcome.comparison.axes,
                "columns": outcome.comparison.columns,
                "skipped": context.skipped,
            }));
        } else {
            let text = tell(&store, &outcome, &context);
            out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
        }
    }
    if global.json {
        let json = serde_json::to_string_pretty(&values).map_err(Trouble::infrastructure)?;
        writeln!(out, "{json}").map_err(Trouble::infrastructure)?;
    }
    Ok(if failed { Exit::Workload } else { Exit::Fine })
}

/// The headline numbers of each run and where its files are.
fn tell(store: &Store, outcome: &Outcome, context: &patchmark_report::Context) -> String {
    let mut text = format!("{}\n{}\n", context.job, context.machine);
    text += &format!("numbers are {}\n", context.clock.meaning());
    for column in &outcome.comparison.columns {
        for run in &column.runs {
            text += &format!("\n{} on {}\n", run.id, column.value);
            if let Some(failure) = &run.failure {
                text += &format!("  failed: {failure}\n");
            }
            for name in outcome.kpis.keys() {
                if let Some(value) = run.metrics.get(name) {
                    text += &format!("  {value:>16.3} {name}\n");
                }
            }
            if let Some(seconds) = run.metrics.get("agent.cpu_seconds") {
                text += &format!("  {seconds:>16.3} agent.cpu_seconds (what the monitors cost)\n");
            }
            text += &format!(
                "  {} metrics; files: {}\n",
                run.metrics.len(),
                store.run_dir(&run.id).display()
            );
        }
    }
    for skipped in &context.skipped {
        text += &format!("left out: {}: {}\n", skipped.program, skipped.why);
    }
    for note in &context.notes {
        text += &format!("note: {note}\n");
    }
    text
}
