//! The events of one user or group in order. Each event must be possible after the previous one and
//! match its record. The last event must match the stored row.

use roster_core::{
    Attribute, EventKind, Json, Timestamp, attribute::Kind, event::changed_of, json,
};

use super::{
    findings::{Line, name, place},
    log::Span,
    rows::{Entry, Item},
};

/// The history of one user or group, up to the last event that was read.
pub(super) struct History {
    span: Span,
    /// Whether the user is purged and the records are still to be erased.
    is_being_erased: bool,
    last: Option<Last>,
    /// The first event with a record.
    filled: Option<i64>,
    /// The first event without one.
    emptied: Option<i64>,
}

/// The event that was read last.
struct Last {
    kind: Option<EventKind>,
    version: i64,
    at: i64,
    record: Vec<u8>,
    /// The record as JSON.
    tree: Option<Json>,
}

/// The kinds of events, and those that may come next.
const SEQUENCES: [(&[EventKind], &[EventKind]); 3] = [
    (
        &[EventKind::Created, EventKind::Updated, EventKind::Restored],
        &[EventKind::Updated, EventKind::Deleted],
    ),
    (&[EventKind::Deleted], &[EventKind::Restored, EventKind::Purged]),
    (
        &[EventKind::GroupCreated, EventKind::GroupUpdated],
        &[EventKind::GroupUpdated, EventKind::GroupDeleted],
    ),
];

impl History {
    pub(super) const fn new(span: Span) -> Self {
        Self { span, is_being_erased: false, last: None, filled: None, emptied: None }
    }

    pub(super) fn add(&mut self, event: Entry, line: &mut Line) {
        line.count += 1;
        self.is_being_erased = event.is_being_erased;
        let place = format!("events at {}", event.position);
        let kind = EventKind::parse(&event.kind);
        let was_purged =
            self.last.as_ref().is_some_and(|last| last.kind == Some(EventKind::Purged));
        if was_purged && kind == Some(EventKind::Created) {
            // The user was created again with its id, and has a new history.
            line.require(self.filled.is_none(), &place, "a record of before the purge is there");
            *self = Self { is_being_erased: event.is_being_erased, ..Self::new(self.span) };
        }
        line.require(kind.is_some(), &place, "there is no such kind of event");
        line.require(self.follows(kind), &place, "its kind cannot follow the event before it");
        let begins = if self.span.is_cut() { event.version } else { 1 };
        let expected = self.last.as_ref().map_or(begins, |last| last.version + 1);
        line.require(event.version == expected, &place, "its version does not rise by one");
        let after = self.last.as_ref().is_none_or(|last| last.at <= event.at);
        line.require(after, &place, "it happened before the event before it");
        let tree = if event.record.is_empty() {
            self.emptied.get_or_insert(event.position);
            None
        } else {
            self.filled.get_or_insert(event.position);
            self.record(&event, line, &place)
        };
        let Entry { version, at, record, .. } = event;
        self.last = Some(Last { kind, version, at, record, tree });
    }

    /// Whether an event of this kind may come next.
    fn follows(&self, kind: Option<EventKind>) -> bool {
        let Some(kind) = kind else { return true };
        let Some(last) = &self.last else {
            let begins = matches!(kind, EventKind::Created | EventKind::GroupCreated);
            return begins || self.span.is_cut();
        };
        let Some(last) = last.kind else { return true };
        SEQUENCES.iter().any(|(before, after)| before.contains(&last) && after.contains(&kind))
    }

    /// Compares an event with its record, and its changed members with the previous record.
    fn record(&self, event: &Entry, line: &mut Line, place: &str) -> Option<Json> {
        let Ok(tree) = json::read(&event.record) else {
            line.fault(&place, "its record is no JSON");
            return None;
        };
        let id = Json::Text(name(&event.id));
        let at = Json::Text(Timestamp::from_millis(event.at).to_string());
        for (member, value) in
            [("id", id), ("version", Json::Int(event.version)), ("updated_at", at)]
        {
            let same = tree.member(member) == Some(&value);
            line.require(same, &place, &format!("its record has another {member}"));
        }
        let mut written = Vec::with_capacity(event.record.len());
        json::write_json(&mut written, &tree);
        line.require(written == event.record, &place, "its record is not spelt as it is written");
        let nothing = Json::Object(Vec::new());
        let begins = [EventKind::Created, EventKind::GroupCreated];
        let begins = begins.iter().any(|kind| kind.as_str() == event.kind);
        let before = match &self.last {
            Some(last) => last.tree.as_ref(),
            None => begins.then_some(&nothing),
        };
        if let Some(before) = before {
            let told = changed_of(&event.changed);
            let same = told.is_some_and(|(told, _)| told == changed(before, &tree));
            line.require(same, &place, "what it says changed is not what differs in its record");
        }
        Some(tree)
    }

    pub(super) fn is_of_group(&self) -> bool {
        self.last.as_ref().and_then(|last| last.kind).is_some_and(EventKind::is_of_group)
    }

    /// Compares the last event with the group.
    pub(super) fn end_of_group(self, id: &[u8], group: Option<&Item>, line: &mut Line) {
        let place = place("events", id);
        let Some(last) = self.last else {
            line.require(self.span.is_cut(), &place, "there is none, but the group is there");
            return;
        };
        line.require(self.emptied.is_none(), &place, "a record is missing");
        if last.kind == Some(EventKind::GroupDeleted) {
            line.require(group.is_none(), &place, "the group is there, but was deleted");
            return;
        }
        line.require(last.is(group), &place, "the last one is not the group that is there");
    }

    /// Compares the last event with the user.
    pub(super) fn end(
        self,
        id: &[u8],
        user: Option<&Item>,
        deleted: Option<&Item>,
        line: &mut Line,
    ) {
        let place = place("events", id);
        let Some(last) = self.last else {
            line.require(self.span.is_cut(), &place, "there is none, but the user is there");
            return;
        };
        if last.kind == Some(EventKind::Purged) {
            let is_gone = user.is_none() && deleted.is_none();
            line.require(is_gone, &place, "the user is there, but was purged");
            let is_erased = self.filled.is_none() || self.is_being_erased;
            line.require(is_erased, &place, "a record is there, but the user was purged");
            return;
        }
        let what = "its history is to be erased, but the user was not purged";
        line.require(!self.is_being_erased, &place, what);
        let what = "a record is missing, but the user was not purged";
        line.require(self.emptied.is_none(), &place, what);
        if last.kind == Some(EventKind::Deleted) {
            let same = last.is(deleted) && user.is_none();
            line.require(same, &place, "the last one is not the deleted user that is kept");
        } else {
            let same = last.is(user) && deleted.is_none();
            line.require(same, &place, "the last one is not the user that is there");
        }
    }
}

impl Last {
    /// Whether the row is the state after the event.
    fn is(&self, row: Option<&Item>) -> bool {
        row.is_some_and(|row| row.version() == self.version && row.record() == self.record)
    }
}

/// The members that differ between two records, in table order, without those that the server sets.
fn changed(before: &Json, after: &Json) -> Vec<Attribute> {
    let differs = |attribute: &&Attribute| {
        !matches!(attribute.kind(), Kind::ServerMade)
            && before.member(attribute.name()) != after.member(attribute.name())
    };
    Attribute::ALL.iter().filter(differs).copied().collect()
}
