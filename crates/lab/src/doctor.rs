//! What this machine can do, and the command that mends what it cannot.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Works.
    Ok,
    /// Works in part; what is missing is said.
    Limited,
    /// Does not work.
    Broken,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at: `qemu`.
    pub name: &'static str,
    /// How it ended.
    pub health: Health,
    /// What was seen.
    pub seen: String,
    /// The command or step that mends it; `None` when nothing needs mending or nothing can be done.
    pub mend: Option<String>,
}

impl Check {
    fn ok(name: &'static str, seen: impl Into<String>) -> Check {
        Check { name, health: Health::Ok, seen: seen.into(), mend: None }
    }

    fn limited(name: &'static str, seen: impl Into<String>, mend: Option<&str>) -> Check {
        Check { name, health: Health::Limited, seen: seen.into(), mend: mend.map(str::to_owned) }
    }

    fn broken(name: &'static str, seen: impl Into<String>, mend: &str) -> Check {
        Check { name, health: Health::Broken, seen: seen.into(), mend: Some(mend.to_owned()) }
    }
}

/// Runs every check. `kvm` is the answer of a KVM probe that really booted a kernel: `None`
/// when none was made.
pub fn examine(store: &Path, kvm: Option<Result<(), String>>) -> Vec<Check> {
    vec![
        check_qemu(),
        check_kvm(kvm),
        check_program("workloads", "stress-ng", "stress-ng", Health::Limited),
        check_program("hackbench", "hackbench", "rt-tests", Health::Limited),
        check_perf(),
        check_perf_events(),
        check_fetching(),
        check_store(store),
        check_memory(),
        check_static(),
    ]
}

fn check_qemu() -> Check {
    const NAME: &str = "qemu";
    const MEND: &str = "apt-get install --no-install-recommends qemu-system-x86";
    match first_line("qemu-system-x86_64", &["--version"]) {
        Some(version) => Check::ok(NAME, version),
        None => Check::broken(NAME, "qemu-system-x86_64 is not in PATH: no VM can be booted", MEND),
    }
}

fn check_kvm(probe: Option<Result<(), String>>) -> Check {
    const NAME: &str = "kvm";
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    match (device, probe) {
        (_, Some(Ok(()))) => Check::ok(NAME, "a kernel boots under KVM: VMs measure real time"),
        (_, Some(Err(why))) => Check::limited(
            NAME,
            format!("no kernel boots under KVM here ({why}): VMs use the icount clock"),
            None,
        ),
        (Ok(_), None) => Check::limited(
            NAME,
            "/dev/kvm opens, which proves nothing yet",
            Some("patchmark doctor --probe KERNEL"),
        ),
        (Err(error), None) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Check::limited(
                NAME,
                "/dev/kvm may not be opened",
                Some("adduser $USER kvm, then log in again"),
            )
        }
        (Err(error), None) => {
            Check::limited(NAME, format!("/dev/kvm: {error}: VMs use the icount clock"), None)
        }
    }
}

fn check_program(name: &'static str, program: &str, package: &str, missing: Health) -> Check {
    match find_in_path(program) {
        Some(path) => Check::ok(name, path.display().to_string()),
        None => Check {
            name,
            health: missing,
            seen: format!("{program} is not in PATH: jobs that run it cannot be packed"),
            mend: Some(format!("apt-get install --no-install-recommends {package}")),
        },
    }
}

fn check_perf() -> Check {
    const NAME: &str = "perf";
    const MEND: &str = "apt-get install --no-install-recommends linux-perf";
    match first_line("perf", &["--version"]) {
        Some(version) => Check::ok(NAME, version),
        None => {
            Check::limited(NAME, "perf does not run: no perf-stat, no perf-profile", Some(MEND))
        }
    }
}

/// See `Documentation/admin-guide/sysctl/kernel.rst`, perf_event_paranoid.
fn check_perf_events() -> Check {
    const NAME: &str = "perf events";
    let hardware = Path::new("/sys/bus/event_source/devices/cpu").exists();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level: Option<i32> = paranoid.ok().and_then(|text| text.trim().parse().ok());
    let root = rustix::process::geteuid().is_root();
    match (hardware, level) {
        (_, None) => Check::limited(NAME, "this kernel has no perf events", None),
        (_, Some(level)) if level > 0 && !root => Check::limited(
            NAME,
            format!(
                "perf_event_paranoid is {level}: the local testbox sees its own processes only"
            ),
            Some("sysctl kernel.perf_event_paranoid=0"),
        ),
        (false, Some(_)) => Check::limited(
            NAME,
            "no hardware counters here: the local testbox has software events only",
            None,
        ),
        (true, Some(_)) => Check::ok(NAME, "hardware counters"),
    }
}

fn check_fetching() -> Check {
    const NAME: &str = "kernel packages";
    let missing: Vec<&str> =
        ["apt-get", "dpkg-deb"].into_iter().filter(|tool| find_in_path(tool).is_none()).collect();
    if missing.is_empty() {
        Check::ok(NAME, "apt-get and dpkg-deb: deb:PACKAGE kernels can be fetched")
    } else {
        let seen = format!("{} missing: deb:PACKAGE kernels cannot be fetched", missing.join(", "));
        Check::limited(NAME, seen, Some("use image:PATH kernels"))
    }
}

fn check_store(store: &Path) -> Check {
    const NAME: &str = "disk";
    const WANTED: u64 = 2 << 30;
    let Some(existing) = store.ancestors().find(|folder| folder.exists()) else {
        return Check::broken(
            NAME,
            format!("{} has no folder above it", store.display()),
            "--store DIR",
        );
    };
    if !existing.is_dir() {
        let seen = format!("{} is no folder", existing.display());
        return Check::broken(NAME, seen, "--store DIR, or set PATCHMARK_STORE");
    }
    if rustix::fs::access(existing, rustix::fs::Access::WRITE_OK).is_err() {
        let seen = format!("{} may not be written", existing.display());
        return Check::broken(NAME, seen, "--store DIR, or set PATCHMARK_STORE");
    }
    match rustix::fs::statvfs(existing) {
        Ok(disk) => {
            let free = disk.f_bavail * disk.f_frsize;
            let seen = format!("{} MiB free for {}", free >> 20, store.display());
            if free < WANTED {
                let mend = "free some space, or --store DIR on another disk";
                Check::limited(NAME, format!("{seen}; a comparison needs up to 2 GiB"), Some(mend))
            } else {
                Check::ok(NAME, seen)
            }
        }
        Err(error) => Check::limited(NAME, format!("{}: {error}", existing.display()), None),
    }
}

fn check_memory() -> Check {
    const NAME: &str = "memory";
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    match available {
        Some(kib) if kib < 2 << 20 => Check::limited(
            NAME,
            format!("{} MiB available", kib >> 10),
            Some("--memory 512M --parallel 1"),
        ),
        Some(kib) => Check::ok(NAME, format!("{} MiB available", kib >> 10)),
        None => Check::limited(NAME, "/proc/meminfo says nothing", None),
    }
}

/// A dynamic binary works too (its libraries are packed), but makes the guest's image larger.
fn check_static() -> Check {
    const NAME: &str = "binary";
    if cfg!(target_feature = "crt-static") {
        Check::ok(NAME, "static: runs as /init of any guest")
    } else {
        let mend = "build in the project's folder without RUSTFLAGS set";
        Check::limited(NAME, "dynamic: its libraries are packed into each guest", Some(mend))
    }
}

/// The path of an executable, as a shell would find it.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| {
        rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
    })
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_with_a_way_out_names_it() {
        let checks = examine(Path::new("/proc/version/store"), None);
        let disk = checks.iter().find(|check| check.name == "disk").unwrap();
        assert_eq!(disk.health, Health::Broken, "{disk:?}");
        for check in checks.iter().filter(|check| check.health == Health::Broken) {
            assert!(check.mend.is_some(), "{check:?}");
        }
    }
}
