//! Does a stock kernel really boot under KVM here? That `/dev/kvm` opens and makes a VM proves
//! nothing: nested and para-virtualised hosts offer it and then hang or fail to emulate. So a
//! kernel is booted, with an `/init` of a few instructions, under a time limit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::options::VmOptions;
use super::process::QemuProcess;
use super::qemu::{self, Channels};
use super::session::{Ending, Patience, Session};
use super::{Clock, Limits};
use crate::error::TestboxError as Error;
use crate::initramfs::{CpioWriter, tiny_init};
use crate::{Cancel, TestboxError};

/// A kernel under KVM needs one to three seconds, on a busy host.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The answer of [`probe_kvm`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvmProbe {
    /// A kernel reached user space under KVM.
    pub usable: bool,
    /// How that is known, in words.
    pub why: String,
}

/// Boots `image` (any bzImage) under KVM, for at most 20 s. The answer is kept in `cache` and
/// holds until this machine boots again or QEMU changes; then and when `/dev/kvm` cannot be
/// opened it costs nothing.
pub fn probe_kvm(
    qemu: &Path,
    image: &Path,
    cache: &Path,
    cancel: &Cancel,
) -> Result<KvmProbe, TestboxError> {
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/kvm") {
        return Ok(KvmProbe { usable: false, why: format!("/dev/kvm cannot be opened: {error}") });
    }
    if let Some(probe) = remembered_kvm(qemu, cache) {
        return Ok(probe);
    }
    let known = cache.join(format!("kvm-probe-{}.json", key(qemu)));
    let probe = boot(qemu, image, cache, cancel)?;
    let text = serde_json::to_vec(&probe).map_err(|error| Error::malformed(&known, error))?;
    fs_err::write(&known, text).map_err(|error| Error::write(&known, error))?;
    Ok(probe)
}

/// What an earlier [`probe_kvm`] found, if that still holds.
pub fn remembered_kvm(qemu: &Path, cache: &Path) -> Option<KvmProbe> {
    read(&cache.join(format!("kvm-probe-{}.json", key(qemu))))
}

fn boot(
    qemu: &Path,
    image: &Path,
    cache: &Path,
    cancel: &Cancel,
) -> Result<KvmProbe, TestboxError> {
    fs_err::create_dir_all(cache).map_err(|error| Error::write(cache, error))?;
    let scratch = tempfile::Builder::new()
        .prefix(".kvm-probe-")
        .tempdir_in(cache)
        .map_err(|error| Error::write(cache, error))?;
    let folder = std::path::absolute(scratch.path()).map_err(|error| Error::read(cache, error))?;
    let initrd = folder.join("initrd");
    write_initrd(&initrd).map_err(|error| Error::write(&initrd, error))?;
    let mut options = VmOptions::new(Clock::Kvm, cache);
    options.memory = 512 << 20;
    let channels = Channels::in_folder(&folder);
    let session = Session::open(&channels, &folder, &folder)?;
    let arguments = qemu::arguments(&options, image, &initrd, None, &channels);
    let limits = Limits { boot: TIME_LIMIT, silence: TIME_LIMIT, total: Some(TIME_LIMIT) };
    let patience = Patience::new(limits, Clock::Kvm, 0);
    let process = QemuProcess::start(qemu, &arguments, &[])?;
    let outcome = session.run(process, &patience, &mut |_| (), cancel)?;
    if outcome.lines.agent_began {
        let why = "a kernel reached user space under KVM".to_owned();
        return Ok(KvmProbe { usable: true, why });
    }
    // What QEMU says matters when it gave up; it warns of much that is harmless.
    let said = outcome.stderr.lines().find(|line| !line.contains("warning:"));
    let why = match (outcome.ending, said, outcome.lines.last) {
        (Ending::QemuEnded { .. }, Some(said), _) => format!("QEMU: {said}"),
        (_, _, Some(line)) => {
            format!("a kernel did not reach user space under KVM; it stopped at: {line}")
        }
        (_, _, None) => {
            format!("/dev/kvm opens, but a kernel printed nothing in {} s", TIME_LIMIT.as_secs())
        }
    };
    Ok(KvmProbe { usable: false, why: super::port::printable(&why, 300) })
}

fn write_initrd(path: &Path) -> std::io::Result<()> {
    let mut archive = CpioWriter::new(fs_err::File::create(path)?);
    archive.directory("dev", 0o755)?;
    archive.character_device("dev/console", 0o600, (5, 1))?;
    archive.file("init", 0o755, &tiny_init())?;
    archive.finish().map(drop)
}

fn read(path: &Path) -> Option<KvmProbe> {
    serde_json::from_slice(&fs_err::read(path).ok()?).ok()
}

/// This boot of this machine with this QEMU.
fn key(qemu: &Path) -> String {
    let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let path = find(qemu).unwrap_or_else(|| qemu.to_owned());
    let facts = fs_err::metadata(&path)
        .map(|facts| format!("{} {:?}", facts.len(), facts.modified().ok()))
        .unwrap_or_default();
    let text = format!("{}\n{}\n{facts}", boot.trim(), path.display());
    blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect()
}

fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}
