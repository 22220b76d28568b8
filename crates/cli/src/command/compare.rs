//! `patchmark compare`: two or more kernels on one job.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use patchmark_lab::{Columns, Outcome};
use patchmark_model::Call;
use patchmark_report::render::{self, SummaryOptions};
use patchmark_report::{Report, TableOptions};
use patchmark_verdict::Policy;

use crate::args::{Format, Global, JobOptions};
use crate::exit::{Exit, Trouble};
use crate::place;
use crate::progress::Display;
use crate::request::{self, Settings};

/// Options of `patchmark compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmark compare deb:6.1-cloud deb:6.12-cloud --job jobs/stress-ng-sockfd.yaml
  patchmark compare image:a/bzImage image:b/bzImage --job jobs/hackbench.yaml --runs 8 --format lkp
  patchmark compare deb:6.1-cloud --cmdline init_on_alloc=1 --cmdline init_on_alloc=0 \\
      --job jobs/stress-ng-sockfd.yaml")]
pub struct CompareArgs {
    /// Kernels: deb:SERIES, deb:PACKAGE[=VERSION], image:PATH, running, or the label of a kernel
    /// that the store has results of. The first is the base
    #[arg(required = true, num_args = 1..=8, value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// The job file; each point of its matrix is one comparison
    #[arg(long, value_name = "FILE")]
    pub job: PathBuf,
    /// Runs of each kernel; each is its own boot
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,
    /// Add to the kernel command line; given more than once with one kernel, the command lines are
    /// compared
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub cmdline: Vec<String>,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", default_value = "summary")]
    pub format: Format,
    /// Show every metric in the table, changed or not
    #[arg(long)]
    pub all: bool,
    /// The smallest change that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = parse_percent)]
    pub smallest: f64,
    /// End with 1 when a headline metric got worse
    #[arg(long)]
    pub fail_on_regression: bool,
    /// How the job is run
    #[command(flatten)]
    pub options: JobOptions,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("`{text}` is not a percentage from 0 to 100")),
    }
}

/// Runs the command.
pub fn run(args: &CompareArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let display = Display::new(global.quiet);
    if args.kernels.len() < 2 && args.cmdline.len() < 2 {
        return Err(Trouble::usage(anyhow::anyhow!("one kernel alone is no comparison"))
            .hint("give two kernels, or one kernel and two --cmdline")
            .hint("to run a job on one kernel: patchmark run JOB --kernel KERNEL"));
    }
    let store = place::open_store(global)?;
    store.notes().iter().for_each(|note| display.note(note));
    let kernels = place::kernels(&args.kernels, global, &display)?;
    let testbox = place::testbox(&args.options.testbox, &kernels, global, &display)?;
    let columns = Columns::new(kernels, &args.cmdline).map_err(Trouble::usage)?;
    let settings = Settings::new(args.runs, &args.options);
    let policy = Policy { smallest_percent: args.smallest, ..Policy::default() };
    let options = TableOptions { all: args.all, ..TableOptions::default() };

    let mut reports = Vec::new();
    let mut failed = false;
    for resolved in request::plans(&args.job, &args.options.settings, testbox.facts())? {
        let outcome = request::carry_out(
            &store,
            testbox.as_ref(),
            &resolved.plan,
            &columns,
            &settings,
            &display,
        )?;
        failed |= has_empty_column(&outcome);
        let context = request::context(&resolved, testbox.facts(), &columns, &outcome);
        let report = Report::build(&outcome.comparison, &outcome.kpis, &context, &policy, &options);
        if !global.json && args.format != Format::Json {
            out.write_all(text(&report, args.format).as_bytes())
                .map_err(Trouble::infrastructure)?;
            out.flush().map_err(Trouble::infrastructure)?;
        }
        reports.push(report);
    }
    if global.json || args.format == Format::Json {
        let json = serde_json::to_string_pretty(&reports).map_err(Trouble::infrastructure)?;
        writeln!(out, "{json}").map_err(Trouble::infrastructure)?;
    }
    Ok(match () {
        () if failed => Exit::Workload,
        () if args.fail_on_regression && reports.iter().any(has_regression) => Exit::Regression,
        () => Exit::Fine,
    })
}

fn text(report: &Report, format: Format) -> String {
    match format {
        Format::Lkp => render::lkp(report),
        _ => render::summary(report, &SummaryOptions::default()),
    }
}

/// Whether a column has no run that ended well, so that nothing can be said of it.
fn has_empty_column(outcome: &Outcome) -> bool {
    outcome.comparison.columns.iter().any(|column| column.complete_runs() == 0)
}

fn has_regression(report: &Report) -> bool {
    report
        .metrics
        .iter()
        .filter(|metric| metric.kpi.is_some())
        .any(|metric| metric.verdicts.iter().any(|verdict| verdict.call == Call::Worse))
}
