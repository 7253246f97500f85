//! The size of the write-ahead log while snapshots are open.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use roster_core::{Store as _, StoreError};
use rusqlite::Connection;
use tokio::{runtime::Runtime, task::JoinHandle};

use super::support::{apply, create, replace, settings};
use crate::{
    Settings, Sqlite,
    reads::rows::{Rows, in_snapshot},
    settings::DATABASE,
};

const PAGES_MAX: u32 = 4096;
const CEILING: u64 = 4096 * 4096;

fn open(directory: &Path) -> Arc<Sqlite> {
    let small = Settings { checkpoint_pages: 256, wal_pages_max: PAGES_MAX, ..settings(directory) };
    Arc::new(Sqlite::open(small).unwrap())
}

fn log_bytes(directory: &Path) -> u64 {
    fs::metadata(directory.join(format!("{DATABASE}-wal"))).map_or(0, |log| log.len())
}

/// Writes commits until about this number of bytes was written to the log. Returns the largest
/// observed size of the log.
async fn write(store: &Sqlite, directory: &Path, bytes: u64) -> u64 {
    let text = "x".repeat(15_000);
    let user = |at: u64| format!(r#"{{"username":"one","attributes":{{"a":"{at}{text}"}}}}"#);
    let mut largest = 0;
    for _ in 0..bytes / (64 * 1024) {
        let at = store.head().await.unwrap().position.unsigned_abs() + 1;
        let command = if at == 1 { create(1, &user(at)) } else { replace(at, 1, &user(at)) };
        apply(store, command).await.unwrap();
        largest = largest.max(log_bytes(directory));
    }
    largest
}

/// Runs reads one after the other, each with a snapshot for this time, until stopped. Returns how
/// many succeeded.
fn loop_of_readings(
    store: &Arc<Sqlite>,
    stop: &Arc<AtomicBool>,
    long: Duration,
) -> JoinHandle<u64> {
    let (store, stop) = (Arc::clone(store), Arc::clone(stop));
    tokio::spawn(async move {
        let mut read = 0;
        while !stop.load(Ordering::Relaxed) {
            let reading = store.scans.read(move |connection| {
                in_snapshot(Rows::of_store(connection), |_| {
                    thread::sleep(long);
                    Ok(())
                })
            });
            read += u64::from(reading.await.is_ok());
        }
        read
    })
}

#[test]
fn repeated_long_reads_do_not_grow_the_write_ahead_log() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let long = Duration::from_millis(20);
        let loops = [(); 3].map(|()| loop_of_readings(&store, &stop, long));
        let largest = write(&store, place.path(), 6 * CEILING).await;
        stop.store(true, Ordering::Relaxed);
        for readings in loops {
            assert!(readings.await.unwrap() > 0, "readings go on");
        }
        assert!(largest < CEILING, "{largest} bytes");
    });
}

#[test]
fn an_endless_read_is_interrupted_when_the_write_ahead_log_is_long() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let reader = Arc::clone(&store);
        let endless = tokio::spawn(async move {
            let reading = reader.scans.read(|connection| {
                let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                           SELECT count(*) FROM n, log_head";
                let count = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
                Ok(count?)
            });
            reading.await
        });
        let largest = write(&store, place.path(), 4 * CEILING).await;
        assert!(largest < CEILING, "{largest} bytes");
        assert!(matches!(endless.await.unwrap(), Err(StoreError::Unavailable(_))));
    });
}

#[test]
fn transactions_continue_when_a_blocking_read_ends() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        write(&store, place.path(), 128 * 1024).await;
        let (reader, directory) = (Arc::clone(&store), place.path().to_owned());
        let reading = tokio::spawn(async move {
            let reading = reader.scans.read(move |connection| {
                in_snapshot(Rows::of_store(connection), |_| {
                    while log_bytes(&directory) < CEILING / 2 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    // The writer waits at the limit.
                    thread::sleep(Duration::from_millis(200));
                    Ok(())
                })
            });
            reading.await
        });
        // If the read did not end, the first write beyond the limit would be refused after 5 s.
        write(&store, place.path(), CEILING).await;
        reading.await.unwrap().unwrap();
    });
}

#[test]
fn writes_continue_during_a_snapshot_of_another_process_and_the_log_shrinks_afterwards() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path());
    let runtime = Runtime::new().unwrap();
    // A connection outside the store, such as that of `roster backup`.
    let other = Connection::open(place.path().join(DATABASE)).unwrap();
    runtime.block_on(async {
        write(&store, place.path(), 128 * 1024).await;
        other.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
        let largest = write(&store, place.path(), 2 * CEILING).await;
        assert!(largest > CEILING, "{largest} bytes: the snapshot keeps the log from a reset");
        other.execute_batch("COMMIT").unwrap();
        // Once the whole log is copied, the next commit restarts it.
        other.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        let begin = Instant::now();
        while log_bytes(place.path()) > CEILING {
            assert!(begin.elapsed() < Duration::from_mins(1), "the file never shrinks");
            write(&store, place.path(), 128 * 1024).await;
            // The log stays short, and the store is never idle.
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    });
}
