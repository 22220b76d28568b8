//! What runs refer to: kernels, jobs, testboxes.

use patchmark_model::{KernelArtefacts, Plan, TestboxFacts};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Store, StoreError, job_hash};

impl Store {
    /// Remembers a kernel: its files, configuration and compiler.
    ///
    /// # Errors
    /// The database's.
    pub fn put_kernel(&self, kernel: &KernelArtefacts, now: f64) -> Result<(), StoreError> {
        let text = to_json(kernel)?;
        self.write(|transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO kernels \
                       (digest, spec, label, release, kconfig, compiler, artefacts, seen) \
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        kernel.id.digest,
                        kernel.id.spec,
                        kernel.id.label,
                        kernel.release,
                        kernel.kconfig,
                        kernel.compiler,
                        text,
                        now
                    ],
                )
                .map_err(|error| self.wrong(error))?;
            Ok(())
        })
    }

    /// The kernels seen so far, newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn kernels(&self) -> Result<Vec<KernelArtefacts>, StoreError> {
        let texts = self.read(|connection| {
            let sql = "SELECT artefacts FROM kernels ORDER BY seen DESC, digest";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        texts.iter().map(|text| self.parsed(text)).collect()
    }

    /// Remembers a resolved job under its hash, which is answered.
    ///
    /// # Errors
    /// The database's.
    pub fn put_job(&self, plan: &Plan, now: f64) -> Result<String, StoreError> {
        let (hash, text) = (job_hash(plan)?, to_json(plan)?);
        self.write(|transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO jobs (hash, name, plan, seen) VALUES (?, ?, ?, ?)",
                    params![hash, plan.job_name, text, now],
                )
                .map_err(|error| self.wrong(error))?;
            Ok(())
        })?;
        Ok(hash)
    }

    /// The resolved job with a hash.
    ///
    /// # Errors
    /// The database's.
    pub fn job(&self, hash: &str) -> Result<Option<Plan>, StoreError> {
        let text = self.read(|connection| {
            let sql = "SELECT plan FROM jobs WHERE hash = ?";
            connection.query_row(sql, [hash], |row| row.get::<_, String>(0)).optional()
        })?;
        text.map(|text| self.parsed(&text)).transpose()
    }

    /// Remembers what is known of a group of testboxes.
    ///
    /// # Errors
    /// The database's.
    pub fn put_testbox(&self, facts: &TestboxFacts, now: f64) -> Result<(), StoreError> {
        let text = to_json(facts)?;
        self.write(|transaction| {
            transaction
                .execute(
                    "INSERT OR REPLACE INTO testboxes (tbox_group, facts, seen) VALUES (?, ?, ?)",
                    params![facts.group, text, now],
                )
                .map_err(|error| self.wrong(error))?;
            Ok(())
        })
    }

    /// What is known of a group of testboxes.
    ///
    /// # Errors
    /// The database's.
    pub fn testbox(&self, group: &str) -> Result<Option<TestboxFacts>, StoreError> {
        let text = self.read(|connection| {
            let sql = "SELECT facts FROM testboxes WHERE tbox_group = ?";
            connection.query_row(sql, [group], |row| row.get::<_, String>(0)).optional()
        })?;
        text.map(|text| self.parsed(&text)).transpose()
    }

    fn parsed<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| StoreError::BadFile {
            path: self.dir().join("patchmark.sqlite"),
            detail: error.to_string(),
        })
    }
}

fn to_json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Misuse(format!("it cannot be written as JSON: {error}")))
}
