//! Why a kernel cannot be had, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate. Each message ends with what the reader can do.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The text names no kernel.
    #[error("`{spec}` names no kernel: {why}")]
    Spec {
        /// The text, escaped for printing.
        spec: String,
        /// What is wrong with it and what is possible.
        why: String,
    },
    /// No suite has the package.
    #[error("no package for `{wanted}` in {searched}{}", nearest_hint(.nearest))]
    UnknownPackage {
        /// What was asked for.
        wanted: String,
        /// The suites that were searched.
        searched: String,
        /// Names that are near to it, nearest first.
        nearest: Vec<String>,
    },
    /// The package exists, this version of it does not.
    #[error("{package} has no version {version}; there are: {}", .known.join(", "))]
    UnknownVersion {
        /// The package.
        package: String,
        /// The version asked for.
        version: String,
        /// The versions that can be had, newest first.
        known: Vec<String>,
    },
    /// Package lists could not be had and there are none from before.
    #[error(
        "no package lists could be fetched: {detail}\n  check the network, proxies and the \
         sources in /etc/apt; without a network use image:PATH or running"
    )]
    NoLists {
        /// What apt said.
        detail: String,
    },
    /// A package could not be fetched.
    #[error(
        "{package} {version} could not be fetched: {detail}\n  check the network and try again; \
         what is whole already is kept"
    )]
    Download {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// What apt said.
        detail: String,
    },
    /// A package could not be unpacked.
    #[error("{file} could not be unpacked: {detail}")]
    Unpack {
        /// The package file's name.
        file: String,
        /// What dpkg-deb said.
        detail: String,
    },
    /// The package holds no kernel that can be booted.
    #[error("{package} {version} holds no bootable x86-64 kernel: {why}")]
    NoKernel {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// What was missing.
        why: String,
    },
    /// A file is not a kernel image that can be booted.
    #[error("{path}: {why}")]
    Image {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong and what is expected.
        why: String,
    },
    /// A program that is needed is not on this machine.
    #[error("`{program}` is not on this machine; {}", where_from(.package))]
    ToolMissing {
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// A program ended with an error.
    #[error("`{command}` failed: {detail}")]
    Tool {
        /// The command line.
        command: String,
        /// The end of what it said.
        detail: String,
    },
    /// The disk is full.
    #[error(
        "the disk that holds {path} is full; make room (a kernel takes 120 to 500 MB) and try \
         again: nothing half done is left"
    )]
    DiskFull {
        /// Where it was written to.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl KernelError {
    /// An I/O error at a path; a full disk gets its own variant.
    pub(crate) fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref().to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                KernelError::DiskFull { path }
            }
            _ => KernelError::Io { path, source },
        }
    }
}

fn where_from(package: &str) -> String {
    match package {
        "apt" | "dpkg" => format!(
            "kernels from packages (deb:) need {package} of a Debian-like system; elsewhere use \
             image:PATH or running"
        ),
        other => format!("it comes with: apt-get install {other}"),
    }
}

fn nearest_hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    format!("; near to it: {}", nearest.join(", "))
}

/// Adds the path to an I/O error.
pub(crate) trait AtPath<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, KernelError>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T, KernelError> {
        self.map_err(|error| KernelError::io(path, error))
    }
}
