//! Where does it run: virtual machines and this machine.
//!
//! A [`Testbox`] runs a job on a kernel and brings the run directory back. [`VmTestbox`] boots
//! the kernel in QEMU with an initramfs packed from the host, [`LocalTestbox`] takes the running
//! one. What comes out of a guest is hostile, so it is bounded in size and time and unpacked only
//! below its own folder.

mod cancel;
mod error;
#[cfg(test)]
mod fixture;
mod image;
mod initramfs;
mod local;
mod rootfs;
mod testbox;
mod vm;

pub use cancel::Cancel;
pub use error::TestboxError;
pub use local::{LocalTestbox, local_child};
pub use testbox::Testbox;
pub use vm::{KvmProbe, Limits, VmOptions, VmTestbox, probe_kvm, remembered_kvm};
