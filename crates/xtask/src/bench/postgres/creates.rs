//! What PostgreSQL allows a writer that commits alone: one transaction for each new user.
//!
//! A connection for each writer, the service's own tables, statements prepared, rows as the
//! service writes them. The log's head is moved last and together with the event, so that its row
//! is held for as short as this way of writing can: two round trips, the commit one of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::counter::{Counter, Done};
use crate::bench::{
    engine::Act,
    people,
    statements::{self, Change},
    stored::Samples,
};

const USER: &str = "INSERT INTO users (id, version, status, updated_at, username_key, email_key, \
    family_name_key, name_key, record) VALUES ($1, 1, 0, $2, $3, $4, $5, $6, $7)";
const WORDS: &str = "INSERT INTO words (word, id) SELECT unnest($1::bytea[]), $2";
const FURTHER_KEY: &str = "INSERT INTO further_keys (kind, key, id) VALUES (0, $1, $2)";
const EVENT: &str = "WITH head AS (UPDATE log_head SET position = position + 1, \
    active = active + 1 RETURNING position) \
    INSERT INTO events \
    (position, kind, at, actor, request_id, subject_id, version, changed, record) \
    SELECT position, 'user.created', $1, $2, $3, $4, 1, $5, $6 FROM head";

/// What takes the users of a round out again, and is not timed.
const SETTLE: [&str; 4] = [
    "DELETE FROM words WHERE id = ANY($1)",
    "DELETE FROM further_keys WHERE id = ANY($1)",
    "WITH left_now AS (DELETE FROM users WHERE id = ANY($1) RETURNING 1) \
     UPDATE log_head SET active = active - (SELECT count(*) FROM left_now)",
    "DELETE FROM events WHERE subject_id = ANY($1)",
];

/// The connections, and what the next user is.
pub(super) struct Creates {
    writers: Vec<Arc<Writer>>,
    next: Arc<Next>,
    created: Vec<Uuid>,
}

/// What the next user is.
struct Next {
    samples: Samples,
    number: AtomicU64,
    /// The moment of number 0, in milliseconds since 1970; each number has its own.
    since_ms: i64,
}

struct Writer {
    client: Client,
    user: Statement,
    words: Statement,
    further_key: Statement,
    event: Statement,
}

impl Creates {
    /// Prepares the statements on each connection, to a database that holds the users below
    /// `number`, which were written no later than `now_ms`.
    pub(super) async fn open(
        clients: Vec<Client>,
        samples: Samples,
        number: u64,
        now_ms: i64,
    ) -> Result<Self> {
        let mut writers = Vec::new();
        for client in clients {
            writers.push(Arc::new(Writer::prepare(client).await?));
        }
        let since_ms = now_ms - i64::try_from(number)?;
        let next = Next { samples, number: AtomicU64::new(number), since_ms };
        Ok(Self { writers, next: Arc::new(next), created: Vec::new() })
    }

    /// So many writers create users, each on its own connection.
    pub(super) async fn run(&mut self, writers: usize, measure: Duration) -> Result<Done> {
        let (mut tasks, counter) = (JoinSet::new(), Counter::start(measure)?);
        ensure!(writers <= self.writers.len(), "fewer connections than writers");
        for writer in self.writers.iter().take(writers) {
            tasks.spawn(create(writer.clone(), self.next.clone(), counter.clone()));
        }
        let mut counters = Vec::new();
        for outcome in tasks.join_all().await {
            let (counter, created) = outcome?;
            counters.push(counter);
            self.created.extend(created);
        }
        counter.sum(counters)
    }

    /// Takes out the users that were created, so that the next round finds as many as this one.
    pub(super) async fn settle(&mut self) -> Result<()> {
        let Some(writer) = self.writers.first() else { return Ok(()) };
        for sql in SETTLE {
            writer.client.execute(sql, &[&self.created]).await?;
        }
        self.created.clear();
        Ok(())
    }
}

async fn create(
    writer: Arc<Writer>,
    next: Arc<Next>,
    mut counter: Counter,
) -> Result<(Counter, Vec<Uuid>)> {
    let mut created = Vec::new();
    while let Some(asked) = counter.ask() {
        let change = next.change()?;
        writer.write(&change).await?;
        created.push(change.id);
        counter.answered(asked);
    }
    Ok((counter, created))
}

impl Next {
    fn change(&self) -> Result<Change> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let now_ms = self.since_ms + i64::try_from(number)?;
        Ok(Change {
            id: statements::id_at(now_ms, number),
            number,
            record: self.samples.record(number),
            event: self.samples.event(Act::Insert, number),
            added: people::words(number),
            dropped: Vec::new(),
            now_ms,
        })
    }
}

impl Writer {
    async fn prepare(client: Client) -> Result<Self> {
        let user = client.prepare(USER).await?;
        let words = client.prepare(WORDS).await?;
        let further_key = client.prepare(FURTHER_KEY).await?;
        let event = client.prepare(EVENT).await?;
        Ok(Self { client, user, words, further_key, event })
    }

    async fn write(&self, change: &Change) -> Result<()> {
        let (client, Change { id, number, record, event, .. }) = (&self.client, change);
        let (username, email) = (people::username(*number), people::email(*number));
        let family_name = people::family_name(*number, 0).to_lowercase();
        let name = people::name(*number).to_lowercase();
        let words: Vec<&[u8]> = change.added.iter().map(String::as_bytes).collect();
        client.batch_execute("BEGIN").await?;
        client
            .execute(
                &self.user,
                &[
                    id,
                    &change.now_ms,
                    &username.as_bytes(),
                    &email.as_bytes(),
                    &family_name.as_bytes(),
                    &name.as_bytes(),
                    record,
                ],
            )
            .await?;
        client.execute(&self.words, &[&words, id]).await?;
        if let Some(key) = people::further_email(*number) {
            client.execute(&self.further_key, &[&key.as_bytes(), id]).await?;
        }
        let texts = (&event.actor, &event.request_id, &event.changed);
        client
            .execute(&self.event, &[&change.now_ms, texts.0, texts.1, id, texts.2, record])
            .await?;
        client.batch_execute("COMMIT").await?;
        Ok(())
    }
}
