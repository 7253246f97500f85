//! Checks the whole log: its positions, and the idempotency records that refer to it.

use roster_core::{EventKind, Group, User, UserSchema, schema::SCHEMA_ID};

use super::{CheckReader, Line, each, findings::name};
use crate::{
    database::{Cell, Values, first},
    write::idempotency::UNCHANGED,
};

const SPAN: &str = "SELECT count(*), min(position) FROM events";
const POSITIONS: &str = "SELECT position FROM events ORDER BY position";

/// The idempotency records, each with its event, and whether such a user or group exists or
/// existed. Of a deleted group, only events remain. The event is at the position of the record; for
/// a restored user it is before those of the groups.
const KEYS: &str = "SELECT k.position, k.user_id, k.version, k.effect, k.record, \
     e.subject_id, e.version, e.kind, \
     EXISTS (SELECT 1 FROM users WHERE tenant = k.tenant AND id = k.user_id) \
     OR EXISTS (SELECT 1 FROM deleted_users WHERE tenant = k.tenant AND id = k.user_id) \
     OR EXISTS (SELECT 1 FROM groups WHERE tenant = k.tenant AND id = k.user_id) \
     OR EXISTS (SELECT 1 FROM erasures WHERE tenant = k.tenant AND id = k.user_id) \
     OR EXISTS (SELECT 1 FROM events WHERE tenant = k.tenant AND subject_id = k.user_id \
     AND kind LIKE 'group.%') \
     FROM idempotency_keys AS k LEFT JOIN events AS e \
     ON e.tenant = k.tenant AND e.position = CASE k.effect WHEN 'user.restored' THEN \
     (SELECT max(r.position) FROM events AS r WHERE r.tenant = k.tenant \
     AND r.subject_id = k.user_id AND r.position <= k.position) ELSE k.position END \
     WHERE (SELECT status FROM tenants WHERE tenants.id = k.tenant) < 2";

/// The positions that the log still contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The oldest position, or one after the head if the log has no events.
    oldest: i64,
}

impl Span {
    async fn of<R: CheckReader>(reader: R, position: i64) -> Result<(Self, i64), R::Error> {
        let row = first(reader, SPAN, &[]).await?.unwrap_or_default();
        let count = row.integer(0);
        let oldest = if count == 0 { position + 1 } else { row.integer(1) };
        Ok((Self { oldest }, count))
    }

    /// Reads the span, and records a fault for every gap in it.
    pub(super) async fn check<R: CheckReader>(
        reader: R,
        position: i64,
        line: &mut Line,
    ) -> Result<Self, R::Error> {
        let (span, count) = Self::of(reader, position).await?;
        line.require(span.oldest >= 1, &"events", "a position is below 1");
        if count != position + 1 - span.oldest {
            let mut expected = span.oldest;
            let show = |row: Values| {
                let position = row.integer(0);
                let what = format!("positions {expected} to {} are missing", position - 1);
                line.require(position == expected, &"events", &what);
                expected = position + 1;
            };
            each(reader, POSITIONS, &[], show).await?;
            let what = format!("they end at {}, the head says {}", expected - 1, position);
            line.require(expected == position + 1, &"events", &what);
        }
        Ok(span)
    }

    /// The oldest position.
    pub(super) const fn oldest(self) -> i64 {
        self.oldest
    }

    /// Whether the log no longer begins with its first event.
    pub(super) const fn is_cut(self) -> bool {
        self.oldest > 1
    }
}

/// Checks the idempotency records: the log must contain the result of each, unless it was deleted
/// by age.
pub(super) async fn check_idempotency_keys<R: CheckReader>(reader: R, position: i64) -> Line {
    let mut line = Line::new("idempotency keys");
    let read = match Span::of(reader, position).await {
        Ok((span, _)) => {
            each(reader, KEYS, &[], |row| check_key(&row, span, position, &mut line)).await
        }
        Err(error) => Err(error),
    };
    line.end(read);
    line
}

fn check_key(row: &Values, Span { oldest }: Span, last: i64, line: &mut Line) {
    line.count += 1;
    let (position, id, version, effect) =
        (row.integer(0), row.octets(1), row.integer(2), row.octets(3));
    let place = format!("idempotency_keys at {position}, of {}", name(id));
    let is_within = (0..=last).contains(&position);
    line.require(is_within, &place, "there is no such position");
    let gone = [EventKind::Purged, EventKind::GroupDeleted];
    let is_gone = gone.iter().any(|kind| kind.as_str().as_bytes() == effect);
    let exists = row.integer(8) != 0 || id == SCHEMA_ID.as_bytes();
    line.require(is_gone || exists, &place, "there is no such user");
    let record = row.optional_octets(4);
    if effect == UNCHANGED.as_bytes() {
        let user = record.and_then(|record| User::from_record(record).ok());
        let user = user.map(|user| (user.id, user.version));
        let group = record.and_then(|record| Group::from_record(record).ok());
        let group = group.map(|group| (group.id, group.version));
        let schema = record.and_then(|record| UserSchema::from_record(record).ok());
        let schema = schema.map(|schema| (SCHEMA_ID, schema.version));
        let is =
            user.or(group).or(schema).is_some_and(|(of, at)| of.as_bytes() == id && at == version);
        line.require(is, &place, "its record is not of that user and version");
        return;
    }
    line.require(record.is_none(), &place, "it holds a record that the log has");
    let event = row.0.get(5..8);
    // The log may begin between a restored user and its groups.
    let is_restored = effect == EventKind::Restored.as_str().as_bytes();
    let is_cut =
        is_restored && oldest > 1 && event.is_none_or(|event| event.first() == Some(&Cell::Null));
    if position >= oldest && is_within && !is_cut {
        let told = [1, 2, 3].map(|index| row.0.get(index).cloned().unwrap_or(Cell::Null));
        let what = "the event there is not what the request came to";
        line.require(event == Some(&told), &place, what);
    }
}
