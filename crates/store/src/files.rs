//! Files of a run directory that the store writes: `metrics.json.zst` and `stored.json`.

use std::io::{Read, Write};
use std::path::Path;

use patchmark_model::{Failure, KernelId, MetricName, Metrics, RunId, RunRecord, RunState};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::AtPath;
use crate::{RunKey, StoreError};

/// Every metric of the run, as JSON.
pub(crate) const METRICS: &str = "metrics.json.zst";
/// All that the database knows of the run.
pub(crate) const STORED: &str = "stored.json";
/// The run's record.
pub(crate) const RECORD: &str = "run.json";

/// Largest file that is read back, unpacked.
const MAX_BYTES: u64 = 256 << 20;
const ZSTD_LEVEL: i32 = 3;

/// `stored.json`: written before a run directory goes to its place, so that a directory there is
/// always whole, and the database can be made again from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) id: RunId,
    pub(crate) key: RunKey,
    pub(crate) kernel: KernelId,
    pub(crate) slot: u32,
    pub(crate) attempt: u32,
    pub(crate) state: RunState,
    pub(crate) failure: Option<Failure>,
    pub(crate) created: f64,
    pub(crate) started: Option<f64>,
    pub(crate) ended: f64,
    /// Names of the headline metrics; their values are in `metrics.json.zst`.
    pub(crate) kpis: Vec<MetricName>,
}

impl Stored {
    /// Reads the file of a run directory; `None` when it is absent, damaged or another run's.
    pub(crate) fn read(dir: &Path, id: &RunId) -> Option<Self> {
        let stored: Stored = read_json(&dir.join(STORED)).ok()?;
        let ended = matches!(stored.state, RunState::Finished | RunState::Failed);
        let fits = stored.id == *id
            && ended
            && (stored.state == RunState::Failed) == stored.failure.is_some();
        fits.then_some(stored)
    }

    /// The headline metrics with their values.
    pub(crate) fn kpi_values(&self, metrics: &Metrics) -> Metrics {
        let names = self.kpis.iter();
        names.filter_map(|name| Some((name.clone(), *metrics.get(name)?))).collect()
    }
}

/// Writes the metrics. What is not a finite number is absent: JSON has no word for it, and no
/// mean can use it.
pub(crate) fn write_metrics(path: &Path, metrics: &Metrics) -> Result<(), StoreError> {
    let finite: Metrics = metrics
        .iter()
        .filter(|(_, value)| value.is_finite())
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    let text = serde_json::to_vec(&finite).map_err(std::io::Error::from).at(path)?;
    let packed = zstd::encode_all(text.as_slice(), ZSTD_LEVEL).at(path)?;
    write_synced(path, &packed)
}

/// Reads the metrics of a run directory; a run without the file has none.
pub(crate) fn read_metrics(path: &Path) -> Result<Metrics, StoreError> {
    let file = match fs_err::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Metrics::new()),
        Err(error) => return Err(StoreError::io(path, error)),
    };
    let bad = |detail: String| StoreError::BadFile { path: path.to_owned(), detail };
    let unpacked = zstd::Decoder::new(file).map_err(|error| bad(error.to_string()))?;
    let mut text = Vec::new();
    unpacked.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(|error| bad(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(bad(format!("it unpacks to more than {} MiB", MAX_BYTES >> 20)));
    }
    serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))
}

/// Writes a value as readable JSON.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let text = serde_json::to_vec_pretty(value).map_err(std::io::Error::from).at(path)?;
    write_synced(path, &text)
}

/// Reads a value back.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let mut text = Vec::new();
    let file = fs_err::File::open(path).at(path)?;
    file.take(MAX_BYTES).read_to_end(&mut text).at(path)?;
    serde_json::from_slice(&text)
        .map_err(|error| StoreError::BadFile { path: path.to_owned(), detail: error.to_string() })
}

/// Writes the record that the host has completed.
pub(crate) fn write_record(dir: &Path, record: &RunRecord) -> Result<(), StoreError> {
    write_json(&dir.join(RECORD), record)
}

/// Whatever has the name already goes first: a guest may have sent a link that leads elsewhere.
fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    remove_all(path)?;
    let mut file = fs_err::OpenOptions::new().write(true).create_new(true).open(path).at(path)?;
    file.write_all(bytes).at(path)?;
    file.sync_all().at(path)
}

/// Brings a directory and all below it to the disk, so that a row that says "finished" never
/// outlives its files when the power fails.
pub(crate) fn sync_tree(dir: &Path) -> Result<(), StoreError> {
    for entry in fs_err::read_dir(dir).at(dir)? {
        let entry = entry.at(dir)?;
        let path = entry.path();
        let kind = entry.file_type().at(&path)?;
        if kind.is_dir() {
            sync_tree(&path)?;
        } else if kind.is_file() {
            fs_err::File::open(&path).at(&path)?.sync_all().at(&path)?;
        }
    }
    sync_dir(dir)
}

/// Brings a directory's list of names to the disk.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    fs_err::File::open(dir).at(dir)?.sync_all().at(dir)
}

/// Removes a file or folder; one that is gone already is fine: another process may clear the same
/// leftovers.
pub(crate) fn remove_all(path: &Path) -> Result<(), StoreError> {
    let is_dir = fs_err::symlink_metadata(path).is_ok_and(|data| data.is_dir());
    let removed = if is_dir { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.at(path),
    }
}

/// Moves a file or folder; `false` when there is none.
pub(crate) fn rename_if_there(from: &Path, to: &Path) -> Result<bool, StoreError> {
    match fs_err::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io(from, error)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn metrics_come_back_bit_for_bit_and_absent_stays_absent(
            metrics in proptest::collection::btree_map(".{1,12}", any::<f64>(), 0..20)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(METRICS);
            let metrics: Metrics =
                metrics.into_iter().map(|(name, value)| (MetricName(name), value)).collect();
            write_metrics(&path, &metrics).unwrap();
            let back = read_metrics(&path).unwrap();
            for (name, value) in &metrics {
                let expected = value.is_finite().then(|| value.to_bits());
                prop_assert_eq!(back.get(name).map(|v| v.to_bits()), expected);
            }
            prop_assert!(back.len() <= metrics.len());
        }
    }

    #[test]
    fn a_link_that_a_guest_has_sent_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, path) = (dir.path().join("outside"), dir.path().join(METRICS));
        fs_err::write(&outside, "precious").unwrap();
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        write_metrics(&path, &Metrics::new()).unwrap();
        assert_eq!(fs_err::read_to_string(&outside).unwrap(), "precious");
        fs_err::create_dir(dir.path().join(RECORD)).unwrap();
        write_json(&dir.path().join(RECORD), &1).unwrap();
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(METRICS);
        assert_eq!(read_metrics(&path).unwrap(), Metrics::new());
        fs_err::write(&path, b"junk").unwrap();
        assert!(read_metrics(&path).unwrap_err().to_string().contains(METRICS));
    }
}
