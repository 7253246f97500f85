//! Fetching what the judgement of commands needs to know.
//!
//! One statement for each kind of fact, all of them on the wire at once. Whoever writes locks the
//! users' rows, in the order of their ids, so that two who lock several never wait for each other.

use std::sync::Arc;

use futures_util::future::try_join_all;
use roster_core::{Effect, EventKind, StoreError, Stored, Timestamp, User};
use tokio_postgres::{Row as SqlRow, types::ToSql};
use uuid::Uuid;

use super::{
    facts::{Claim, Current, Facts, Mark, Missing, Place, Row},
    groups,
};
use crate::{
    columns::{column, corrupt, id_column, id_of, record_column, uuid},
    connect::Connection,
    groups::{DIRECT, group_of, stored_at},
    pool::Miss,
};

pub(crate) const LOAD: &str = "SELECT id, record FROM users WHERE id = ANY($1) ORDER BY id";
pub(crate) const LOCK: &str =
    "SELECT id, record FROM users WHERE id = ANY($1) ORDER BY id FOR UPDATE";
pub(crate) const LOAD_DELETED: &str =
    "SELECT id, record FROM deleted_users WHERE id = ANY($1) ORDER BY id";
pub(crate) const LOCK_DELETED: &str =
    "SELECT id, record FROM deleted_users WHERE id = ANY($1) ORDER BY id FOR UPDATE";

/// Who holds what: the number of the kind of claim, the key, the user.
pub(crate) const HOLDERS: &str = "SELECT 0, username_key, id FROM users \
     WHERE username_key = ANY($1) \
     UNION ALL SELECT 1, email_key, id FROM users WHERE email_key = ANY($2)";

/// The same, where external ids are unique too.
pub(crate) const HOLDERS_OF_EXTERNAL_IDS: &str =
    "SELECT 2, external_id, id FROM users WHERE external_id = ANY($1)";

/// What requests came to; the event has the record of a change. Those of a purged user that are
/// still to be erased come as if they were long over.
pub(crate) const MARKS: &str = "SELECT known.key, known.fingerprint, \
     CASE WHEN known.effect = 'user.purged' OR (SELECT erasures.id FROM erasures \
     WHERE erasures.id = known.user_id) IS NULL THEN known.at ELSE 0 END, \
     known.user_id, \
     known.version, known.position, known.effect, coalesce(known.record, events.record) \
     FROM idempotency_keys AS known LEFT JOIN events ON events.position = known.position \
     WHERE known.key = ANY($1)";

/// Whether rows are read for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Rows,
    Nothing,
}

/// How a request's mark names that nothing changed.
pub(super) const UNCHANGED: &str = "unchanged";

/// Fetches what is missing.
pub(crate) async fn fetch(
    connection: &Connection,
    missing: &Missing,
    lock: Lock,
    facts: &mut Facts,
) -> Result<(), Miss> {
    let (load, load_deleted) = match lock {
        Lock::Rows => (LOCK, LOCK_DELETED),
        Lock::Nothing => (LOAD, LOAD_DELETED),
    };
    let live: Vec<Uuid> = missing.live.iter().copied().map(uuid).collect();
    let deleted: Vec<Uuid> = missing.deleted.iter().copied().map(uuid).collect();
    let holders = HolderKeys::of(missing);
    let marks: Vec<&[u8]> = missing.marks.iter().map(<[u8; 32]>::as_slice).collect();
    let leaving: Vec<Uuid> = missing.groups_of.iter().copied().map(uuid).collect();
    let locks_groups = lock == Lock::Rows && !leaving.is_empty();
    let steps: [(&str, bool, Vec<&(dyn ToSql + Sync)>); 7] = [
        // First: whoever holds it waits for nobody who waits for it.
        (groups::LOCK, locks_groups, vec![]),
        (load, !live.is_empty(), vec![&live]),
        (DIRECT, !leaving.is_empty(), vec![&leaving]),
        (load_deleted, !deleted.is_empty(), vec![&deleted]),
        (HOLDERS, holders.are_names(), vec![&holders.usernames, &holders.emails]),
        (HOLDERS_OF_EXTERNAL_IDS, !holders.external_ids.is_empty(), vec![&holders.external_ids]),
        // Last: a first try that holds the rows or keys above is over by then, its marks there.
        (MARKS, !marks.is_empty(), vec![&marks]),
    ];
    // All are prepared before any is sent, so that they go in this order.
    let prepare = |(sql, wanted, _): &(&str, bool, Vec<_>)| {
        let (sql, wanted) = ((*sql).to_owned(), *wanted);
        async move { if wanted { connection.prepare(&sql).await.map(Some) } else { Ok(None) } }
    };
    let statements = try_join_all(steps.iter().map(prepare)).await?;
    let asked = statements.iter().zip(&steps).map(|(statement, (.., parameters))| async move {
        match statement {
            Some(statement) => connection.client().query(statement, parameters).await,
            None => Ok(Vec::new()),
        }
    });
    let mut answers = try_join_all(asked).await?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    let _locked = next();
    let (live, direct) = (next(), next());
    let (deleted, holders, of_external_ids) = (next(), next(), next());
    let marks = next();
    for id in &missing.live {
        facts.live.insert(*id, Row::Nobody);
    }
    for id in &missing.deleted {
        facts.deleted.insert(*id, Row::Nobody);
    }
    for claim in &missing.holders {
        facts.holders.insert(claim.clone(), None);
    }
    for key in &missing.marks {
        facts.marks.insert(*key, None);
    }
    keep_groups(missing, &direct, facts)?;
    for row in &live {
        facts.live.insert(id_column(row, 0, "users.id")?, loaded(row, "users")?);
    }
    for row in &deleted {
        let id = id_column(row, 0, "deleted_users.id")?;
        facts.deleted.insert(id, loaded(row, "deleted_users")?);
    }
    for row in holders.iter().chain(&of_external_ids) {
        let (claim, id) = holder(row)?;
        facts.holders.insert(claim, Some(id_of(id)));
    }
    for row in &marks {
        let (key, mark) = mark(row)?;
        facts.marks.insert(key, Some(mark));
    }
    Ok(())
}

/// What a request of that key came to before.
pub(crate) async fn known(connection: &Connection, key: [u8; 32]) -> Result<Option<Mark>, Miss> {
    let mut missing = Missing::default();
    missing.marks.insert(key);
    let mut facts = Facts::default();
    fetch(connection, &missing, Lock::Nothing, &mut facts).await?;
    Ok(facts.marks.remove(&key).flatten())
}

/// Keeps the direct groups of those who may leave them.
fn keep_groups(missing: &Missing, rows: &[SqlRow], facts: &mut Facts) -> Result<(), StoreError> {
    for id in &missing.groups_of {
        facts.groups_of.insert(*id, Vec::new());
    }
    for row in rows {
        let member = id_column(row, 0, "group_members.member_id")?;
        let group = group_of(&stored_at(row, 1)?)?;
        facts.groups_of.entry(member).or_default().push(group);
    }
    for groups in facts.groups_of.values_mut() {
        groups.sort_unstable_by_key(|group| group.id);
    }
    Ok(())
}

/// The keys of claims, by their kind.
#[derive(Default)]
struct HolderKeys<'m> {
    usernames: Vec<&'m [u8]>,
    emails: Vec<&'m [u8]>,
    external_ids: Vec<&'m [u8]>,
}

impl<'m> HolderKeys<'m> {
    fn of(missing: &'m Missing) -> Self {
        let mut keys = Self::default();
        for claim in &missing.holders {
            match claim {
                Claim::Username(key) => keys.usernames.push(key.as_bytes()),
                Claim::Email(key) => keys.emails.push(key.as_bytes()),
                Claim::ExternalId(key) => keys.external_ids.push(key.as_bytes()),
            }
        }
        keys
    }

    const fn are_names(&self) -> bool {
        !(self.usernames.is_empty() && self.emails.is_empty())
    }
}

fn loaded(row: &SqlRow, table: &str) -> Result<Row, StoreError> {
    let record = record_column(row, 1, table)?;
    Ok(match User::from_record(&record) {
        Ok(user) => Row::There(Arc::new(Current { user, record })),
        Err(fault) => Row::Damaged(fault.member),
    })
}

fn holder(row: &SqlRow) -> Result<(Claim, Uuid), StoreError> {
    let key: &[u8] = column(row, 1, "users keys")?;
    let key = std::str::from_utf8(key).map_err(|_| corrupt("users keys"))?.to_owned();
    let claim = match column(row, 0, "users keys")? {
        0_i32 => Claim::Username(key),
        1 => Claim::Email(key),
        _ => Claim::ExternalId(key),
    };
    Ok((claim, column(row, 2, "users.id")?))
}

fn mark(row: &SqlRow) -> Result<([u8; 32], Mark), StoreError> {
    let digest = |index, place| -> Result<[u8; 32], StoreError> {
        let bytes: &[u8] = column(row, index, place)?;
        bytes.try_into().map_err(|_| corrupt(place))
    };
    let effect: &str = column(row, 6, "idempotency_keys.effect")?;
    let effect = match effect {
        UNCHANGED => Effect::Unchanged,
        kind => {
            let kind = EventKind::parse(kind);
            Effect::Changed(kind.ok_or_else(|| corrupt("idempotency_keys.effect"))?)
        }
    };
    let record: Option<&str> = column(row, 7, "idempotency_keys.record")?;
    let id = id_column(row, 3, "idempotency_keys.user_id")?;
    let version = column(row, 4, "idempotency_keys.version")?;
    let mark = Mark {
        fingerprint: digest(1, "idempotency_keys.fingerprint")?,
        at: Timestamp::from_millis(column(row, 2, "idempotency_keys.at")?),
        effect,
        stored: record.map(|record| Stored {
            id,
            version,
            record: bytes::Bytes::copy_from_slice(record.as_bytes()),
        }),
        position: Place::At(column(row, 5, "idempotency_keys.position")?),
    };
    Ok((digest(0, "idempotency_keys.key")?, mark))
}
