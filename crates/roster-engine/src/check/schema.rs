//! Checks the schema of users: its events, and the setting that results from them.

use roster_core::{EventKind, UserSchema};

use super::{CheckReader, Line, log::Span, rows::Entry};
use crate::settings::{SCHEMA_SETTING, setting};

pub(super) struct SchemaHistory {
    span: Span,
    last: Option<(i64, Vec<u8>)>,
}

impl SchemaHistory {
    pub(super) const fn new(span: Span) -> Self {
        Self { span, last: None }
    }

    pub(super) fn add(&mut self, event: Entry, line: &mut Line) {
        line.count += 1;
        let place = format!("events at {}", event.position);
        let is_of_schema = EventKind::parse(&event.kind) == Some(EventKind::SchemaUpdated);
        line.require(is_of_schema, &place, "it is not an event of the schema");
        // A new store has version 1 without an event.
        let begins = if self.span.is_cut() { event.version } else { 2 };
        let expected = self.last.as_ref().map_or(begins, |(version, _)| version + 1);
        line.require(event.version == expected, &place, "its version does not rise by one");
        let schema = UserSchema::from_record(&event.record).ok();
        let is_same = schema.is_some_and(|schema| {
            schema.version == event.version && schema.to_record() == event.record
        });
        line.require(is_same, &place, "its record is not a schema of its version");
        self.last = Some((event.version, event.record));
    }

    /// Compares the last event with the setting.
    pub(super) async fn end<R: CheckReader>(
        self,
        reader: R,
        line: &mut Line,
    ) -> Result<(), R::Error> {
        let row = setting(reader, SCHEMA_SETTING).await?;
        let stored = row.as_ref().map(|row| row.octets(0));
        let is_last = match &self.last {
            Some((_, record)) => stored == Some(record),
            None => stored.is_none() || self.span.is_cut(),
        };
        line.require(is_last, &"settings.user_schema", "it is not the schema of the last event");
        let is_schema = stored.is_none_or(|stored| UserSchema::from_record(stored).is_ok());
        line.require(is_schema, &"settings.user_schema", "it is not a schema");
        Ok(())
    }
}
