//! What makes two runs the same measurement.

use patchmark_model::{Axes, Plan};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What a run measures: runs with equal keys are repetitions of one measurement and may stand in
/// one column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunKey {
    /// All axes but the kernel's: testcase, parameters, rootfs, kernel command line.
    pub axes: Axes,
    /// Digest of the kernel.
    pub kernel: String,
    /// The group of the testbox, clock included.
    pub tbox_group: String,
    /// Hash of the resolved job ([`job_hash`]): commands, setups, monitors.
    pub job: String,
}

impl RunKey {
    /// Hex digest of the key: axes in order of their names, every part behind its length.
    pub fn hash(&self) -> String {
        let axes: String = self
            .axes
            .0
            .iter()
            .map(|(key, value)| format!("{}:{key}{}:{value}", key.len(), value.len()))
            .collect();
        let mut hasher = blake3::Hasher::new();
        for part in ["patchmark run key 1", &axes, &self.kernel, &self.tbox_group, &self.job] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Hash of a plan: equal for plans that tell a testbox to do the same.
///
/// # Errors
/// Never for a [`Plan`] made of valid values; JSON refuses nothing that it can hold.
pub fn job_hash(plan: &Plan) -> Result<String, StoreError> {
    let text = serde_json::to_vec(plan)
        .map_err(|error| StoreError::Misuse(format!("the plan cannot be written: {error}")))?;
    Ok(blake3::hash(&text).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(pairs: &[(String, String)]) -> RunKey {
        RunKey {
            axes: Axes::new(pairs.iter().cloned()),
            kernel: "k".into(),
            tbox_group: "vm".into(),
            job: "j".into(),
        }
    }

    #[test]
    fn each_part_counts() {
        let base = key(&[("a".into(), "1".into())]);
        for other in [
            RunKey { kernel: "x".into(), ..base.clone() },
            RunKey { tbox_group: "x".into(), ..base.clone() },
            RunKey { job: "x".into(), ..base.clone() },
            RunKey { axes: Axes::new([("a", "2")]), ..base.clone() },
        ] {
            assert_ne!(other.hash(), base.hash());
        }
    }

    proptest! {
        #[test]
        fn equal_hashes_mean_equal_keys(a in proptest::collection::vec((".{0,3}", ".{0,3}"), 0..3), b in proptest::collection::vec((".{0,3}", ".{0,3}"), 0..3)) {
            let (a, b) = (key(&a), key(&b));
            prop_assert_eq!(a == b, a.hash() == b.hash());
        }
    }
}
