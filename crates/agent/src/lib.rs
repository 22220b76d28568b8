//! What happens on the testbox: setups, monitors, workload, environment, the run directory.
//!
//! [`execute`] does one run on the running kernel. In a virtual machine the same binary is the
//! guest's init: [`init_main`] mounts what a system needs, executes the run that lies in
//! `/patchmark/spec.json` and sends the run directory to the host.
//!
//! Small and static, without an async runtime: what the agent does while a workload runs is
//! part of what is measured, so that is one thread that sleeps in `poll` and one that samples.

mod cgroup;
mod complaint;
mod debugfs;
mod environment;
mod execute;
mod gnu_time;
mod guest;
mod kmsg;
mod perf;
mod place;
mod process;
mod rawfile;
mod sampler;
mod setup;
mod sys;
mod workload;

pub use execute::execute;
pub use guest::{init_main, is_guest_init};
pub use place::Place;
