//! The SQLite database: opening, settings, schema.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::StoreError;

/// Marks the file as ours (`PMRK`).
const APPLICATION_ID: i64 = 0x504d_524b;

/// How long a process waits for another one's transaction. Transactions take milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Each entry brings the schema from its index to the next version. Entries are never changed,
/// only added.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE kernels (
        digest TEXT PRIMARY KEY, spec TEXT NOT NULL, label TEXT NOT NULL, release TEXT NOT NULL,
        kconfig TEXT NOT NULL, compiler TEXT NOT NULL, artefacts TEXT NOT NULL, seen REAL NOT NULL
    ) STRICT;
    CREATE TABLE jobs (
        hash TEXT PRIMARY KEY, name TEXT NOT NULL, plan TEXT NOT NULL, seen REAL NOT NULL
    ) STRICT;
    CREATE TABLE testboxes (
        tbox_group TEXT PRIMARY KEY, facts TEXT NOT NULL, seen REAL NOT NULL
    ) STRICT;
    CREATE TABLE owners (
        id TEXT PRIMARY KEY, pid INTEGER NOT NULL, start_time INTEGER NOT NULL,
        boot_id TEXT NOT NULL
    ) STRICT;
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        key_hash TEXT NOT NULL,
        slot INTEGER NOT NULL,
        axes TEXT NOT NULL,
        testcase TEXT AS (json_extract(axes, '$.testcase')),
        kernel TEXT NOT NULL,
        kernel_spec TEXT NOT NULL,
        kernel_label TEXT NOT NULL,
        tbox_group TEXT NOT NULL,
        job TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'finished', 'failed')),
        owner TEXT,
        lease_end REAL,
        attempt INTEGER NOT NULL DEFAULT 0,
        failure_reason TEXT,
        failure_detail TEXT,
        born_in TEXT,
        created REAL NOT NULL,
        started REAL,
        ended REAL,
        CHECK ((state = 'running') = (owner IS NOT NULL)),
        CHECK ((state = 'failed') = (failure_reason IS NOT NULL)),
        UNIQUE (key_hash, slot)
    ) STRICT;
    CREATE INDEX runs_by_state ON runs (state, ended);
    CREATE INDEX runs_by_kernel ON runs (kernel);
    CREATE INDEX runs_by_testcase ON runs (testcase, tbox_group);
    CREATE INDEX runs_by_created ON runs (created);
    CREATE TABLE kpis (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        metric TEXT NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (run, metric)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX kpis_by_metric ON kpis (metric, run);
    CREATE TABLE comparisons (
        id TEXT PRIMARY KEY, wish_hash TEXT NOT NULL, wish TEXT NOT NULL,
        fresh INTEGER NOT NULL, created REAL NOT NULL, ended REAL
    ) STRICT;
    CREATE INDEX comparisons_by_wish ON comparisons (wish_hash, created);
    CREATE TABLE comparison_runs (
        comparison TEXT NOT NULL REFERENCES comparisons (id) ON DELETE CASCADE,
        position INTEGER NOT NULL, col INTEGER NOT NULL,
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        PRIMARY KEY (comparison, position), UNIQUE (comparison, run)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX comparison_runs_by_run ON comparison_runs (run);
"];

/// The newest schema this code knows.
pub(crate) const SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Opens the database for writing, creates or migrates it.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    let wrong = |error| StoreError::database(path, error);
    let mut connection = Connection::open(path).map_err(wrong)?;
    prepare(&connection).map_err(wrong)?;
    check_version(path, &connection)?;
    // A filesystem without shared memory keeps its journal mode, which serves as well.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(wrong)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(wrong)?;
    migrate(&mut connection).map_err(wrong)?;
    Ok(connection)
}

/// Opens the database for reading alone.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    match open_uri(path, "mode=ro") {
        // On a filesystem that cannot be written SQLite cannot make the files that it shares with
        // writers. Without a log there is no writer, and it can do without them.
        Err(StoreError::ReadOnly { .. }) if !log_of(path).exists() => {
            open_uri(path, "mode=ro&immutable=1")
        }
        opened => opened,
    }
}

fn open_uri(path: &Path, how: &str) -> Result<Connection, StoreError> {
    let wrong = |error| StoreError::database(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let escaped: String = path
        .to_string_lossy()
        .chars()
        .map(|c| match c {
            '%' => "%25".to_owned(),
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            other => other.to_string(),
        })
        .collect();
    let uri = format!("file:{escaped}?{how}");
    let connection = Connection::open_with_flags(uri, flags).map_err(wrong)?;
    prepare(&connection).map_err(wrong)?;
    check_version(path, &connection)?;
    Ok(connection)
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn check_version(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let wrong = |error| StoreError::database(path, error);
    let found = number(connection, "user_version").map_err(wrong)?;
    let application = number(connection, "application_id").map_err(wrong)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(wrong)?;
    if application != APPLICATION_ID && (application != 0 || tables > 0) {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if found > SCHEMA {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: SCHEMA });
    }
    Ok(())
}

/// All missing steps in one transaction: a process that is killed, or two that start at once, see
/// the old schema or the new one.
fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = begin(connection)?;
    let version = number(&transaction, "user_version")?;
    let missing = MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0));
    for (step, sql) in missing.enumerate() {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version + step as i64 + 1)?;
    }
    if version < SCHEMA {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

/// Begins a transaction that writes: no other writer is in one at the same time.
pub(crate) fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_made_once_and_a_newer_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.sqlite");
        drop(open(&path).unwrap());
        let connection = open(&path).unwrap();
        assert_eq!(number(&connection, "user_version").unwrap(), SCHEMA);
        connection.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
        let message = open(&path).unwrap_err().to_string();
        assert!(message.contains("newer patchmark"), "{message}");
    }

    #[test]
    fn what_is_no_store_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other.sqlite");
        let connection = Connection::open(&other).unwrap();
        connection.execute_batch("CREATE TABLE cookies (x)").unwrap();
        assert!(matches!(open(&other), Err(StoreError::Foreign { .. })));
        let noise = dir.path().join("noise.sqlite");
        fs_err::write(&noise, vec![7_u8; 9000]).unwrap();
        let error = open(&noise).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert_eq!(fs_err::read(&noise).unwrap(), vec![7_u8; 9000]);
    }
}
