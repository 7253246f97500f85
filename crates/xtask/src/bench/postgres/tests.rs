//! The loops, held against the real tables in a cluster of their own.

use std::{fs, path::PathBuf, time::Duration};

use tokio_postgres::Client;

use super::{cluster::Cluster, creates::Creates, reads::Reads, stored, stored::Stored};
use crate::bench::{
    people,
    statements::EventTexts,
    stored::{Sample, Samples, sample_numbers},
};

const A_WHILE: Duration = Duration::from_millis(50);

/// The SQL of the service's schema, oldest first.
fn migrations() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../roster-postgres/migrations");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "sql"));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

async fn count(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// A user as the service would have stored it, of which the first ones are made.
fn made_up(number: u64) -> Sample {
    Sample { number, record: people::body(number, 0), created: EventTexts::default() }
}

#[tokio::test]
async fn the_loops_read_and_write_the_real_tables_and_leave_the_users_they_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path()).unwrap();
    let client = cluster.connect("postgres").await.unwrap();
    client.batch_execute("CREATE SCHEMA roster").await.unwrap();
    for sql in migrations() {
        client.batch_execute(&sql).await.unwrap();
    }
    let head = "INSERT INTO log_head VALUES (1, 0, '\\x0000000000000000', 0, 0, 0, 0)";
    client.batch_execute(head).await.unwrap();
    let [plain, with_further_email] = sample_numbers().map(made_up);
    let samples = Samples { plain, with_further_email };
    let writer = cluster.connect("postgres").await.unwrap();
    let mut first = Creates::open(vec![writer], samples, 0, 0).await.unwrap();
    while count(&client, "SELECT count(*) FROM users").await < 20 {
        first.run(1, A_WHILE).await.unwrap();
    }
    let before = count(&client, "SELECT count(*) FROM users").await;
    let words = count(&client, "SELECT count(*) FROM words").await;

    let Stored { ids, samples, now_ms } = Stored::read(&client).await.unwrap();
    assert_eq!(i64::try_from(ids.len()).unwrap(), before);
    let reader = cluster.connect("postgres").await.unwrap();
    let reads = Reads::open(vec![reader], ids).await.unwrap();
    assert!(reads.run(2, 1, A_WHILE).await.unwrap().answers > 0);

    let mut writers = Vec::new();
    for _ in 0..4 {
        writers.push(cluster.connect("postgres").await.unwrap());
    }
    let next = 1_000_000;
    let mut creates = Creates::open(writers, samples, next, now_ms).await.unwrap();
    let done = creates.run(4, A_WHILE).await.unwrap();
    let users = count(&client, "SELECT count(*) FROM users").await;
    assert_eq!(users, before + i64::from(done.answers));
    assert_eq!(count(&client, "SELECT active FROM log_head").await, users);
    let last = count(&client, "SELECT max(position) FROM events").await;
    assert_eq!(count(&client, "SELECT position FROM log_head").await, last);
    assert_eq!(count(&client, "SELECT count(*) FROM events").await, last);
    assert_eq!(count(&client, "SELECT count(DISTINCT id) FROM words").await, users);

    creates.settle().await.unwrap();
    assert_eq!(count(&client, "SELECT count(*) FROM users").await, before);
    assert_eq!(count(&client, "SELECT active FROM log_head").await, before);
    assert_eq!(count(&client, "SELECT count(*) FROM words").await, words);
    let relations = stored::relations(&client).await.unwrap();
    assert!(relations.iter().any(|relation| relation.name == "users" && relation.bytes > 0));
}
