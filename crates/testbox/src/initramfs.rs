//! The user space of a guest: an initramfs packed from the host, without any program's help.

mod cpio;
mod elf;
mod layout;
mod modules;
mod pack;
mod tiny;
mod trim;

pub(crate) use cpio::CpioWriter;
pub(crate) use pack::{Packed, drop_oldest, pack, with_job};
pub(crate) use tiny::tiny_init;
