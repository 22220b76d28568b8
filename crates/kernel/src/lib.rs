//! Which kernel is that: packages, images, artefacts.
//!
//! A [`KernelSpec`] is what a person writes (`deb:6.1`, `image:bzImage`, `running`). A
//! [`KernelCache`] turns it into [`patchmark_model::KernelArtefacts`]: files on this machine that
//! a testbox can boot, and a digest that says whether two specs mean the same kernel.
//!
//! Packages come through apt with folders of our own, so the machine's package lists, cache and
//! settings stay as they are. What was fetched is kept by package and version; an entry appears
//! in one rename when it is whole.

mod apt;
mod bzimage;
mod cache;
mod config;
mod deb822;
mod digest;
mod error;
mod event;
mod exec;
mod image;
mod layout;
mod package;
mod pick;
mod running;
mod sources;
mod spec;
mod version;

#[cfg(test)]
mod tests;

pub use cache::{KernelCache, distinct_labels};
pub use error::KernelError;
pub use event::FetchEvent;
pub use sources::AptSources;
pub use spec::{DebSelector, KernelSpec};
pub use version::compare_versions;
