//! `patchmark`: parses arguments, calls the crates, prints. As process 1 of a guest, and
//! as a child of the local testbox, it is the agent.

// In a program nothing is reachable from outside; `pub` marks what other files use.
#![allow(unreachable_pub)]

mod args;
mod command;
mod exit;
mod place;
mod progress;
mod request;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Trouble};

fn main() -> ExitCode {
    if patchmark_agent::is_guest_init() {
        patchmark_agent::init_main();
    }
    if let Some(code) = patchmark_testbox::local_child() {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Fine };
            // A closed pipe is no reason to complain.
            let _ = error.print();
            return code.into();
        }
    };
    let mut out = std::io::stdout().lock();
    let done = run(&cli, &mut out).and_then(|exit| {
        out.flush().map_err(Trouble::infrastructure)?;
        Ok(exit)
    });
    match done {
        Ok(exit) => exit.into(),
        Err(trouble) if is_closed_pipe(&trouble) => Exit::Fine.into(),
        Err(trouble) => {
            anstream::eprintln!("patchmark: error: {:#}", trouble.error);
            for hint in &trouble.hints {
                anstream::eprintln!("  {hint}");
            }
            trouble.exit.into()
        }
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<Exit, Trouble> {
    let global = &cli.global;
    match &cli.command {
        Command::Compare(args) => command::compare::run(args, global, out),
        Command::Run(args) => command::run::run(args, global, out),
        Command::Job(job) => command::job::run(job, global, out),
        Command::Results(results) => command::results::run(results, global, out),
        Command::Parse(args) => command::parse::run(args, global, out),
        Command::Metrics(args) => command::metrics::run(args, global, out),
        Command::Kernel(kernel) => command::kernel::run(kernel, global, out),
        Command::Testbox(testbox) => command::testbox::run(testbox, global, out),
        Command::Doctor(args) => command::doctor::run(args, global, out),
        Command::Docs(docs) => command::docs::run(docs, out),
    }
}

fn is_closed_pipe(trouble: &Trouble) -> bool {
    let is_pipe = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    trouble.error.chain().any(|cause| cause.downcast_ref().is_some_and(is_pipe))
}
