//! `patchmark job`: check job files, expand their matrix.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
};
use patchmark_catalog::Catalog;
use patchmark_job::{
    Diagnostic, DiskFiles, ExpandOptions, Expansion, JobError, JobFile, LkpSource, LoadOptions,
    Overrides, Severity, check,
};

use crate::args::Global;
use crate::exit::{Exit, Trouble};

/// What to do with job files.
#[derive(Debug, Subcommand)]
pub enum JobCommand {
    /// Say everything that is wrong with job files
    #[command(after_help = "Example:\n  patchmark job check jobs/*.yaml")]
    Check {
        /// Job files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// An lkp-tests source folder: its programs and include files are known as well
        #[arg(long, value_name = "DIR", env = "LKP_SRC", hide_env_values = true)]
        lkp_src: Option<PathBuf>,
    },
    /// Expand the matrix of a job file into one job for each of its points
    #[command(after_help = "\
Examples:
  patchmark job expand jobs/hackbench.yaml
  patchmark job expand jobs/hackbench.yaml --names
  patchmark job expand jobs/hackbench.yaml --output expanded --testbox lkp-icl-2sp8 --set iterations=4")]
    Expand(ExpandArgs),
}

/// Options of `patchmark job expand`.
#[derive(Debug, clap::Args)]
pub struct ExpandArgs {
    /// The job file
    file: PathBuf,
    /// Write each job into this folder, as NAME.yaml, instead of printing all
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print names only
    #[arg(long)]
    names: bool,
    /// The testbox that the jobs are for
    #[arg(long, value_name = "NAME")]
    testbox: Option<String>,
    /// The architecture of the testbox
    #[arg(long, value_name = "ARCH", default_value = "x86_64")]
    arch: String,
    /// The kernel configuration's name
    #[arg(long, value_name = "NAME")]
    kconfig: Option<String>,
    /// The kernel's commit
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Set a key of the job last; may be given more than once
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Read a saved job as if it were the file it came from
    #[arg(long)]
    compatible: bool,
    /// Load no include files
    #[arg(long)]
    no_defaults: bool,
    /// An lkp-tests source folder: its programs, hosts and include files are loaded
    #[arg(long, value_name = "DIR", env = "LKP_SRC", hide_env_values = true)]
    lkp_src: Option<PathBuf>,
}

/// Runs the command.
pub fn run(command: &JobCommand, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    match command {
        JobCommand::Check { files, lkp_src } => check_files(files, lkp_src.as_deref(), global, out),
        JobCommand::Expand(args) => expand(args, global, out),
    }
}

fn check_files(
    files: &[PathBuf],
    lkp_src: Option<&Path>,
    global: &Global,
    out: &mut dyn Write,
) -> Result<Exit, Trouble> {
    let lkp = open_lkp(lkp_src)?;
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Trouble::usage(anyhow::anyhow!("{}: {error}", file.display())))?;
        let options = LoadOptions { lkp: lkp.as_ref(), compatible: false };
        all.extend(check(file, &text, &DiskFiles, options, Catalog::builtin()));
    }
    let errors = all.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let text = if global.json {
        let values: Vec<_> = all.iter().map(json).collect();
        serde_json::to_string_pretty(&values).map_err(Trouble::infrastructure)? + "\n"
    } else if all.is_empty() {
        files.iter().map(|file| format!("{}: ok\n", file.display())).collect()
    } else {
        all.iter().map(render).collect()
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    Ok(if errors > 0 { Exit::Regression } else { Exit::Fine })
}

fn expand(args: &ExpandArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let lkp = open_lkp(args.lkp_src.as_deref())?;
    let overrides = Overrides::parse(&args.settings).map_err(trouble)?;
    let load = LoadOptions { lkp: lkp.as_ref(), compatible: args.compatible };
    let job = JobFile::load(&args.file, &DiskFiles, load).map_err(trouble)?;
    let options = ExpandOptions {
        testbox: args.testbox.as_deref(),
        arch: Some(&args.arch),
        kconfig: args.kconfig.as_deref(),
        commit: args.commit.as_deref(),
        overrides: Some(&overrides),
        lkp: lkp.as_ref().map(|lkp| (lkp, &DiskFiles as &dyn patchmark_job::Files)),
        no_defaults: args.no_defaults,
    };
    let expansion = job.expand(&options, Catalog::builtin()).map_err(trouble)?;
    if !global.quiet {
        for warning in &expansion.warnings {
            anstream::eprintln!("patchmark: {warning}");
        }
    }
    let text = match &args.output {
        Some(folder) => write_jobs(&expansion, folder, &args.file)?,
        None => print_jobs(&expansion, args.names, global.json)?,
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    Ok(Exit::Fine)
}

fn print_jobs(expansion: &Expansion, names: bool, as_json: bool) -> Result<String, Trouble> {
    if as_json {
        let jobs: Vec<_> = expansion
            .jobs
            .iter()
            .map(|job| serde_json::json!({ "name": job.name, "axes": job.axes(), "yaml": job.yaml() }))
            .collect();
        return Ok(serde_json::to_string_pretty(&jobs).map_err(Trouble::infrastructure)? + "\n");
    }
    if names {
        return Ok(expansion.order.iter().map(|name| format!("{name}.yaml\n")).collect());
    }
    Ok(expansion.jobs.iter().map(|job| job.yaml()).collect())
}

fn write_jobs(expansion: &Expansion, folder: &Path, file: &Path) -> Result<String, Trouble> {
    let failed = |path: &Path, error: std::io::Error| {
        Trouble::infrastructure(anyhow::anyhow!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for job in &expansion.jobs {
        let path = folder.join(format!("{}.yaml", job.name));
        std::fs::write(&path, job.yaml()).map_err(|error| failed(&path, error))?;
    }
    let lines = expansion.order.iter().map(|name| {
        format!("{} => {}\n", file.display(), folder.join(format!("{name}.yaml")).display())
    });
    Ok(lines.collect())
}

fn open_lkp(folder: Option<&Path>) -> Result<Option<LkpSource>, Trouble> {
    let open = |folder| LkpSource::open(folder, &DiskFiles, Catalog::builtin());
    folder.map(open).transpose().map_err(trouble)
}

/// An error of a job file, with its lines shown.
pub fn trouble(error: JobError) -> Trouble {
    let diagnostics = error.diagnostics();
    if diagnostics.is_empty() {
        return Trouble::usage(error);
    }
    let shown: Vec<String> = diagnostics.iter().map(render).collect();
    Trouble::usage(anyhow::anyhow!("the job file is wrong\n{}", shown.concat().trim_end()))
}

fn render(diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
    };
    let mut shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_severity(severity)
        .with_label(LabeledSpan::underline(diagnostic.span.clone()));
    if let Some(help) = &diagnostic.help {
        shown = shown.with_help(help.clone());
    }
    let source = NamedSource::new(&diagnostic.file, diagnostic.source.to_string());
    let report = Report::new(shown).with_source_code(source);
    let theme = GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        return format!("{diagnostic}\n");
    }
    text
}

fn json(diagnostic: &Diagnostic) -> serde_json::Value {
    serde_json::json!({
        "severity": if diagnostic.is_error() { "error" } else { "warning" },
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}
