//! `patchmark doctor`: what this machine can do, and the command that mends what it cannot.

use std::io::Write;

use clap::Args;
use patchmark_lab::doctor::{Check, Health, examine};

use crate::args::Global;
use crate::exit::{Exit, Trouble};
use crate::place;

/// Options of `patchmark doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  patchmark doctor\n  patchmark doctor --probe deb:6.1-cloud")]
pub struct DoctorArgs {
    /// Also boot this kernel under KVM, which is the only proof that KVM works (20 s at most)
    #[arg(long, value_name = "KERNEL")]
    pub probe: Option<String>,
}

/// Runs the command. Ends with 3 when something is broken.
pub fn run(args: &DoctorArgs, global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let store = place::store_folder(global)?;
    let kvm = match &args.probe {
        Some(kernel) => Some(place::probe(kernel, global)?),
        None => place::remembered_probe(global)?,
    };
    let checks = examine(&store, kvm);
    let text = if global.json {
        serde_json::to_string_pretty(&checks).map_err(Trouble::infrastructure)? + "\n"
    } else {
        checks.iter().map(render).collect()
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    let broken = checks.iter().any(|check| check.health == Health::Broken);
    Ok(if broken { Exit::Infrastructure } else { Exit::Fine })
}

fn render(check: &Check) -> String {
    let word = match check.health {
        Health::Ok => "ok",
        Health::Limited => "limited",
        Health::Broken => "broken",
    };
    let line = format!("{word:8} {:16} {}\n", check.name, check.seen);
    match &check.mend {
        Some(mend) => format!("{line}{:26}mend: {mend}\n", ""),
        None => line,
    }
}
