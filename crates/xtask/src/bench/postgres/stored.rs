//! The users of a database that the service filled, and what they take of the disk.
//!
//! What the service wrote for a user is held against what the loop is going to write, so that the
//! two do not drift apart unseen.

use anyhow::{Context as _, Result, ensure};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::bench::{
    people,
    statements::EventTexts,
    stored::{Sample, Samples, sample_numbers},
};

/// What a database holds.
pub(super) struct Stored {
    /// Everyone.
    pub(super) ids: Vec<Uuid>,
    /// Whom others are made after.
    pub(super) samples: Samples,
    /// The moment of the last write, in milliseconds since 1970.
    pub(super) now_ms: i64,
}

impl Stored {
    /// Reads what is needed of a database.
    pub(super) async fn read(client: &Client) -> Result<Self> {
        let ids = client.query("SELECT id FROM users ORDER BY id", &[]).await?;
        let ids = ids.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let now_ms = client.query_one("SELECT max(updated_at) FROM users", &[]).await?;
        let [plain, with_further_email] = sample_numbers();
        let plain = sample(client, plain).await?;
        let with_further_email = sample(client, with_further_email).await?;
        let row = client
            .query_one(
                "SELECT count(phone_number_key), count(external_id), \
                 count(*) FILTER (WHERE status <> 0) FROM users",
                &[],
            )
            .await?;
        let row: (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        ensure!(row == (0, 0, 0), "the loop does not write {row:?}");
        let samples = Samples { plain, with_further_email };
        Ok(Self { ids, samples, now_ms: now_ms.try_get(0)? })
    }
}

async fn sample(client: &Client, number: u64) -> Result<Sample> {
    let username = people::username(number);
    let row = client
        .query_opt("SELECT id, record FROM users WHERE username_key = $1", &[&username.as_bytes()])
        .await?
        .with_context(|| format!("user {number} is not stored"))?;
    let (id, record): (Uuid, String) = (row.try_get(0)?, row.try_get(1)?);
    let words = texts(client, "SELECT word FROM words WHERE id = $1 ORDER BY word", id).await?;
    ensure!(words == people::words(number), "the service finds user {number} by {words:?}");
    let keys = "SELECT key FROM further_keys WHERE id = $1 ORDER BY kind, key";
    let keys = texts(client, keys, id).await?;
    let expected: Vec<_> = people::further_email(number).into_iter().collect();
    ensure!(keys == expected, "the further keys of user {number} are {keys:?}");
    let event = client
        .query_one(
            "SELECT actor, request_id, changed FROM events WHERE subject_id = $1 \
             ORDER BY position LIMIT 1",
            &[&id],
        )
        .await?;
    let (actor, request_id) = (event.try_get(0)?, event.try_get(1)?);
    let created = EventTexts { actor, request_id, changed: event.try_get(2)? };
    Ok(Sample { number, record, created })
}

async fn texts(client: &Client, sql: &str, id: Uuid) -> Result<Vec<String>> {
    let rows = client.query(sql, &[&id]).await?;
    rows.iter().map(|row| Ok(String::from_utf8(row.try_get(0)?)?)).collect()
}

/// What a table or an index takes of the disk.
pub(super) struct Relation {
    /// Its name.
    pub(super) name: String,
    /// The name of its table.
    pub(super) table: String,
    /// Its bytes, values kept beside the rows included.
    pub(super) bytes: i64,
}

/// Every table and index of ours, by table, and the table first.
pub(super) async fn relations(client: &Client) -> Result<Vec<Relation>> {
    let rows = client
        .query(
            "SELECT c.relname::text, t.relname::text, pg_table_size(c.oid) \
             FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid \
             JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid) \
             WHERE c.relnamespace = 'roster'::regnamespace AND c.relkind IN ('r', 'i') \
             ORDER BY t.relname, c.relkind DESC, c.relname",
            &[],
        )
        .await?;
    let relation = |row: &tokio_postgres::Row| {
        Ok(Relation { name: row.try_get(0)?, table: row.try_get(1)?, bytes: row.try_get(2)? })
    };
    rows.iter().map(relation).collect()
}

/// Bytes that were ever written to the write-ahead log.
pub(super) async fn written(client: &Client) -> Result<i64> {
    let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}
