//! The command line, defined once: `--help`, man pages, completions and `docs/cli.md` are
//! made from these types.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::command::{
    compare::CompareArgs, docs::DocsCommand, doctor::DoctorArgs, job::JobCommand,
    kernel::KernelCommand, metrics::MetricsArgs, parse::ParseArgs, results::ResultsCommand,
    run::RunArgs, testbox::TestboxCommand,
};

const EXIT_CODES: &str = "\
Exit codes:
  0  done; the answer is on standard output
  1  the answer is \"a regression\" (only with --fail-on-regression), or a check found errors
  2  wrong use: an option, a job file or a kernel's name
  3  the infrastructure failed: no QEMU, no network, a full disk
  4  the kernel or the workload failed: it panicked, hung, or exited with an error
  130  interrupted by Ctrl-C; the same command goes on from there";

/// What did this kernel change do to performance?
///
/// Patchmark boots kernels on a testbox, runs a benchmark under monitors, and compares what it
/// measured. Results go to standard output; progress and notes go to standard error.
#[derive(Debug, Parser)]
#[command(name = "patchmark", version, after_help = EXIT_CODES, max_term_width = 100)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Folder of results, kernels and caches
    ///
    /// Default: $XDG_DATA_HOME/patchmark, or ~/.local/share/patchmark.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "PATCHMARK_STORE",
        hide_env_values = true
    )]
    pub store: Option<PathBuf>,
    /// Print values as JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare two or more kernels on one job
    Compare(CompareArgs),
    /// Run a job on one kernel
    Run(RunArgs),
    /// Check job files and expand their matrix
    #[command(subcommand)]
    Job(JobCommand),
    /// List, show and remove results
    #[command(subcommand)]
    Results(ResultsCommand),
    /// Turn one raw file of a program into metrics
    Parse(ParseArgs),
    /// Turn a whole run directory into metrics
    Metrics(MetricsArgs),
    /// Fetch and list kernels
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// List testboxes and check that they work
    #[command(subcommand)]
    Testbox(TestboxCommand),
    /// Say what this machine can do and how to mend what it cannot
    Doctor(DoctorArgs),
    /// Print completions, man pages and the command reference
    #[command(subcommand)]
    Docs(DocsCommand),
}

/// Where a job runs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Testbox")]
pub struct TestboxArgs {
    /// The testbox: `vm` boots each run in QEMU, `local` runs on the running kernel
    #[arg(long, value_name = "NAME", default_value = "vm")]
    pub testbox: TestboxName,
    /// What a VM's numbers mean: real time, emulated time, or guest instructions
    ///
    /// `auto` is kvm where a kernel really boots under it, else icount.
    #[arg(long, value_name = "CLOCK", default_value = "auto")]
    pub clock: ClockArg,
    /// CPUs of the VM [default: 1 for icount, else 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: Option<u32>,
    /// Memory of the VM: 512M, 2G [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// NUMA nodes of the VM; CPUs and memory are split evenly
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub numa_nodes: u32,
    /// Host CPUs that the VM's threads may use: 2-3,6
    #[arg(long, value_name = "LIST", value_parser = parse_cpu_list)]
    pub pin: Option<CpuList>,
    /// Seconds a kernel may take to reach user space
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    pub boot_timeout: u64,
    /// Seconds a whole run may take [default: what the job needs at most]
    #[arg(long, value_name = "SECONDS")]
    pub run_timeout: Option<u64>,
}

/// How a job is run, whatever is made of its results.
#[derive(Clone, Debug, Args)]
pub struct JobOptions {
    /// Set a key of the job; may be given more than once
    #[arg(long = "set", short = 's', value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Make new runs, even where the store has some
    #[arg(long)]
    pub fresh: bool,
    /// Runs under way at once [default: the host's CPUs for icount, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub parallel: Option<u16>,
    /// Where
    #[command(flatten)]
    pub testbox: TestboxArgs,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person: headline metrics with intervals, what moved, what was left out
    Summary,
    /// The table of the kernel test robot's mails
    Lkp,
    /// Every value
    Json,
}

/// The testboxes that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TestboxName {
    /// A QEMU virtual machine, booted for each run
    Vm,
    /// This machine and its running kernel
    Local,
}

/// `--clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// kvm where a kernel really boots under it, else icount
    Auto,
    /// Real time
    Kvm,
    /// Emulated time: 10-20% noise
    Tcg,
    /// Guest instructions: exact, one CPU
    Icount,
}

/// A list of host CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 512M or 2G");
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < 64 << 20 {
        return Err(format!("{text} is too little: a kernel needs 64M at least"));
    }
    Ok(bytes)
}

fn parse_cpu_list(text: &str) -> Result<CpuList, String> {
    let wrong = || format!("`{text}` is not a list of CPUs such as 2-3,6");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        let last: u32 = last.trim().parse().map_err(|_| wrong())?;
        if last < first || last > 4095 {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(CpuList(cpus))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_cpu_lists() {
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        for bad in ["", "G", "1X", "1K", "99999999999999999999G", "18446744073709551615G"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_cpu_list("2-3,6"), Ok(CpuList(vec![2, 3, 6])));
        for bad in ["", "3-2", "a", "1-999999"] {
            assert!(parse_cpu_list(bad).is_err(), "{bad}");
        }
    }
}
