//! Queries for events of the change log, and their pages.

use std::sync::Arc;

use crate::{
    id::UserId,
    limits::{PAGE_BYTES_MAX, PAGE_EXAMINED_MAX},
    read::list::Direction,
    tenant::{TenantId, TenantName},
    write::{
        event::{Event, EventKind},
        position::{LogId, Position},
    },
};

/// A set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKinds(u32);

impl EventKinds {
    /// Every kind.
    pub const ALL: Self = Self(u32::MAX);

    /// No kind.
    pub const NONE: Self = Self(0);

    /// A set of one kind.
    pub fn only(kind: EventKind) -> Self {
        let place = EventKind::ALL.iter().position(|known| *known == kind);
        Self(place.map_or(0, |place| 1 << place))
    }

    /// The kinds of a type of events: its name, or all of a subject such as `user.*`.
    pub fn of_type(text: &str) -> Option<Self> {
        let is_of = |kind: &&EventKind| match text.strip_suffix(".*") {
            Some(subject) => kind.as_str().split_once('.').is_some_and(|(of, _)| of == subject),
            None => kind.as_str() == text,
        };
        let kinds = EventKind::ALL.iter().filter(is_of).map(|kind| Self::only(*kind));
        kinds.reduce(Self::or)
    }

    /// The kinds of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds that both sets have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether it has this kind.
    pub fn has(self, kind: EventKind) -> bool {
        self.0 & Self::only(kind).0 != 0
    }
}

/// A query for events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsQuery {
    /// Only events after this position.
    pub after: i64,
    /// Only events before this position, if the newest come first.
    pub before: i64,
    /// Ascending is the order of the log; descending is the newest event first.
    pub direction: Direction,
    /// The maximum number of events.
    pub limit: usize,
    /// Only events of these kinds.
    pub kinds: EventKinds,
    /// Only events of these actors; of all, if there are none.
    pub actors: Arc<[String]>,
    /// Only events of this user or group. Not together with `all_tenants`: ids are those of a
    /// tenant.
    pub user_id: Option<UserId>,
    /// Whether to return the events of all tenants.
    pub all_tenants: bool,
    /// The page ends early once its records have this many bytes.
    pub bytes_max: usize,
    /// The page ends early once this many events were examined.
    pub examined_max: usize,
}

impl EventsQuery {
    /// The events after a position, of all kinds and users.
    pub fn after(after: i64, limit: usize) -> Self {
        Self {
            after,
            before: i64::MAX,
            direction: Direction::Ascending,
            limit,
            kinds: EventKinds::ALL,
            actors: Arc::default(),
            user_id: None,
            all_tenants: false,
            bytes_max: PAGE_BYTES_MAX,
            examined_max: PAGE_EXAMINED_MAX,
        }
    }

    /// The last events before a position, the newest first.
    pub fn before(before: i64, limit: usize) -> Self {
        Self { before, direction: Direction::Descending, ..Self::after(0, limit) }
    }

    /// Whether events of any kind and actor are wanted.
    pub fn is_unfiltered(&self) -> bool {
        self.kinds == EventKinds::ALL && self.actors.is_empty()
    }

    /// Whether events of this kind and actor are wanted.
    pub fn wants(&self, kind: EventKind, actor: &str) -> bool {
        let is_of = |wanted: &String| wanted == actor;
        self.kinds.has(kind) && (self.actors.is_empty() || self.actors.iter().any(is_of))
    }

    /// The position that a page reaches once nothing is left to read, given the head and the oldest
    /// position of the log.
    pub fn end(&self, head: i64, oldest: i64) -> i64 {
        match self.direction {
            Direction::Ascending => head,
            Direction::Descending => self.after.max(oldest - 1).saturating_add(1),
        }
    }
}

/// A page of events, from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// The log of the positions.
    pub log: LogId,
    /// The events, each with its position.
    pub events: Vec<(i64, Event)>,
    /// The tenant of each event, and its name, if the query is for all tenants. The default tenant
    /// has no name, and a purged one has none any more.
    pub tenants: Vec<(TenantId, Option<TenantName>)>,
    /// The position that the page reaches: further events come after it, or before it if the newest
    /// come first. Once nothing is left it is [`EventsQuery::end`], whatever the query.
    pub reached: i64,
    /// The position of the log's last event.
    pub head: i64,
    /// The position of the oldest stored event, or one after the head if there is none.
    pub oldest: i64,
}

impl EventsPage {
    /// Removes the other events, each with its tenant.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&Event) -> bool) {
        let keeps: Vec<bool> = self.events.iter().map(|(_, event)| is_wanted(event)).collect();
        let mut of_events = keeps.iter();
        self.events.retain(|_| of_events.next().copied().unwrap_or(true));
        let mut of_tenants = keeps.iter();
        self.tenants.retain(|_| of_tenants.next().copied().unwrap_or(true));
    }

    /// A position of its log.
    pub const fn position(&self, number: i64) -> Position {
        Position { log: self.log, number }
    }
}
