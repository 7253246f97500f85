//! The log as a whole: its positions, and the requests that point into it.

use roster_core::{EventKind, Group, Head, User};
use rusqlite::Connection;

use super::{
    findings::{Line, name},
    rows::IS_BEING_ERASED,
};
use crate::{events::OLDEST, writer::UNCHANGED};

const SPAN: &str = "SELECT count(*), min(position) FROM events";
const POSITIONS: &str = "SELECT position FROM events ORDER BY position";

const KEYS: &str = "SELECT k.position, k.user_id, k.version, k.effect, k.record, \
     e.subject_id, e.version, e.kind, \
     EXISTS (SELECT 1 FROM users WHERE id = k.user_id) OR \
     EXISTS (SELECT 1 FROM deleted_users WHERE id = k.user_id) \
     FROM idempotency_keys k LEFT JOIN events e ON e.position = k.position";

const IS_OR_WAS_GROUP: &str = "SELECT 1 FROM groups WHERE id = ?1 \
     UNION ALL SELECT 1 FROM events WHERE subject_id = ?1 AND kind LIKE 'group.%'";

/// Which positions are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The oldest; one beyond the head where none is.
    oldest: i64,
}

impl Span {
    /// Reads the span, and names every gap in it.
    pub(super) fn read(
        connection: &Connection,
        head: Head,
        line: &mut Line,
    ) -> rusqlite::Result<Self> {
        let (count, oldest): (i64, Option<i64>) =
            connection.query_row(SPAN, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let oldest = oldest.unwrap_or(head.position + 1);
        line.hold(oldest >= 1, &"events", "a position is below 1");
        if count != head.position + 1 - oldest {
            gaps(connection, oldest, head, line)?;
        }
        Ok(Self { oldest })
    }

    /// Whether the log no longer begins with its first event.
    pub(super) const fn is_cut(self) -> bool {
        self.oldest > 1
    }
}

fn gaps(connection: &Connection, oldest: i64, head: Head, line: &mut Line) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(POSITIONS)?;
    let mut rows = statement.query([])?;
    let mut expected = oldest;
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        let what = format!("positions {expected} to {} are missing", position - 1);
        line.hold(position == expected, &"events", &what);
        expected = position + 1;
    }
    let what = format!("they end at {}, the head says {}", expected - 1, head.position);
    line.hold(expected == head.position + 1, &"events", &what);
    Ok(())
}

/// Requests that may come twice: what they came to is in the log, unless it has outlived its time.
pub(super) fn idempotency_keys(connection: &Connection, head: Head) -> Line {
    Line::of("idempotency keys", |line| keys(connection, head, line))
}

fn keys(connection: &Connection, head: Head, line: &mut Line) -> rusqlite::Result<()> {
    let oldest: Option<i64> = connection.query_row(OLDEST, [], |row| row.get(0))?;
    let oldest = oldest.unwrap_or(head.position + 1);
    let mut statement = connection.prepare(KEYS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        line.count += 1;
        let position: i64 = row.get(0)?;
        let id: Vec<u8> = row.get(1)?;
        let version: i64 = row.get(2)?;
        let effect: String = row.get(3)?;
        let place = format!("idempotency_keys at {position}, of {}", name(&id));
        let within = (0..=head.position).contains(&position);
        line.hold(within, &place, "there is no such position");
        let gone = [EventKind::Purged.as_str(), EventKind::GroupDeleted.as_str()];
        let someone = gone.contains(&effect.as_str())
            || row.get(8)?
            // Of a group that was deleted, only events are left.
            || connection.prepare_cached(IS_OR_WAS_GROUP)?.exists([&id])?
            || connection.prepare_cached(IS_BEING_ERASED)?.exists([&id])?;
        line.hold(someone, &place, "there is no such user");
        let record = row.get_ref(4)?.as_bytes_or_null()?;
        if effect == UNCHANGED {
            let user = record.and_then(|record| User::from_record(record).ok());
            let user = user.map(|user| (user.id, user.version));
            let group = record.and_then(|record| Group::from_record(record).ok());
            let group = group.map(|group| (group.id, group.version));
            let is = user.or(group).is_some_and(|(of, at)| of.as_bytes() == &*id && at == version);
            line.hold(is, &place, "its record is not of that user and version");
            continue;
        }
        line.hold(record.is_none(), &place, "it holds a record that the log has");
        if position >= oldest && within {
            let event: (Option<Vec<u8>>, Option<i64>, Option<String>) =
                (row.get(5)?, row.get(6)?, row.get(7)?);
            let same = event == (Some(id), Some(version), Some(effect));
            line.hold(same, &place, "the event there is not what the request came to");
        }
    }
    Ok(())
}
