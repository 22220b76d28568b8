//! Axes: everything that identifies a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The axes of a run or of a comparison: `compiler`, `kconfig`, `rootfs`, `tbox_group`,
/// `testcase`, every parameter of the job, and `commit`. Sorted by key, as the table prints
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Axes(pub BTreeMap<String, String>);

impl Axes {
    /// Axes from key and value pairs; a later value of the same key wins.
    pub fn new<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Axes(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    /// The value of an axis, if the axis exists.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Sets an axis.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.0.insert(key.into(), value.into());
    }

    /// The same axes without one key: what two columns of a comparison share.
    pub fn without(&self, key: &str) -> Axes {
        let mut rest = self.clone();
        rest.0.remove(key);
        rest
    }
}

impl fmt::Display for Axes {
    /// `key=value` pairs joined by `/`, sorted by key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.0.iter().enumerate() {
            let slash = if i == 0 { "" } else { "/" };
            write!(f, "{slash}{key}={value}")?;
        }
        Ok(())
    }
}
