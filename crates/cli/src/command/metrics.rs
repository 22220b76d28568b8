//! `patchmark metrics`: a whole run directory as metrics.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use patchmark_metrics::{ParseOptions, RunDirectory, run_metrics};

use crate::args::Global;
use crate::exit::{Exit, Trouble};

/// Options of `patchmark metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmark metrics ~/.local/share/patchmark/runs/01KB...
  patchmark metrics /result/stress-ng/.../0 --lkp-compatible --json")]
pub struct MetricsArgs {
    /// A run directory, ours or one of lkp-tests
    pub run_dir: PathBuf,
    /// Exactly what lkp-tests makes of it, known faults included
    #[arg(long)]
    pub lkp_compatible: bool,
}

/// Runs the command.
pub fn run(args: &MetricsArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let options = ParseOptions { lkp_compatible: args.lkp_compatible, ..ParseOptions::default() };
    let run = run_metrics(&RunDirectory::new(&args.run_dir), &options).map_err(Trouble::usage)?;
    let text = if global.json {
        serde_json::to_string_pretty(&run.metrics).map_err(Trouble::infrastructure)? + "\n"
    } else {
        run.metrics.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    if !global.quiet {
        for RunNoteText { file, line, text } in run.notes.iter().map(RunNoteText::of) {
            anstream::eprintln!("patchmark: {file}: line {line}: {text}");
        }
        if run.metrics.is_empty() {
            anstream::eprintln!(
                "patchmark: {} holds no file that a parser knows",
                args.run_dir.display()
            );
        }
    }
    Ok(Exit::Fine)
}

struct RunNoteText<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
}

impl<'a> RunNoteText<'a> {
    fn of(note: &'a patchmark_metrics::RunNote) -> Self {
        RunNoteText { file: &note.file, line: note.note.line, text: &note.note.text }
    }
}
