//! Loops over the tables of a store in PostgreSQL, and the disk space of the tables.
//!
//! Reads use as many connections as the service. Each create is a transaction, with one connection
//! per caller and prepared statements. It updates the log's head last, together with the event, so
//! that this row is locked only for a short time. The rows are those that the service wrote for the
//! same users. A staging table of the loop contains them, one row per user.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::available_parallelism,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use fake::{
    RngExt,
    rand::{SeedableRng, rngs::StdRng},
};
use tokio::{runtime::Runtime, task::JoinSet};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::{Bare, Times, fresh_users};
use crate::bench::{
    cases::{Read, Sample, Work},
    process::CpuTimes,
    report::{number, print_table},
    service::Service,
};

/// The minimum size of a record in bytes, because a fast read of nothing would not be a result.
const RECORD_BYTES_MIN: usize = 200;
const READ: &[&str] = &["SELECT record FROM users WHERE tenant = 0 AND id = $1"];
const CREATE: &[&str] = &[
    "INSERT INTO users SELECT (u).* FROM staged WHERE id = $1",
    "INSERT INTO words SELECT w.* FROM staged, unnest(words) w WHERE staged.id = $1",
    "INSERT INTO further_keys SELECT k.* FROM staged, unnest(keys) k WHERE staged.id = $1",
    "WITH head AS (UPDATE log_head SET position = position + 1 RETURNING position), \
     counted AS (UPDATE tenants SET active = active + 1 WHERE id = 0) \
     INSERT INTO events SELECT head.position, (e).tenant, (e).kind, (e).at, (e).actor, \
     (e).request_id, (e).subject_id, (e).version, (e).changed, (e).record \
     FROM head, staged WHERE id = $1",
];
/// Stages the rows of the users with this id or a later one.
const STAGE: &str = "CREATE TABLE staged AS SELECT u.id, u, \
    (SELECT array_agg(w) FROM words w WHERE w.tenant = 0 AND w.id = u.id) AS words, \
    (SELECT array_agg(k) FROM further_keys k WHERE k.tenant = 0 AND k.id = u.id) AS keys, \
    (SELECT e FROM events e WHERE e.tenant = 0 AND e.subject_id = u.id) AS e \
    FROM users u WHERE u.tenant = 0 AND u.id >= ";
/// Deletes the users again.
const SETTLE: &str = "DELETE FROM words WHERE id IN (SELECT id FROM staged); \
    DELETE FROM further_keys WHERE id IN (SELECT id FROM staged); \
    DELETE FROM users WHERE id IN (SELECT id FROM staged); \
    DELETE FROM events WHERE subject_id IN (SELECT id FROM staged)";

/// The connections and the users.
pub(in super::super) struct Postgres {
    runtime: Runtime,
    process: u32,
    readers: Vec<Arc<Client>>,
    stored: Arc<[Uuid]>,
    /// The database of the creates.
    url: String,
    staged: Arc<[Uuid]>,
}

/// Connects to a database, with the tables of a store on the search path.
async fn connect(url: &str) -> Result<Client> {
    let url = format!("{url}?options=-csearch_path%3Droster,public");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    // The task ends with its client, which reports the error.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

async fn ids(client: &Client, table: &str) -> Result<Arc<[Uuid]>> {
    let rows = client.query(&format!("SELECT id FROM {table} ORDER BY id"), &[]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

impl Postgres {
    /// Reads the users of a database that the service filled. `copy` is a copy of this database, in
    /// which the service creates the users whose rows the loop writes.
    pub(in super::super) fn open(
        url: &str,
        copy: &str,
        process: u32,
        start: &dyn Fn() -> Result<Service>,
        measure: Duration,
    ) -> Result<Self> {
        let mut service = start()?;
        service.create_fresh(u64::try_from(fresh_users(measure))?, false)?;
        let first = service.fresh.iter().map(|user| user.id.as_str()).min().context("no user")?;
        let stage = format!("{STAGE} '{first}'; ALTER TABLE staged ADD PRIMARY KEY (id); {SETTLE}");
        service.server.stop()?;
        let runtime = Runtime::new()?;
        let (readers, stored, staged) = runtime.block_on(async {
            let mut readers = Vec::new();
            for _ in 0..available_parallelism().map_or(2, NonZero::get).clamp(2, 4) {
                readers.push(Arc::new(connect(url).await?));
            }
            let client = readers.first().context("no connection")?;
            client.batch_execute("VACUUM (ANALYZE)").await?;
            let stored = ids(client, "users").await?;
            let client = connect(copy).await?;
            client.batch_execute(&stage).await?;
            let staged = ids(&client, "staged").await?;
            client.batch_execute("VACUUM (ANALYZE)").await?;
            anyhow::Ok((readers, stored, staged))
        })?;
        Ok(Self { runtime, process, readers, stored, url: copy.to_owned(), staged })
    }

    async fn read(&self, callers: usize, measure: Duration, seed: u64) -> Result<Vec<Duration>> {
        let (mut tasks, until) = (JoinSet::new(), Instant::now() + measure);
        for (client, number) in self.readers.iter().cycle().take(callers).zip(0_u64..) {
            let stored = Arc::clone(&self.stored);
            let mut random = StdRng::seed_from_u64((seed << 8) + number);
            let next = move || stored.get(random.random_range(0..stored.len())).copied();
            tasks.spawn(call(Arc::clone(client), READ, next, until));
        }
        join(tasks).await
    }

    async fn create(&self, callers: usize, measure: Duration) -> Result<Vec<Duration>> {
        let mut clients = Vec::new();
        for _ in 0..callers {
            clients.push(Arc::new(connect(&self.url).await?));
        }
        let (mut tasks, until) = (JoinSet::new(), Instant::now() + measure);
        let at = Arc::new(AtomicUsize::new(0));
        for client in clients {
            let (staged, at) = (Arc::clone(&self.staged), Arc::clone(&at));
            let next = move || staged.get(at.fetch_add(1, Ordering::Relaxed)).copied();
            tasks.spawn(call(client, CREATE, next, until));
        }
        let times = join(tasks).await?;
        connect(&self.url).await?.batch_execute(SETTLE).await?;
        Ok(times)
    }
}

/// One caller: executes the statements for one user after another; several statements form one
/// transaction. Returns the time of each user.
async fn call(
    client: Arc<Client>,
    sql: &'static [&'static str],
    mut next: impl FnMut() -> Option<Uuid>,
    until: Instant,
) -> Result<Vec<Duration>> {
    let (mut statements, mut times) = (Vec::new(), Vec::new());
    for sql in sql {
        statements.push(client.prepare(sql).await?);
    }
    while Instant::now() < until {
        let Some(id) = next() else { break };
        let began = Instant::now();
        if let [statement] = statements.as_slice() {
            let row = client.query_one(statement, &[&id]).await?;
            let record: &str = row.try_get(0)?;
            ensure!(record.len() > RECORD_BYTES_MIN, "a record of {} bytes", record.len());
        } else {
            client.batch_execute("BEGIN").await?;
            for statement in &statements {
                client.execute(statement, &[&id]).await?;
            }
            client.batch_execute("COMMIT").await?;
        }
        times.push(began.elapsed());
    }
    Ok(times)
}

async fn join(mut tasks: JoinSet<Result<Vec<Duration>>>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        times.extend(done??);
    }
    Ok(times)
}

impl Bare for Postgres {
    fn run(&mut self, work: Work, callers: usize, measure: Duration, seed: u64) -> Result<Sample> {
        let cpu = || anyhow::Ok([CpuTimes::of(std::process::id())?, CpuTimes::of(self.process)?]);
        let (before, began) = (cpu()?, Instant::now());
        let all = if work == Work::Read(Read::Any) {
            self.runtime.block_on(self.read(callers, measure, seed))?
        } else if work == Work::Post {
            self.runtime.block_on(self.create(callers, measure))?
        } else {
            bail!("no loop does {work:?}")
        };
        let (spent, after) = (began.elapsed().min(measure), cpu()?);
        let mut times = Times::new()?;
        for time in &all {
            times.add(*time);
        }
        let each = f64::from(u32::try_from(all.len().max(1))?);
        let [cpu_us, database_us] = [0, 1].map(|at| {
            let used = after.get(at).zip(before.get(at));
            used.map_or(0.0, |(after, before)| after.since(before).as_secs_f64() * 1e6 / each)
        });
        Ok(Sample { cpu_us, database_us, ..times.sample(all.len(), spent)? })
    }
}

/// Prints the disk space of tables and indexes per user, for this number of users, and the
/// write-ahead log that was written since it had that length.
pub(in super::super) fn print_disk(url: &str, users: u64, log_before: i64) -> Result<()> {
    let users = f64::from(u32::try_from(users)?);
    let of_one = |bytes: i64| -> Result<String> {
        Ok(number(f64::from(u32::try_from(bytes / 1024)?) * 1024.0 / users, "B"))
    };
    let sql = "SELECT t.relname::text, c.relname::text, pg_table_size(c.oid) \
         FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid \
         JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid) \
         WHERE c.relnamespace = 'roster'::regnamespace AND c.relkind IN ('r', 'i') \
         ORDER BY t.relname, c.relkind DESC, c.relname";
    let rows = async { anyhow::Ok(connect(url).await?.query(sql, &[]).await?) };
    let (mut tables, mut lines) = (BTreeMap::<String, i64>::new(), Vec::new());
    for row in Runtime::new()?.block_on(rows)? {
        let (table, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let bytes = row.try_get(2)?;
        lines.push(vec![table.clone(), name, of_one(bytes)?]);
        *tables.entry(table).or_default() += bytes;
    }
    for (table, bytes) in tables {
        lines.push(vec![table, "all of it".to_owned(), of_one(bytes)?]);
    }
    let log = of_one(log_bytes(url)? - log_before)?;
    lines.push(vec![String::new(), "write-ahead log of the creates".to_owned(), log]);
    print_table(&["table", "table or index", "bytes a user"], &lines)
}

/// The number of bytes ever written to the write-ahead log of a cluster.
pub(in super::super) fn log_bytes(url: &str) -> Result<i64> {
    let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
    let row = async { anyhow::Ok(connect(url).await?.query_one(sql, &[]).await?) };
    Ok(Runtime::new()?.block_on(row)?.try_get(0)?)
}

/// Creates a database as a copy of another.
pub(in super::super) fn copy_database(url: &str, from: &str, to: &str) -> Result<()> {
    let sql = format!("CREATE DATABASE {to} TEMPLATE {from}");
    Runtime::new()?.block_on(async { Ok(connect(url).await?.batch_execute(&sql).await?) })
}

#[cfg(test)]
mod tests {
    use std::{fs, fs::Permissions, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::bench::sitting::Cluster;

    const USER: &str = "INSERT INTO log_head VALUES (1, 0, '\\x0000000000000000', 0); \
        INSERT INTO tenants VALUES (0, NULL, 1, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0, 0); \
        INSERT INTO users VALUES \
        (0, '00000000-0000-7000-8000-000000000001', 1, 0, 0, 'a', 'b', NULL, NULL, 'c', 'd', \
        'e', repeat('x', 300)); INSERT INTO words SELECT 0, 'a', id FROM users; \
        INSERT INTO words SELECT 0, 'b', id FROM users; \
        INSERT INTO further_keys SELECT 0, 0, 'b', id FROM users; \
        INSERT INTO events SELECT 1, 0, 'user.created', 0, '', '', id, 1, '', record FROM users";

    #[tokio::test]
    async fn the_statements_fit_the_tables_and_leave_the_users_they_found() {
        let place = tempfile::tempdir().unwrap();
        // PostgreSQL may run as another user, who must be able to enter the directory.
        fs::set_permissions(place.path(), Permissions::from_mode(0o711)).unwrap();
        let cluster = Cluster::start(place.path().join("postgres")).unwrap();
        let schema = "/../roster-postgres/src/migrations/0001_schema.sql";
        let schema = fs::read_to_string(env!("CARGO_MANIFEST_DIR").to_owned() + schema).unwrap();
        let client = connect(&cluster.url).await.unwrap();
        client.batch_execute("CREATE SCHEMA roster").await.unwrap();
        client.batch_execute(&schema).await.unwrap();
        client.batch_execute(USER).await.unwrap();
        client.batch_execute(&format!("{STAGE} '{}'", Uuid::nil())).await.unwrap();
        client.batch_execute(SETTLE).await.unwrap();
        assert!(ids(&client, "users").await.unwrap().is_empty());

        let staged: Vec<_> = ids(&client, "staged").await.unwrap().to_vec();
        let client = Arc::new(client);
        let until = Instant::now() + Duration::from_mins(1);
        let mut once = staged.clone().into_iter();
        call(Arc::clone(&client), CREATE, move || once.next(), until).await.unwrap();
        let mut once = staged.clone().into_iter();
        assert_eq!(
            call(Arc::clone(&client), READ, move || once.next(), until).await.unwrap().len(),
            1
        );
        let counts = "SELECT (SELECT count(*) FROM words), (SELECT count(*) FROM further_keys), \
            (SELECT count(*) FROM events), (SELECT position FROM log_head), \
            (SELECT active FROM tenants)";
        let row = client.query_one(counts, &[]).await.unwrap();
        let counts: [i64; 5] = [0, 1, 2, 3, 4].map(|at| row.get(at));
        assert_eq!(counts, [2, 1, 1, 1, 1]);
    }
}
