//! `patchmark results`: what the store holds.

use std::io::Write;

use clap::Subcommand;
use comfy_table::{Table, presets};
use patchmark_lab::now;
use patchmark_model::{Axes, RunId, RunState};
use patchmark_store::{Query, Store, StoredRun};

use crate::args::Global;
use crate::exit::{Exit, Trouble};
use crate::place;

/// What to do with results.
#[derive(Debug, Subcommand)]
pub enum ResultsCommand {
    /// List runs, newest first
    #[command(after_help = "\
Examples:
  patchmark results list
  patchmark results list --kernel 6.1.0-57-cloud-amd64 --where test=sockfd --failed")]
    List {
        /// Only runs of this kernel: its label, or the beginning of its digest
        #[arg(long, value_name = "LABEL")]
        kernel: Option<String>,
        /// Only runs with this value on an axis; may be given more than once
        #[arg(long = "where", value_name = "AXIS=VALUE", value_parser = parse_axis)]
        axes: Vec<(String, String)>,
        /// Only runs that failed
        #[arg(long)]
        failed: bool,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
    },
    /// Show one run: its axes, how it ended, where its files are, its metrics
    Show {
        /// The run's id, or the beginning of it
        run: String,
    },
    /// Remove runs and their files
    Rm {
        /// Ids, or beginnings of ids that are unambiguous
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

fn parse_axis(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not AXIS=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs the command.
pub fn run(
    command: &ResultsCommand,
    global: &Global,
    out: &mut dyn Write,
) -> Result<Exit, Trouble> {
    let text = match command {
        ResultsCommand::List { kernel, axes, failed, limit } => {
            let query = Query {
                kernel: kernel.clone(),
                axes: Axes::new(axes.iter().cloned()),
                states: if *failed { vec![RunState::Failed] } else { Vec::new() },
                limit: Some(*limit),
                ..Query::default()
            };
            list(&place::open_store_read_only(global)?, &query, global)?
        }
        ResultsCommand::Show { run } => show(&place::open_store_read_only(global)?, run, global)?,
        ResultsCommand::Rm { runs } => remove(&place::open_store(global)?, runs)?,
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    Ok(Exit::Fine)
}

fn list(store: &Store, query: &Query, global: &Global) -> Result<String, Trouble> {
    let runs = store.runs(query).map_err(place::store_trouble)?;
    if global.json {
        return json(&runs);
    }
    if runs.is_empty() {
        return Ok("no runs\n".to_owned());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["run", "state", "kernel", "testbox", "job", "headline"]);
    for run in &runs {
        table.add_row([
            run.id.to_string(),
            state(run),
            run.kernel.label.clone(),
            run.key.tbox_group.clone(),
            job(run),
            headline(run),
        ]);
    }
    Ok(table.lines().map(|line| line.trim_end().to_owned() + "\n").collect())
}

fn show(store: &Store, id: &str, global: &Global) -> Result<String, Trouble> {
    let run = store.run(id).map_err(place::store_trouble)?;
    let ended_well = run.state == RunState::Finished;
    let metrics = if ended_well {
        store.metrics(&run.id).map_err(place::store_trouble)?
    } else {
        Default::default()
    };
    let folder = store.run_dir(&run.id);
    if global.json {
        return json(&serde_json::json!({ "run": run, "folder": folder, "metrics": metrics }));
    }
    let mut text = format!("run        {}\nstate      {}\n", run.id, state(&run));
    if let Some(failure) = &run.failure {
        text += &format!("reason     {}: {}\n", failure.reason, failure.detail);
    }
    text += &format!("kernel     {} ({})\n", run.kernel.label, run.kernel.spec);
    text += &format!("testbox    {}\n", run.key.tbox_group);
    for (axis, value) in &run.key.axes.0 {
        text += &format!("{axis:10} {value}\n");
    }
    text += &format!("folder     {}\nmetrics    {}\n", folder.display(), metrics.len());
    for (name, value) in &metrics {
        text += &format!("  {value:>18} {name}\n");
    }
    Ok(text)
}

fn remove(store: &Store, names: &[String]) -> Result<String, Trouble> {
    let ids: Vec<RunId> = names
        .iter()
        .map(|name| store.run(name).map(|run| run.id))
        .collect::<Result<_, _>>()
        .map_err(place::store_trouble)?;
    store.remove(&ids, now()).map_err(place::store_trouble)?;
    Ok(ids.iter().map(|id| format!("removed {id}\n")).collect())
}

fn state(run: &StoredRun) -> String {
    match (&run.state, &run.failure) {
        (RunState::Queued, _) => "queued".to_owned(),
        (RunState::Running, _) => "running".to_owned(),
        (RunState::Finished, _) => "finished".to_owned(),
        (RunState::Failed, Some(failure)) => failure.reason.to_string(),
        (RunState::Failed, None) => "failed".to_owned(),
    }
}

fn job(run: &StoredRun) -> String {
    let hidden = ["rootfs", "testcase"];
    let parameters = run.key.axes.0.iter().filter(|(axis, _)| !hidden.contains(&axis.as_str()));
    let words = run.key.axes.get("testcase").into_iter().map(str::to_owned);
    let words: Vec<String> = words.chain(parameters.map(|(_, value)| value.clone())).collect();
    words.join(" ")
}

fn headline(run: &StoredRun) -> String {
    let first = run.kpis.iter().find(|(name, _)| name.as_str().ends_with("per_sec"));
    match first.or_else(|| run.kpis.iter().next()) {
        Some((name, value)) => format!("{name} = {value:.6}"),
        None => String::new(),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Trouble> {
    Ok(serde_json::to_string_pretty(value).map_err(Trouble::infrastructure)? + "\n")
}
