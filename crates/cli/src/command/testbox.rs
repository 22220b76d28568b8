//! `patchmark testbox`: which testboxes are there, and do they work?

use std::io::Write;

use clap::Subcommand;
use patchmark_model::{Clock, TestboxFacts};
use patchmark_testbox::{LocalTestbox, Testbox, VmOptions};

use crate::args::{Global, TestboxArgs, TestboxName};
use crate::exit::{Exit, Trouble};
use crate::place;
use crate::progress::Display;
use crate::request;

/// What to do with testboxes.
#[derive(Debug, Subcommand)]
pub enum TestboxCommand {
    /// List the testboxes of this machine and what their numbers mean
    List,
    /// Boot a kernel on a testbox, run nothing but `true`, and say how it went
    #[command(after_help = "\
Examples:
  patchmark testbox check deb:6.1-cloud
  patchmark testbox check deb:6.12-cloud --clock tcg --cpus 2 --numa-nodes 2")]
    Check {
        /// The kernel to boot; `running` for the local testbox
        kernel: String,
        /// Add to the kernel command line
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        cmdline: Option<String>,
        /// Where
        #[command(flatten)]
        testbox: TestboxArgs,
    },
}

/// Runs the command.
pub fn run(
    command: &TestboxCommand,
    global: &Global,
    out: &mut dyn Write,
) -> Result<Exit, Trouble> {
    match command {
        TestboxCommand::List => list(global, out),
        TestboxCommand::Check { kernel, cmdline, testbox } => {
            check(kernel, cmdline.as_deref(), testbox, global, out)
        }
    }
}

fn list(global: &Global, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let store = place::store_folder(global)?;
    let local = LocalTestbox::new().map_err(Trouble::infrastructure)?;
    let mut all: Vec<TestboxFacts> = vec![local.facts().clone()];
    for clock in [Clock::Kvm, Clock::Tcg, Clock::Icount] {
        let options = VmOptions::new(clock, store.join("cache"));
        let vm = patchmark_testbox::VmTestbox::new(options).map_err(Trouble::infrastructure)?;
        all.push(vm.facts().clone());
    }
    let text = if global.json {
        serde_json::to_string_pretty(&all).map_err(Trouble::infrastructure)? + "\n"
    } else {
        all.iter().map(|facts| format!("{:24} {}\n", facts.group, facts.clock.meaning())).collect()
    };
    out.write_all(text.as_bytes()).map_err(Trouble::infrastructure)?;
    Ok(Exit::Fine)
}

fn check(
    kernel: &str,
    cmdline: Option<&str>,
    args: &TestboxArgs,
    global: &Global,
    out: &mut dyn Write,
) -> Result<Exit, Trouble> {
    let display = Display::new(global.quiet);
    let kernels = place::kernels(&[kernel.to_owned()], global, &display)?;
    let testbox = place::testbox(args, &kernels, global, &display)?;
    let place = match args.testbox {
        TestboxName::Vm => "boots",
        TestboxName::Local => "runs",
    };
    let ran = request::try_out(testbox.as_ref(), &kernels, cmdline, global, &display)?;
    let group = &testbox.facts().group;
    let Some(kernel) = kernels.first() else { return Ok(Exit::Usage) };
    match ran {
        Ok(record) => {
            let boot = record.phase_seconds.get("boot").copied();
            let took = boot.map(|s| format!(", boot {s:.1} s")).unwrap_or_default();
            writeln!(out, "ok: {} {place} on {group}{took}", kernel.id.label)
                .map_err(Trouble::infrastructure)?;
            Ok(Exit::Fine)
        }
        Err((failure, folder)) => {
            writeln!(
                out,
                "failed: {} on {group}: {}: {}\n  console and files: {}",
                kernel.id.label,
                failure.reason,
                failure.detail,
                folder.display()
            )
            .map_err(Trouble::infrastructure)?;
            Ok(Exit::Workload)
        }
    }
}
