//! How runs end, with a shell script in QEMU's place: every failure has its reason, console log
//! and `run.json`, in a bounded time.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use patchmark_model::wire::{Frame, encode};
use patchmark_model::{
    Axes, Clock, Event, FailureReason, KernelArtefacts, KernelId, Needs, Phase, Plan, RunRecord,
    RunSpec, RunState,
};
use patchmark_testbox::{Cancel, Testbox as _, TestboxError, VmOptions, VmTestbox};

/// A script cannot be run while another test's fork still has it open for writing.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Bench {
    folder: tempfile::TempDir,
    options: VmOptions,
    events: Vec<Event>,
}

impl Bench {
    /// A testbox whose QEMU is `script`, run by /bin/sh with `$console`, `$port` and `$serial`
    /// set to the pipes and `$data` to a folder for frames.
    fn new(script: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let qemu = folder.path().join("qemu");
        let data = folder.path().display();
        let text = format!(
            "#!/bin/sh\ndata={data}\nfor word; do case $word in\n\
             file,id=console,path=*) console=${{word#*path=}};;\n\
             file,id=port,path=*) port=${{word#*path=}};;\n\
             file,id=serial,path=*) serial=${{word#*path=}};;\n\
             esac; done\n{script}\n"
        );
        std::fs::write(&qemu, text).unwrap();
        std::fs::set_permissions(&qemu, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut options = VmOptions::new(Clock::Tcg, folder.path().join("cache"));
        options.qemu = qemu;
        options.agent = PathBuf::from("/bin/sh");
        options.limits.boot = Duration::from_millis(700);
        options.limits.silence = Duration::from_millis(700);
        Bench { folder, options, events: Vec::new() }
    }

    /// Frames in a file that the script can send.
    fn frames(&self, name: &str, frames: &[Frame]) {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| encode(frame).unwrap()).collect();
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn run(&mut self) -> Result<RunRecord, TestboxError> {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let image = self.folder.path().join("image");
        std::fs::write(&image, b"no kernel").unwrap();
        let kernel = kernel(image);
        let testbox = VmTestbox::new(self.options.clone()).unwrap();
        let dir = self.dir();
        let began = Instant::now();
        let events = &mut self.events;
        let result =
            testbox.run(&kernel, &spec(), &dir, &mut |event| events.push(event), &Cancel::new());
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        if let Ok(record) = &result {
            let text = std::fs::read(dir.join("run.json")).unwrap();
            let written: RunRecord = serde_json::from_slice(&text).unwrap();
            assert_eq!((&written.id, &written.failure), (&record.id, &record.failure));
            assert!(["console.log", "console.log.zst"].iter().any(|log| dir.join(log).exists()));
            let left: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().collect();
            let hidden = |name: std::ffi::OsString| name.to_string_lossy().starts_with('.');
            assert!(!left.iter().any(|entry| hidden(entry.file_name())), "{left:?}");
        }
        result
    }

    fn failure(&mut self) -> (FailureReason, String) {
        let record = self.run().unwrap();
        assert_eq!(record.state, RunState::Failed);
        let failure = record.failure.unwrap();
        (failure.reason, failure.detail)
    }
}

fn kernel(image: impl Into<PathBuf>) -> KernelArtefacts {
    KernelArtefacts {
        id: KernelId { spec: "image:x".into(), label: "x".into(), digest: "0".into() },
        release: "6.1".into(),
        image: Some(image.into()),
        modules: None,
        system_map: None,
        config: None,
        kconfig: String::new(),
        compiler: String::new(),
    }
}

fn spec() -> RunSpec {
    RunSpec {
        id: "01FAKE".parse().unwrap(),
        plan: Plan {
            job_name: "fake".into(),
            axes: Axes::default(),
            job_yaml: String::new(),
            setups: Vec::new(),
            monitors: Vec::new(),
            workloads: Vec::new(),
            time_limit_s: 1,
            kernel_cmdline: None,
            needs: Needs::default(),
        },
        host_time: 1_700_000_000.0,
    }
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    zstd::encode_all(&tar.into_inner().unwrap()[..], 1).unwrap()
}

/// A run directory as a good agent sends it.
fn good_archive() -> Vec<u8> {
    let record = RunRecord {
        id: spec().id,
        state: RunState::Finished,
        failure: None,
        start_time: 1.0,
        end_time: 2.0,
        workloads: Vec::new(),
        taint: Some(0),
        dmesg_findings: Vec::new(),
        skipped: Vec::new(),
        agent_cpu_seconds: Some(0.01),
        phase_seconds: Default::default(),
    };
    let record = serde_json::to_vec(&record).unwrap();
    archive(&[("run.json", &record), ("fake.zst", b"raw"), ("console.log", b"not ours")])
}

const BEGIN: &str = "echo 'patchmark: init 1.00' > $console";

#[test]
fn a_good_run_comes_back_whole() {
    for way in ["port", "serial"] {
        let mut bench = Bench::new(&format!("{BEGIN}\ncat $data/frames > ${way}\nsleep 60"));
        let data = good_archive();
        let phases = [Phase::Setup, Phase::Run, Phase::Collect].map(Event::Phase).map(Frame::Event);
        let mut frames = phases.to_vec();
        frames.extend(data.chunks(100).map(|chunk| Frame::Data(chunk.to_vec())));
        frames.push(Frame::End(data.len() as u64));
        bench.frames("frames", &frames);
        let record = bench.run().unwrap();
        assert_eq!(record.state, RunState::Finished, "{record:?}");
        assert_eq!(std::fs::read(bench.dir().join("fake.zst")).unwrap(), b"raw");
        let log = std::fs::read_to_string(bench.dir().join("console.log")).unwrap();
        assert_eq!(log, "patchmark: init 1.00\n");
        for phase in ["pack", "boot", "setup", "run", "collect"] {
            assert!(record.phase_seconds.contains_key(phase), "{phase} {record:?}");
        }
        let told = [Phase::Pack, Phase::Boot, Phase::Setup, Phase::Run, Phase::Collect];
        assert_eq!(bench.events, told.map(Event::Phase));
    }
}

#[test]
fn a_silent_machine_has_not_booted() {
    let (reason, detail) = Bench::new("sleep 60").failure();
    assert_eq!(reason, FailureReason::BootFailed);
    assert!(
        detail.contains("not reached") && detail.contains("nothing on the console"),
        "{detail}"
    );
}

#[test]
fn an_early_end_of_qemu_is_a_failed_boot() {
    let (reason, detail) =
        Bench::new("printf 'Booting\\r\\n\\033[31mHalted' > $console; exit 0").failure();
    assert_eq!(reason, FailureReason::BootFailed);
    assert!(detail.contains("exit status: 0") && detail.ends_with("console: Halted"), "{detail}");
}

#[test]
fn a_panic_is_told_by_its_line() {
    let line = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009";
    for end in ["", "sleep 60"] {
        let script = format!("{BEGIN}\necho '[    2.1] {line}' > $console\n{end}");
        let mut bench = Bench::new(&script);
        bench.options.limits.silence = Duration::from_secs(60);
        bench.options.limits.boot = Duration::from_secs(60);
        assert_eq!(bench.failure(), (FailureReason::KernelPanic, line.to_owned()));
    }
}

#[test]
fn silence_is_a_timeout() {
    let (reason, detail) = Bench::new(&format!("{BEGIN}\nsleep 60")).failure();
    assert_eq!(reason, FailureReason::Timeout);
    assert!(detail.contains("phase setup"), "{detail}");
}

#[test]
fn a_chatterbox_meets_the_total_limit() {
    let mut bench = Bench::new(&format!("{BEGIN}\nwhile :; do echo chatter > $console; done"));
    bench.options.limits.total = Some(Duration::from_secs(2));
    let (reason, detail) = bench.failure();
    assert_eq!(reason, FailureReason::Timeout);
    assert!(detail.contains("not done after 2 s"), "{detail}");
}

#[test]
fn a_workload_may_be_silent_as_long_as_its_job_allows() {
    let mut bench =
        Bench::new(&format!("{BEGIN}\ncat $data/begin > $port\nsleep 1.2\ncat $data/end > $port"));
    let data = good_archive();
    bench.frames("begin", &[Frame::Event(Event::Phase(Phase::Run))]);
    bench.frames("end", &[Frame::Data(data.clone()), Frame::End(data.len() as u64)]);
    assert_eq!(bench.run().unwrap().state, RunState::Finished);
}

#[test]
fn damage_is_incomplete() {
    let data = good_archive();
    let length = data.len() as u64;
    let cases: [(&str, Vec<Frame>, &str); 6] = [
        ("an early end", vec![Frame::End(0), Frame::Data(data.clone())], "behind the end"),
        ("no end", vec![Frame::Data(data.clone())], "the end is missing"),
        ("a wrong length", vec![Frame::Data(data), Frame::End(length + 1)], "bytes came"),
        ("no archive", vec![Frame::End(0)], "run.json is missing"),
        ("garbage", vec![Frame::Data(vec![7; 99]), Frame::End(99)], "damaged archive"),
        ("nothing", vec![], "the end is missing"),
    ];
    for (name, frames, word) in cases {
        let mut bench = Bench::new(&format!("{BEGIN}\ncat $data/frames > $port"));
        bench.frames("frames", &frames);
        let (reason, detail) = bench.failure();
        assert_eq!(reason, FailureReason::Incomplete, "{name}: {detail}");
        assert!(detail.contains(word), "{name}: {detail}");
    }
}

#[test]
fn raw_noise_on_every_channel_is_survived() {
    let noise = "head -c 3000000 /dev/urandom";
    let mut bench =
        Bench::new(&format!("{noise} > $port & {noise} > $serial & {noise} > $console; wait"));
    bench.options.limits.boot = Duration::from_secs(10);
    let (reason, _) = bench.failure();
    assert!(matches!(reason, FailureReason::BootFailed | FailureReason::Incomplete));
}

#[test]
fn a_record_of_another_run_or_without_sense_is_not_believed() {
    for (record, word) in [
        (&br#"{"id":"../../etc"}"#[..], "cannot be read"),
        (br#"{"id":"other","state":"finished","failure":null,"start_time":0,"end_time":0,"workloads":[],"taint":null,"dmesg_findings":[],"skipped":[],"agent_cpu_seconds":null}"#, "of run other"),
        (br#"{"id":"01FAKE","state":"running","failure":null,"start_time":0,"end_time":0,"workloads":[],"taint":null,"dmesg_findings":[],"skipped":[],"agent_cpu_seconds":null}"#, "neither"),
    ] {
        let data = archive(&[("run.json", record)]);
        let mut bench = Bench::new(&format!("{BEGIN}\ncat $data/frames > $port"));
        bench.frames("frames", &[Frame::Data(data.clone()), Frame::End(data.len() as u64)]);
        let (reason, detail) = bench.failure();
        assert_eq!(reason, FailureReason::Incomplete);
        assert!(detail.contains(word), "{detail}");
    }
}

#[test]
fn a_host_that_cannot_run_qemu_is_no_failed_run() {
    let mut bench =
        Bench::new("echo 'qemu: cannot set up guest memory: Cannot allocate memory' >&2; exit 1");
    let error = bench.run().unwrap_err();
    assert!(matches!(&error, TestboxError::Qemu { .. }), "{error}");
    assert!(error.to_string().contains("Cannot allocate memory"), "{error}");

    let (reason, detail) =
        Bench::new("echo 'qemu: could not load kernel: bad bzImage' >&2; exit 1").failure();
    assert_eq!(reason, FailureReason::BootFailed);
    assert!(detail.contains("bad bzImage"), "{detail}");

    let mut bench = Bench::new("");
    bench.options.qemu = PathBuf::from("/no/such/qemu");
    let error = bench.run().unwrap_err().to_string();
    assert!(error.contains("apt-get install qemu-system-x86"), "{error}");
}

#[test]
fn a_request_to_stop_is_followed_at_once_and_qemu_ends() {
    let mut bench = Bench::new("echo $$ > $data/pid; exec sleep 60");
    bench.options.limits.boot = Duration::from_secs(60);
    let pid_file = bench.folder.path().join("pid");
    let cancel = Cancel::new();
    let setter = cancel.clone();
    let seen = pid_file.clone();
    let watcher = std::thread::spawn(move || {
        while !std::fs::read_to_string(&seen).is_ok_and(|text| text.ends_with('\n')) {
            std::thread::sleep(Duration::from_millis(10));
        }
        setter.cancel();
    });
    let testbox = VmTestbox::new(bench.options.clone()).unwrap();
    let kernel = kernel("/bin/sh");
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let error = testbox.run(&kernel, &spec(), &bench.dir(), &mut |_| (), &cancel).unwrap_err();
    watcher.join().unwrap();
    assert!(matches!(error, TestboxError::Cancelled));
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn a_full_disk_names_the_folder() {
    // /dev/full is the only full disk that every machine has; a small tmpfs needs root.
    let mount = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=6m", "none"])
        .arg(mount.path())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        println!("skipped: a small file system cannot be mounted");
        return;
    }
    let bench = Bench::new(&format!("{BEGIN}\ncat $data/frames > $port"));
    let big = vec![b'x'; 32 << 20];
    let data = archive(&[("run.json", &big)]);
    bench.frames("frames", &[Frame::Data(data.clone()), Frame::End(data.len() as u64)]);
    let dir = mount.path().join("run");
    let testbox = VmTestbox::new(bench.options.clone()).unwrap();
    let kernel = kernel("/bin/true");
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let result = testbox.run(&kernel, &spec(), &dir, &mut |_| (), &Cancel::new());
    drop(std::process::Command::new("umount").arg("-l").arg(mount.path()).status());
    let error = result.unwrap_err();
    assert!(matches!(&error, TestboxError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains(dir.to_str().unwrap()), "{error}");
}
