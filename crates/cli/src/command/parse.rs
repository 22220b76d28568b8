//! `patchmark parse`: one raw file of a program as metrics.

use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use patchmark_metrics::{ParseOptions, Parsed, Window};

use crate::args::Global;
use crate::exit::{Exit, Trouble};

/// Options of `patchmark parse`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  patchmark parse stress-ng result.txt
  patchmark parse proc-vmstat --samples < proc-vmstat")]
pub struct ParseArgs {
    /// The program that wrote the file
    pub program: String,
    /// The file, as written or compressed; standard input when it is left out or -
    pub file: Option<PathBuf>,
    /// Every sample, in order of appearance, instead of one number for each metric
    #[arg(long)]
    pub samples: bool,
    /// Exactly what lkp-tests makes of it, known faults included
    #[arg(long)]
    pub lkp_compatible: bool,
    /// Leave out samples before this many seconds from the first
    #[arg(long, value_name = "SECONDS")]
    pub stats_part_begin: Option<f64>,
    /// Leave out samples from this many seconds after the first on
    #[arg(long, value_name = "SECONDS")]
    pub stats_part_end: Option<f64>,
}

/// Runs the command.
pub fn run(args: &ParseArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let options = ParseOptions {
        lkp_compatible: args.lkp_compatible,
        window: Window { begin: args.stats_part_begin, end: args.stats_part_end },
        ..ParseOptions::default()
    };
    let bytes = read(args).map_err(Trouble::usage)?;
    let parsed =
        patchmark_metrics::parse(&args.program, &bytes, &options).map_err(Trouble::usage)?;
    let text = if args.samples {
        samples_json(&parsed).map_err(Trouble::infrastructure)?
    } else {
        let metrics = patchmark_metrics::reduce(&args.program, &parsed.samples, &options);
        serde_json::to_string_pretty(&metrics).map_err(Trouble::infrastructure)?
    };
    writeln!(out, "{text}").map_err(Trouble::infrastructure)?;
    if !global.quiet {
        for note in parsed.notes.kept() {
            anstream::eprintln!("patchmark: {}: line {}: {}", args.program, note.line, note.text);
        }
    }
    Ok(Exit::Fine)
}

/// Metric -> its values in order of appearance; messages are strings.
fn samples_json(parsed: &Parsed) -> serde_json::Result<String> {
    let mut map = serde_json::Map::new();
    for (name, series) in parsed.samples.iter() {
        map.insert(name.to_owned(), series.values().iter().map(|value| number(*value)).collect());
    }
    for (name, texts) in &parsed.strings {
        let list = map.entry(name.clone()).or_insert_with(|| serde_json::Value::Array(Vec::new()));
        if let serde_json::Value::Array(values) = list {
            values.extend(texts.iter().map(|text| text.as_str().into()));
        }
    }
    serde_json::to_string_pretty(&map)
}

/// Counters are written as whole numbers.
fn number(value: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { (value as i64).into() } else { value.into() }
}

fn read(args: &ParseArgs) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let stored = std::fs::read(path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            let (content, trouble) =
                patchmark_metrics::raw_content(&path.to_string_lossy(), stored);
            if let Some(trouble) = trouble {
                anstream::eprintln!("patchmark: {}: {trouble}", path.display());
            }
            bytes = content;
        }
        _ => {
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("standard input cannot be read")?;
        }
    }
    Ok(bytes)
}
