//! What can go wrong that is not the guest's fault.

use std::io;
use std::path::{Path, PathBuf};

/// The infrastructure's fault: the run says nothing about the kernel or the workload.
#[derive(Debug, thiserror::Error)]
pub enum TestboxError {
    /// QEMU is not there.
    #[error("{path} cannot be started ({source}); install it: apt-get install qemu-system-x86")]
    QemuMissing {
        /// The program as configured.
        path: PathBuf,
        /// Why it does not start.
        source: io::Error,
    },
    /// QEMU ended before the guest began, and it was not for the kernel's sake.
    #[error("QEMU ended with {status} before the guest began: {message}")]
    Qemu {
        /// `exit status: 1`.
        status: String,
        /// What QEMU printed on standard error, shortened.
        message: String,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Options(String),
    /// The kernel cannot be booted in a VM: it has no image.
    #[error(
        "{kernel} has no image to boot; use --testbox local for the running kernel, or name a \
         kernel package or image"
    )]
    NoImage {
        /// The kernel as the user named it.
        kernel: String,
    },
    /// The local testbox has the kernel that runs, and no other.
    #[error(
        "this machine runs {running}, not {kernel}; boot {kernel} and run the job there (patchmark \
         run JOB --testbox local): its runs are then found in the store"
    )]
    NotRunning {
        /// The release that was asked for.
        kernel: String,
        /// The release that runs.
        running: String,
    },
    /// A program that the job needs is not on the host.
    #[error("the job needs `{binary}`, which is not on this machine{}", install_hint(.packages))]
    MissingBinary {
        /// Name or path as the job asks for it.
        binary: String,
        /// Debian packages that bring the job's programs.
        packages: Vec<String>,
    },
    /// A file or folder that the job needs is not on the host.
    #[error("the job needs {path}, which is not on this machine{}", install_hint(.packages))]
    MissingFile {
        /// The path as the job asks for it.
        path: PathBuf,
        /// Debian packages that bring the job's programs.
        packages: Vec<String>,
    },
    /// A shared library of a program is not on the host.
    #[error("{needed_by} needs the library {library}, which none of {searched} has")]
    MissingLibrary {
        /// `DT_NEEDED` as written.
        library: String,
        /// The file that names it.
        needed_by: PathBuf,
        /// The folders looked in, joined by `:`.
        searched: String,
    },
    /// An ELF file or kernel module that cannot be read.
    #[error("{path}: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The guest's memory cannot hold what is packed for it.
    #[error(
        "{memory_mib} MiB of guest memory are too few for an initramfs of {initramfs_mib} MiB; \
         give the VM at least {least_mib} MiB"
    )]
    MemoryTooSmall {
        /// As configured.
        memory_mib: u64,
        /// Unpacked.
        initramfs_mib: u64,
        /// What would do.
        least_mib: u64,
    },
    /// A folder has no space left.
    #[error("no space left on the disk that holds {folder}; free some space and go on")]
    DiskFull {
        /// The folder that was being written.
        folder: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{what} {path}: {source}")]
    Io {
        /// What was tried: `cannot read`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A system call on no particular file.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped on request")]
    Cancelled,
}

fn install_hint(packages: &[String]) -> String {
    if packages.is_empty() {
        return "; install it and try again".to_owned();
    }
    format!("; install it: apt-get install {}", packages.join(" "))
}

impl TestboxError {
    /// A file could not be written; a full disk gets its own error, which names the folder.
    pub(crate) fn write(path: &Path, source: io::Error) -> TestboxError {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if full.contains(&source.kind()) {
            let folder = if path.is_dir() { Some(path) } else { path.parent() };
            return TestboxError::DiskFull { folder: folder.unwrap_or(path).to_owned() };
        }
        TestboxError::Io { what: "cannot write", path: path.to_owned(), source }
    }

    /// A file could not be read.
    pub(crate) fn read(path: &Path, source: io::Error) -> TestboxError {
        TestboxError::Io { what: "cannot read", path: path.to_owned(), source }
    }

    /// A file is not what it should be.
    pub(crate) fn malformed(path: &Path, why: impl ToString) -> TestboxError {
        TestboxError::Malformed { path: path.to_owned(), why: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_names_the_folder() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = TestboxError::write(Path::new("/runs/42/console.log"), full);
        assert_eq!(
            error.to_string(),
            "no space left on the disk that holds /runs/42; free some space and go on"
        );
    }

    #[test]
    fn a_missing_binary_names_its_package() {
        let packages = vec!["stress-ng".to_owned()];
        let error = TestboxError::MissingBinary { binary: "stress-ng".to_owned(), packages };
        assert_eq!(
            error.to_string(),
            "the job needs `stress-ng`, which is not on this machine; install it: apt-get \
             install stress-ng"
        );
    }
}
