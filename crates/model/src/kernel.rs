//! Kernels: what they are called and what they are made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The identity of a kernel: what a person calls it and what it is by content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KernelId {
    /// As given on the command line: `deb:linux-image-6.1.0-57-cloud-amd64`, `running`.
    pub spec: String,
    /// The column's name in tables and the `commit` axis: `6.1.0-57-cloud-amd64`, a commit id.
    pub label: String,
    /// Hex digest over image and modules: equal digests are the same kernel.
    pub digest: String,
}

/// A kernel, ready to boot. Paths are on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArtefacts {
    /// Whose artefacts these are.
    pub id: KernelId,
    /// What `uname -r` will say; also the name of the modules folder.
    pub release: String,
    /// The bzImage; `None` for the running kernel, which need not be booted.
    pub image: Option<PathBuf>,
    /// The folder that holds `kernel/`, `modules.dep` and the like; `None` when the kernel has
    /// no modules.
    pub modules: Option<PathBuf>,
    /// `System.map`, when it is known.
    pub system_map: Option<PathBuf>,
    /// `.config`, when it is known.
    pub config: Option<PathBuf>,
    /// The `kconfig` axis: name or digest of the configuration.
    pub kconfig: String,
    /// The `compiler` axis: `gcc-12`.
    pub compiler: String,
}
