//! Real kernels in real VMs. Runs when QEMU is installed and `PATCHMARK_TEST_KERNEL` names a
//! bzImage (`.../boot/vmlinuz-RELEASE` or `.../lib/modules/RELEASE/vmlinuz`, as packages have
//! them, so that the modules are found). `PATCHMARK_TEST_CASES=panic,serial` runs some cases.
//!
//! This program is the guest's init as well: it has no harness, and its `main` looks first
//! where it is.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use patchmark_model::{
    Axes, Clock, Command, FailureReason, KernelArtefacts, KernelId, Needs, Plan, RunRecord,
    RunSpec, RunState, Workload,
};
use patchmark_testbox::{Cancel, LocalTestbox, Testbox, VmOptions, VmTestbox, probe_kvm};

fn main() -> ExitCode {
    if let Some(code) = patchmark_testbox::local_child() {
        return code;
    }
    if patchmark_agent::is_guest_init() {
        patchmark_agent::init_main();
    }
    let cases: [(&str, bool, fn()); 10] = [
        ("local", false, local),
        ("good", true, good),
        ("serial", true, serial),
        ("workload-failed", true, workload_failed),
        ("missing-program", true, missing_program),
        ("panic", true, panic),
        ("out-of-memory", true, out_of_memory),
        ("boot-failed", true, boot_failed),
        ("topology", true, topology),
        ("kvm-probe", true, kvm_probe),
    ];
    let wanted = std::env::var("PATCHMARK_TEST_CASES").unwrap_or_default();
    let mut failed = Vec::new();
    for (name, needs_kernel, case) in cases {
        if !wanted.is_empty() && !wanted.split(',').any(|word| word == name) {
            continue;
        }
        if needs_kernel && kernel_image().is_none() {
            println!("{name}: skipped: no QEMU, or PATCHMARK_TEST_KERNEL is not set");
            continue;
        }
        let began = Instant::now();
        let passed = catch_unwind(case).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        println!("{name}: {word} ({:.1} s)", began.elapsed().as_secs_f64());
        if !passed {
            failed.push(name);
        }
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn kernel_image() -> Option<PathBuf> {
    let qemu = std::process::Command::new("qemu-system-x86_64").arg("--version").output();
    qemu.ok()?;
    std::env::var_os("PATCHMARK_TEST_KERNEL").map(PathBuf::from)
}

fn kernel() -> KernelArtefacts {
    let image = kernel_image().unwrap();
    let folder = image.parent().unwrap();
    let modules = if folder.join("kernel").is_dir() {
        Some(folder.to_owned())
    } else {
        let release = image.file_name().unwrap().to_string_lossy().replace("vmlinuz-", "");
        Some(folder.join("../lib/modules").join(release)).filter(|folder| folder.is_dir())
    };
    KernelArtefacts {
        id: KernelId { spec: "image:test".into(), label: "test".into(), digest: "0".into() },
        release: String::new(),
        image: Some(image),
        modules,
        system_map: None,
        config: None,
        kconfig: String::new(),
        compiler: String::new(),
    }
}

fn spec(argv: &[&str]) -> RunSpec {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let binaries = vec![argv[0].clone(), "cat".into(), "tail".into(), "head".into()];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    RunSpec {
        id: "01REAL".parse().unwrap(),
        plan: Plan {
            job_name: "real".into(),
            axes: Axes::default(),
            job_yaml: "testcase: real\n".into(),
            setups: Vec::new(),
            monitors: Vec::new(),
            workloads: vec![Workload {
                program: "real".into(),
                commands: vec![Command { argv, env: BTreeMap::new() }],
                files: Vec::new(),
            }],
            time_limit_s: 60,
            kernel_cmdline: None,
            needs: Needs { binaries, packages: vec!["coreutils".into()], ..Needs::default() },
        },
        host_time: now.as_secs_f64(),
    }
}

/// A cache that all cases share, so that each thing is packed once.
fn options(clock: Clock) -> VmOptions {
    VmOptions::new(clock, std::env::temp_dir().join("patchmark-test-cache"))
}

struct Ran {
    record: RunRecord,
    folder: tempfile::TempDir,
}

impl Ran {
    fn on(testbox: &dyn Testbox, kernel: &KernelArtefacts, spec: &RunSpec) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let record = testbox.run(kernel, spec, folder.path(), &mut |_| (), &Cancel::new()).unwrap();
        Ran { record, folder }
    }

    fn text(&self, name: &str) -> String {
        let packed = std::fs::read(self.folder.path().join(name)).unwrap();
        String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap()
    }

    fn failure(&self) -> (FailureReason, &str) {
        assert_eq!(self.record.state, RunState::Failed);
        let failure = self.record.failure.as_ref().unwrap();
        (failure.reason, &failure.detail)
    }

    fn finished(&self) {
        let log = std::fs::read_to_string(self.folder.path().join("console.log"));
        assert_eq!(self.record.state, RunState::Finished, "{:?} {log:?}", self.record);
    }
}

fn vm(clock: Clock, argv: &[&str]) -> Ran {
    Ran::on(&VmTestbox::new(options(clock)).unwrap(), &kernel(), &spec(argv))
}

fn local() {
    let testbox = LocalTestbox::new().unwrap();
    let mut kernel = running_kernel();
    let ran = Ran::on(&testbox, &kernel, &spec(&["sh", "-c", "echo local $((6 * 7))"]));
    ran.finished();
    assert!(ran.text("real.zst").contains("local 42"));
    let ran = Ran::on(&testbox, &kernel, &spec(&["sh", "-c", "exit 3"]));
    assert_eq!(ran.failure().0, FailureReason::WorkloadFailed);
    kernel.release.push_str("-other");
    let folder = tempfile::tempdir().unwrap();
    let other = testbox.run(&kernel, &spec(&["true"]), folder.path(), &mut |_| (), &Cancel::new());
    assert!(other.is_err());
    kernel = running_kernel();
    // The child is killed from within: the caller lives and says so.
    let ran =
        Ran::on(&testbox, &kernel, &spec(&["sh", "-c", "kill -9 $(cut -d' ' -f4 /proc/$$/stat)"]));
    assert_eq!(ran.record.state, RunState::Failed);
}

fn running_kernel() -> KernelArtefacts {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    KernelArtefacts {
        id: KernelId { spec: "running".into(), label: "running".into(), digest: "0".into() },
        release: release.trim().to_owned(),
        image: None,
        modules: None,
        system_map: None,
        config: None,
        kconfig: String::new(),
        compiler: String::new(),
    }
}

fn good() {
    let ran = vm(Clock::Icount, &["sh", "-c", "echo hello from $(cat /proc/sys/kernel/osrelease)"]);
    ran.finished();
    assert!(ran.text("real.zst").contains("hello from "));
    let log = std::fs::read_to_string(ran.folder.path().join("console.log")).unwrap();
    assert!(log.contains("patchmark: init"), "{log}");
    for phase in ["pack", "boot", "setup", "run", "collect"] {
        assert!(ran.record.phase_seconds.contains_key(phase), "{:?}", ran.record);
    }
}

/// Without modules there is no virtio port on a distribution kernel.
fn serial() {
    let mut kernel = kernel();
    kernel.modules = None;
    let testbox = VmTestbox::new(options(Clock::Tcg)).unwrap();
    let ran = Ran::on(&testbox, &kernel, &spec(&["sh", "-c", "echo by serial line"]));
    ran.finished();
    assert!(ran.text("real.zst").contains("by serial line"));
}

fn workload_failed() {
    let ran = vm(Clock::Icount, &["sh", "-c", "echo so sorry; exit 3"]);
    let (reason, detail) = ran.failure();
    assert_eq!(reason, FailureReason::WorkloadFailed, "{detail}");
    assert!(ran.text("real.zst").contains("so sorry"));
}

fn missing_program() {
    let testbox = VmTestbox::new(options(Clock::Icount)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&["no-such-program"]);
    let error = testbox
        .run(&kernel(), &spec, folder.path(), &mut |_| (), &Cancel::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no-such-program") && error.contains("coreutils"), "{error}");
}

fn panic() {
    let ran = vm(Clock::Icount, &["sh", "-c", "echo c > /proc/sysrq-trigger"]);
    let (reason, detail) = ran.failure();
    assert_eq!(reason, FailureReason::KernelPanic, "{detail}");
    assert!(detail.contains("sysrq"), "{detail}");
}

fn out_of_memory() {
    let mut options = options(Clock::Tcg);
    options.memory = 192 << 20;
    let testbox = VmTestbox::new(options).unwrap();
    // tail(1) keeps a line without an end in memory.
    let hog = "head -c 2000000000 /dev/zero | tail -n 1";
    let ran = Ran::on(&testbox, &kernel(), &spec(&["sh", "-c", hog]));
    assert_eq!(ran.failure().0, FailureReason::WorkloadFailed);
    assert!(!ran.record.dmesg_findings.is_empty(), "{:?}", ran.record);
}

fn boot_failed() {
    let mut options = options(Clock::Icount);
    options.cmdline = "rdinit=/no/such/init root=none".to_owned();
    let testbox = VmTestbox::new(options.clone()).unwrap();
    let ran = Ran::on(&testbox, &kernel(), &spec(&["true"]));
    let (reason, detail) = ran.failure();
    assert_eq!(reason, FailureReason::KernelPanic, "{detail}");

    let mut kernel = kernel();
    kernel.image = Some(PathBuf::from("/bin/sh"));
    let ran = Ran::on(&testbox, &kernel, &spec(&["true"]));
    assert_eq!(ran.failure().0, FailureReason::BootFailed);

    options.cmdline = String::new();
    options.limits.boot = std::time::Duration::from_millis(200);
    let ran = Ran::on(&VmTestbox::new(options).unwrap(), &self::kernel(), &spec(&["true"]));
    assert_eq!(ran.failure().0, FailureReason::BootFailed);
}

fn topology() {
    let mut options = options(Clock::Tcg);
    (options.cpus, options.numa_nodes) = (2, 2);
    let testbox = VmTestbox::new(options).unwrap();
    let list = "cat /sys/devices/system/node/online /sys/devices/system/node/node1/cpulist";
    let ran = Ran::on(&testbox, &kernel(), &spec(&["sh", "-c", list]));
    ran.finished();
    let text = ran.text("real.zst");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"0-1") && lines.contains(&"1"), "{text}");
}

fn kvm_probe() {
    let cache = tempfile::tempdir().unwrap();
    let qemu = Path::new("qemu-system-x86_64");
    let image = kernel_image().unwrap();
    let began = Instant::now();
    let probe = probe_kvm(qemu, &image, cache.path(), &Cancel::new()).unwrap();
    assert!(began.elapsed().as_secs() < 30);
    println!("  {probe:?} in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    assert_eq!(probe_kvm(qemu, &image, cache.path(), &Cancel::new()).unwrap(), probe);
    assert!(began.elapsed().as_millis() < 500);
}
