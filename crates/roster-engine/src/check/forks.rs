//! Checks the former logs: each ends before an event that names its end.

use std::collections::BTreeMap;

use roster_core::{EventKind, LogId, Position, event::LOG_SUBJECT};

use super::{CheckReader, Line, each, log::Span};
use crate::{database::Values, fork::forked_record};

const FORMER_LOGS: &str = "SELECT position, log_id FROM former_logs ORDER BY position";

const EVENTS: &str = "SELECT position, kind, record, tenant FROM events \
     WHERE subject_id = $1 AND tenant = 0 ORDER BY position";

/// Checks the former logs and the events about the log.
pub(super) async fn check<R: CheckReader>(
    reader: R,
    span: Span,
    line: &mut Line,
) -> Result<(), R::Error> {
    let mut told = BTreeMap::new();
    let keep = |row: Values| {
        told.insert(row.integer(0), (row.octets(1).to_vec(), row.octets(2).to_vec()));
    };
    each(reader, EVENTS, &[LOG_SUBJECT.into()], keep).await?;
    line.count += u64::try_from(told.len()).unwrap_or_default();
    let compare = |row: Values| {
        let end = row.integer(0);
        let place = format!("former_logs at {end}");
        let Ok(log) = row.octets(1).try_into().map(LogId) else {
            line.fault(&place, "its log has no valid id");
            return;
        };
        let record = forked_record(Position { log, number: end });
        let expected = (EventKind::LogForked.as_str().as_bytes().to_vec(), record.into_bytes());
        let is_told = match told.remove(&(end + 1)) {
            Some(event) => event == expected,
            None => end + 1 < span.oldest(),
        };
        line.require(is_told, &place, "the event after it does not name it");
    };
    each(reader, FORMER_LOGS, &[], compare).await?;
    for position in told.into_keys() {
        line.fault(&format!("events at {position}"), "there is no such former log");
    }
    Ok(())
}
