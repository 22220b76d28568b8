//! The agent as the init of a guest: the whole user space of a virtual machine that was booted
//! for one run.
//!
//! What the host and the guest agree on:
//! - `/patchmark/spec.json` in the initramfs is the run, `/patchmark/modules.list` names kernel
//!   modules, one path a line, in the order to load them;
//! - the channel is the virtio port `patchmark.0`, or the serial port that the kernel parameter
//!   `patchmark.port=ttyS1` names;
//! - frames of [`patchmark_model::wire`] go to the host: events as they happen, then the run
//!   directory as zstd-compressed tar in pieces, then its length. Then the guest powers off;
//! - `patchmark: init <seconds since boot>` on the console says that user space has begun.
//!
//! Init itself stays out of the run: it forks, the child executes, and init reaps orphans and
//! waits. However the child ends, a run directory with a `run.json` goes to the host. Every wait
//! has a limit, for a guest that hangs tells nothing.

mod channel;
mod console;
mod modules;
mod mounts;
mod shipment;
mod symbols;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use patchmark_model::wire::Frame;
use patchmark_model::{Event, Failure, FailureReason, Monitor, RunSpec};
use rustix::process::{Pid, Signal, kill_process};
use rustix::system::RebootCommand;

use crate::execute::{empty_record, execute, write_record};
use crate::process::signal_name;
use crate::sys::{self, Ended, Forked};
use crate::{Place, complaint};
use channel::Channel;

const SPEC: &str = "/patchmark/spec.json";
const MODULES: &str = "/patchmark/modules.list";
const RUN_DIR: &str = "/run/patchmark";

/// Longest time that setups, perf's report and collecting may take beside the workload.
const AROUND_THE_WORKLOAD: Duration = Duration::from_secs(900);

/// The channel, for the panic hook too.
static CHANNEL: Mutex<Option<Channel>> = Mutex::new(None);

/// Whether this process is the init of a guest that was made for a run.
pub fn is_guest_init() -> bool {
    std::process::id() == 1 && Path::new(SPEC).exists()
}

/// Does the run of this guest and powers it off. In a process that is not the first one it does
/// nothing but end.
pub fn init_main() -> ! {
    if std::process::id() != 1 {
        std::process::exit(2);
    }
    let notes = mounts::mount_all();
    console::attach();
    console::say(&format!("init {}", uptime()));
    std::panic::set_hook(Box::new(|panic| {
        tell(Event::Note(format!("the agent failed: {panic}")));
        console::say(&format!("the agent failed: {panic}"));
        // Its child goes on to report; init itself has nobody to report for it.
        if std::process::id() == 1 {
            power_off();
        }
    }));
    if let Err(why) = serve(notes) {
        console::say(&why);
        tell(Event::Note(why));
    }
    console::say(&format!("off {}", uptime()));
    power_off()
}

fn serve(mut notes: Vec<String>) -> Result<(), String> {
    notes.extend(modules::load(Path::new(MODULES)));
    let found = channel::find()?;
    *CHANNEL.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    for note in notes {
        tell(Event::Note(note));
    }
    let spec = read_spec()?;
    set_clock(spec.host_time);
    prepare_system(&spec);
    let wants_profile = |monitor: &Monitor| monitor.program == "perf-profile";
    if spec.plan.monitors.iter().any(wants_profile)
        && let Err(why) = symbols::thin_out()
    {
        tell(Event::Note(format!("the profile takes longer: {why}")));
    }
    let dir = Path::new(RUN_DIR);
    match sys::fork_single_threaded() {
        Ok(Forked::Child) => {
            protect_from_oom_killer();
            execute(&spec, dir, &Place::guest(), &mut tell);
            std::process::exit(0);
        }
        Ok(Forked::Parent(child)) => wait_for(child, &spec),
        Err(error) => record_failure(&spec, &format!("no process could be started: {error}")),
    }
    let mut channel = CHANNEL.lock().unwrap_or_else(PoisonError::into_inner);
    let channel = channel.as_mut().ok_or("the channel to the host is gone")?;
    shipment::send(dir, channel).map_err(|error| format!("the run directory was not sent: {error}"))
}

fn read_spec() -> Result<RunSpec, String> {
    let text = fs::read(SPEC).map_err(|error| format!("{SPEC}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{SPEC}: {error}"))
}

/// Sends an event to the host, if there is a channel by now.
fn tell(event: Event) {
    // The lock is held elsewhere only by a panic in the midst of sending.
    let Ok(mut channel) = CHANNEL.try_lock() else { return };
    if let Some(channel) = channel.as_mut() {
        // A host that does not listen any more ends the guest itself.
        let _ = channel.send(&Frame::Event(event));
    }
}

/// Waits for the child that executes, reaping every orphan meanwhile.
fn wait_for(child: i32, spec: &RunSpec) {
    let limit = match spec.plan.time_limit_s {
        0 => Duration::from_secs(5 * 3600),
        seconds => Duration::from_secs(u64::from(seconds)),
    };
    let end = Instant::now() + limit + AROUND_THE_WORKLOAD;
    let mut sleep = Duration::from_millis(20);
    let pid = Pid::from_raw(child);
    let pidfd = pid.and_then(|pid| {
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
    });
    loop {
        match reap(child) {
            Some(Ended::Exited(0)) if Path::new(RUN_DIR).join("run.json").exists() => return,
            Some(ended) => return record_failure(spec, &end_message(ended)),
            None => {}
        }
        if Instant::now() >= end {
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::KILL);
            }
            return record_failure(spec, "the agent took too long around the workload");
        }
        match &pidfd {
            // Orphans wait a little for being reaped, which costs them nothing.
            Some(pidfd) => {
                let _ = crate::process::wait_readable(pidfd, sleep);
                sleep = (sleep * 2).min(Duration::from_secs(5));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Reaps whoever has ended; tells how the child did if it was among them.
fn reap(child: i32) -> Option<Ended> {
    loop {
        // Orphans first and the child when nobody else is left would lose nothing either.
        match sys::wait4_any() {
            Ok(Some((pid, ended))) if pid == child => return Some(ended),
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(_) => return Some(Ended::Exited(-1)),
        }
    }
}

fn end_message(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("the agent ended with status {code} and left no record"),
        Ended::Signaled(signal) => format!("the agent was ended by {}", signal_name(signal)),
    }
}

/// A run whose agent has failed still has a record.
fn record_failure(spec: &RunSpec, why: &str) {
    tell(Event::Note(why.to_owned()));
    let mut record = empty_record(spec);
    let detail = complaint::printable(why);
    record.failure = Some(Failure { reason: FailureReason::Incomplete, detail });
    let written =
        fs::create_dir_all(RUN_DIR).and_then(|()| write_record(Path::new(RUN_DIR), &record));
    if let Err(error) = written {
        tell(Event::Note(format!("{RUN_DIR}/run.json: {error}")));
    }
}

/// What programs expect of a system: a host name, the loopback interface, a home.
fn prepare_system(spec: &RunSpec) {
    let name = spec.id.as_str().as_bytes();
    let results = [
        rustix::system::sethostname(name.get(..name.len().min(63)).unwrap_or(b"patchmark"))
            .map_err(|error| format!("host name: {error}")),
        sys::loopback_up().map_err(|error| format!("loopback interface: {error}")),
        fs::create_dir_all("/root").map_err(|error| format!("/root: {error}")),
    ];
    for note in results.into_iter().filter_map(Result::err) {
        tell(Event::Note(note));
    }
}

/// The agent is the last process that should go for want of memory.
fn protect_from_oom_killer() {
    if let Err(error) = fs::write("/proc/self/oom_score_adj", "-1000") {
        tell(Event::Note(format!("/proc/self/oom_score_adj: {error}")));
    }
}

/// Sets the clock of a guest that has none of its own from the host's.
fn set_clock(host_time: f64) {
    use rustix::time::{ClockId, Timespec, clock_settime};
    if !host_time.is_finite() || host_time < 1.0 {
        return;
    }
    let time = Timespec {
        tv_sec: host_time as i64,
        tv_nsec: ((host_time.fract() * 1e9) as i64).clamp(0, 999_999_999),
    };
    if let Err(error) = clock_settime(ClockId::Realtime, time) {
        tell(Event::Note(format!("the clock could not be set: {error}")));
    }
}

/// Seconds since boot, as text.
fn uptime() -> String {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    text.split_ascii_whitespace().next().unwrap_or("?").to_owned()
}

/// Ends the machine; by restarting it where it cannot be switched off, which QEMU's `-no-reboot`
/// turns into its end.
fn power_off() -> ! {
    within(Duration::from_secs(5), rustix::fs::sync);
    for command in [RebootCommand::PowerOff, RebootCommand::Restart, RebootCommand::Halt] {
        let _ = rustix::system::reboot(command);
    }
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Does something that may hang, and goes on without it when it does.
fn within(limit: Duration, act: impl FnOnce() + Send + 'static) {
    let (sender, done) = std::sync::mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        act();
        let _ = sender.send(());
    });
    if started.is_ok() {
        let _ = done.recv_timeout(limit);
    }
}
