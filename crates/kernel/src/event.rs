//! What the fetching of a kernel tells while it is under way.

/// Something that happened on the way to a kernel's artefacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchEvent {
    /// Another process holds the cache; this one waits for it.
    Waiting,
    /// Package lists are being fetched.
    RefreshingLists,
    /// A package is being fetched.
    Downloading {
        /// The package.
        package: String,
        /// Its version.
        version: String,
        /// Bytes here so far, of all packages of this kernel.
        done: u64,
        /// Bytes of all packages of this kernel.
        total: u64,
    },
    /// A package is being unpacked.
    Unpacking {
        /// The package.
        package: String,
    },
    /// Image and modules are being hashed.
    Hashing,
    /// Something worth telling that is not an error: a suite that did not answer.
    Note(String),
    /// The artefacts are there.
    Ready {
        /// The kernel's release.
        release: String,
        /// Whether nothing had to be fetched.
        cached: bool,
    },
}
