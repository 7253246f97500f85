//! A new identity for a log whose last events may be lost.
//!
//! The new log continues the former one, with which it has all positions up to the fork in common.
//! A follower that has read no further notices nothing. The position of one that has read further
//! is rejected, because other events may get the positions of those that it read.

use roster_core::{
    Actor, Event, EventKind, LogId, MembersChanged, Position, TenantId, Timestamp,
    event::LOG_SUBJECT,
};

use crate::{
    audit::append_at,
    database::{Cell, Database, corrupt, first},
};

/// The identity of the log and its last position.
pub const LOG: &str = "SELECT log_id, position FROM log_head WHERE number = 1";

const FORMER_LOG: &str = "SELECT position FROM former_logs WHERE log_id = $1";

const ADD_FORMER: &str = "INSERT INTO former_logs (position, log_id) VALUES ($1, $2)";

const FORMER_COUNT: &str = "SELECT count(*) FROM former_logs";

const BEGIN: &str = "UPDATE log_head SET log_id = $1, position = $2 WHERE number = 1";

/// Begins a new log, in a transaction that has locked the head of the log. Its first event names
/// the end of the former log. Returns the position of that event.
pub async fn fork<D: Database>(db: D, log: LogId, at: Timestamp) -> Result<Position, D::Error> {
    let row = first(db, LOG, &[]).await?.ok_or_else(|| corrupt("log_head"))?;
    let parent = Position { log: row.log_id(0)?, number: row.number(1, "log_head.position")? };
    let former = [parent.number.into(), Cell::from(parent.log.0.as_slice())];
    db.execute(ADD_FORMER, &former).await?;
    let logs = first(db, FORMER_COUNT, &[]).await?.ok_or_else(|| corrupt("former_logs"))?;
    let next = Position { log, number: parent.number + 1 };
    let event = Event {
        kind: EventKind::LogForked,
        at,
        actor: Actor::System.to_string(),
        request_id: "fork".to_owned(),
        user_id: LOG_SUBJECT,
        version: logs.number(0, "former_logs")? + 1,
        changed: Vec::new(),
        members: MembersChanged::default(),
        record: forked_record(parent).into(),
    };
    append_at(db.of(TenantId::DEFAULT), next.number, &event).await?;
    db.execute(BEGIN, &[Cell::from(log.0.as_slice()), next.number.into()]).await?;
    Ok(next)
}

/// The record of the event after a fork.
pub(crate) fn forked_record(parent: Position) -> String {
    format!("{{\"parent\":\"{parent}\"}}")
}

/// The last position that the log has in common with a former one; `None` if that is no former one.
pub async fn former_log_end<D: Database>(db: D, log: LogId) -> Result<Option<i64>, D::Error> {
    let row = first(db, FORMER_LOG, &[Cell::from(log.0.as_slice())]).await?;
    Ok(row.map(|row| row.number(0, "former_logs.position")).transpose()?)
}
