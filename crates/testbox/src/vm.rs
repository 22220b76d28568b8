//! Virtual machines: QEMU, booted for each run.

mod console;
mod options;
mod port;
mod probe;
mod process;
mod qemu;
mod record;
mod session;
mod unpack;

use std::path::{Path, PathBuf};
use std::time::Instant;

use patchmark_model::{
    Clock, Event, Failure, FailureReason, KernelArtefacts, Phase, RunRecord, RunSpec, TestboxFacts,
};

pub use options::{Limits, VmOptions};
pub(crate) use port::printable;
pub use probe::{KvmProbe, probe_kvm, remembered_kvm};
pub(crate) use record::{of_agent as agent_record, of_failure, write as write_record};

use crate::error::TestboxError as Error;
use crate::initramfs::{self, Packed};
use crate::rootfs::host_rootfs;
use crate::{Cancel, Testbox, TestboxError, image};
use qemu::Channels;
use session::{Ending, Outcome, Patience, Session};
use unpack::{Bounds, UnpackError};

/// A testbox that boots each run's kernel in QEMU.
#[derive(Clone, Debug)]
pub struct VmTestbox {
    options: VmOptions,
    facts: TestboxFacts,
}

impl VmTestbox {
    /// A testbox with these options; options that do not go together are refused.
    pub fn new(options: VmOptions) -> Result<VmTestbox, TestboxError> {
        options.check()?;
        let facts = options.facts(format!("{}-packed", host_rootfs()));
        Ok(VmTestbox { options, facts })
    }

    /// How the machine is made.
    pub fn options(&self) -> &VmOptions {
        &self.options
    }

    fn pack(&self, kernel: &KernelArtefacts, spec: &RunSpec) -> Result<Packed, TestboxError> {
        let options = &self.options;
        let cache = options.cache.join("initramfs");
        let packed = initramfs::pack(kernel, &spec.plan.needs, &options.agent, &cache)?;
        // The archive and what is unpacked of it are in memory at the same time.
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let least = packed.length * 2 + (96 << 20);
        if least > options.memory {
            return Err(Error::MemoryTooSmall {
                memory_mib: mib(options.memory),
                initramfs_mib: mib(packed.length),
                least_mib: mib(least),
            });
        }
        Ok(packed)
    }

    /// The image that boots fastest: unpacked on the host where the guest is emulated, as
    /// decompression is slow there.
    fn image(&self, kernel: &KernelArtefacts) -> Result<PathBuf, TestboxError> {
        let image = kernel
            .image
            .as_ref()
            .ok_or_else(|| Error::NoImage { kernel: kernel.id.spec.clone() })?;
        match self.options.clock {
            Clock::Kvm | Clock::Real => Ok(image.clone()),
            Clock::Tcg | Clock::Icount => {
                image::unpacked(image, &self.options.cache.join("vmlinux"))
            }
        }
    }

    fn record(
        &self,
        outcome: &Outcome,
        spec: &RunSpec,
        dir: &Path,
    ) -> Result<RunRecord, TestboxError> {
        let refused_by_host = matches!(outcome.ending, Ending::QemuEnded { success: false, .. })
            && !outcome.heard
            && !is_about_kernel(&outcome.stderr);
        if let (true, Ending::QemuEnded { status, .. }) = (refused_by_host, &outcome.ending) {
            return Err(Error::Qemu { status: status.clone(), message: outcome.stderr.clone() });
        }
        let unpacked = if outcome.received == 0 {
            Ok(())
        } else {
            match unpack::unpack(&outcome.archive, dir, Bounds::default()) {
                Ok(()) => Ok(()),
                Err(UnpackError::Archive(why)) => Err(why),
                Err(UnpackError::Host(error)) => return Err(error),
            }
        };
        let failure = match record::failure(outcome, unpacked) {
            Some(failure) => failure,
            None => match agent_record(dir, spec) {
                Ok(record) => return Ok(record),
                Err(detail) => Failure { reason: FailureReason::Incomplete, detail },
            },
        };
        let seconds = outcome.phases.iter().map(|(_, seconds)| seconds).sum();
        Ok(of_failure(spec, failure, seconds))
    }
}

/// QEMU refuses a kernel that it cannot read; every other refusal is the host's trouble.
fn is_about_kernel(stderr: &str) -> bool {
    ["kernel", "bzImage", "ELF", "initrd"].iter().any(|word| stderr.contains(word))
        && !stderr.contains("Permission denied")
        && !stderr.contains("No such file")
}

impl Testbox for VmTestbox {
    fn facts(&self) -> &TestboxFacts {
        &self.facts
    }

    fn run(
        &self,
        kernel: &KernelArtefacts,
        spec: &RunSpec,
        dir: &Path,
        events: &mut dyn FnMut(Event),
        cancel: &Cancel,
    ) -> Result<RunRecord, TestboxError> {
        events(Event::Phase(Phase::Pack));
        let began = Instant::now();
        fs_err::create_dir_all(dir).map_err(|error| Error::write(dir, error))?;
        let image = self.image(kernel)?;
        let packed = self.pack(kernel, spec)?;
        // In the run directory, so that one file system holds everything a killed run leaves.
        let scratch = tempfile::Builder::new()
            .prefix(".vm-")
            .tempdir_in(dir)
            .map_err(|error| Error::write(dir, error))?;
        let scratch_path = absolute(scratch.path())?;
        let initrd = scratch_path.join("initrd");
        initramfs::with_job(&packed, spec, &initrd)?;
        let channels = Channels::in_folder(&scratch_path);
        let session = Session::open(&channels, dir, &scratch_path)?;
        let job_cmdline = spec.plan.kernel_cmdline.as_deref();
        let arguments = qemu::arguments(&self.options, &image, &initrd, job_cmdline, &channels);
        let pack_seconds = began.elapsed().as_secs_f64();
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }

        events(Event::Phase(Phase::Boot));
        let options = &self.options;
        let patience = Patience::new(options.limits, options.clock, spec.plan.time_limit_s);
        let qemu = process::QemuProcess::start(&options.qemu, &arguments, &options.pin)?;
        let outcome = session.run(qemu, &patience, events, cancel)?;

        let unpacking = Instant::now();
        let mut record = self.record(&outcome, spec, dir)?;
        let phases = &mut record.phase_seconds;
        phases.insert(Phase::Pack.to_string(), pack_seconds);
        for (phase, seconds) in &outcome.phases {
            *phases.entry(phase.to_string()).or_insert(0.0) += seconds;
        }
        *phases.entry(Phase::Collect.to_string()).or_insert(0.0) +=
            unpacking.elapsed().as_secs_f64();
        write_record(dir, &record)?;
        Ok(record)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, TestboxError> {
    std::path::absolute(path).map_err(|error| Error::read(path, error))
}
