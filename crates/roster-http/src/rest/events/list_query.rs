//! The query of a page of events, and its positions in the log.

use std::time::Duration;

use roster_core::{
    Capped, EventKind, EventsPage, EventsQuery, GroupId, LogId, Position, UserId,
    limits::PAGE_SIZE_DEFAULT,
};

use crate::{
    extract::{Parameter, ParameterFault, invalid, limit, read_each, target, unknown},
    problem::{Fault, Problem, ProblemCode},
};

/// The maximum time that a request waits for an event, in seconds.
const WAIT_MAX_S: u64 = 60;

/// The parameters of a page of events.
pub(super) struct EventListQuery<'a> {
    pub(super) selection: Selection,
    /// How long to wait for an event.
    pub(super) wait: Duration,
    given: Vec<Parameter<'a>>,
}

/// The events that are returned.
#[derive(Clone, Copy)]
pub(super) struct Selection {
    pub(super) page: EventsQuery,
    /// The position after which events are returned. Without one, they begin with the oldest event.
    after: Option<Position>,
    /// Whether only events are wanted that are not there yet.
    pub(super) is_latest: bool,
    shows: Shows,
}

/// The kind of subject whose events are returned. An id may belong to a user or to a group, so the
/// id of a group must not match as that of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    All,
    Users,
    Groups,
}

impl Shows {
    const fn show(self, kind: EventKind) -> bool {
        match self {
            Self::All => true,
            Self::Users => kind.is_of_user(),
            Self::Groups => kind.is_of_group(),
        }
    }
}

impl<'a> EventListQuery<'a> {
    /// Parses a query, for one user if the path names one.
    pub(super) fn read(query: Option<&'a str>, of_user: Option<UserId>) -> Result<Self, Problem> {
        let mut page = EventsQuery::after(0, PAGE_SIZE_DEFAULT);
        page.user_id = of_user;
        let (mut after, mut cursor, mut waits) = (None, None, Duration::ZERO);
        let mut is_latest = false;
        let mut shows = if of_user.is_some() { Shows::Users } else { Shows::All };
        let given = read_each(query, |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "after" if value == "latest" => is_latest = true,
                "after" => after = Some(place(&value)?),
                "cursor" => cursor = Some(value.into_owned()),
                "limit" => page.limit = limit(&value)?,
                "wait" => waits = wait(&value)?,
                "type" => page.kind = Some(kind(&value)?),
                "tenants" if of_user.is_none() => match value.as_ref() {
                    "all" => page.all_tenants = true,
                    _ => return Err(invalid("give all, or omit it")),
                },
                "user_id" if of_user.is_none() && shows != Shows::Groups => {
                    let id = UserId::parse(&value);
                    page.user_id = Some(id.ok_or_else(|| invalid("give the id of a user"))?);
                    shows = Shows::Users;
                }
                "group_id" if of_user.is_none() && shows != Shows::Users => {
                    let id = GroupId::parse(&value);
                    page.user_id = Some(id.ok_or_else(|| invalid("give the id of a group"))?);
                    shows = Shows::Groups;
                }
                "user_id" | "group_id" if of_user.is_none() => {
                    let detail = "give a user or a group, not both".to_owned();
                    return Err(("conflicting-parameter", detail));
                }
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        if page.all_tenants && page.user_id.is_some() {
            let detail = "an id is that of a tenant: ask below its base URL";
            let fault = Fault::of_parameter("tenants", "conflicting-parameter", detail);
            return Err(
                Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into())
            );
        }
        // A page's cursor is the position that it reached. The link to the next page keeps the
        // original parameters; the cursor then takes precedence over `after`.
        let invalid_cursor = || Problem::new(ProblemCode::InvalidCursor);
        let cursor = cursor.map(|text| Position::parse(&text).ok_or_else(invalid_cursor));
        let mut selection = Selection { page, after: None, is_latest, shows };
        if let Some(after) = cursor.transpose()?.or(after) {
            selection.continue_after(after);
        }
        Ok(Self { selection, wait: waits, given })
    }

    /// Rejects parameters of pages, for a stream.
    pub(super) fn refuse_parameters_of_pages(&self) -> Result<(), Problem> {
        let is_of_pages =
            |given: &&Parameter<'_>| ["limit", "cursor", "wait"].contains(&given.name.as_ref());
        let mut faults = Capped::default();
        for given in self.given.iter().filter(is_of_pages) {
            let detail = "it is for pages, not for a stream";
            let name = given.name.clone();
            faults.push(|| Fault::of_parameter(name, "conflicting-parameter", detail));
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(Problem::listing(ProblemCode::InvalidQuery, "parameter", faults))
    }

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        target(path, &self.given, cursor)
    }
}

impl Selection {
    /// The position, if it is one of another log than this.
    pub(super) fn after_in_other_log(&self, log: LogId) -> Option<Position> {
        self.after.filter(|after| after.log != log)
    }

    /// Continues after the end of a page.
    pub(super) const fn continue_after(&mut self, end: Position) {
        self.page.after = end.number;
        self.after = Some(end);
        self.is_latest = false;
    }

    /// Rejects a position that the log does not have: after its end, or before its oldest event.
    pub(super) fn check(&self, page: &EventsPage) -> Result<(), Problem> {
        match self.after {
            Some(after) if after.number > page.head => {
                Err(outlived("the log ends before that position"))
            }
            Some(after) if after.number < page.oldest - 1 => {
                Err(outlived("the events after that position have outlived their time"))
            }
            _ => Ok(()),
        }
    }

    /// Whether no event is left out.
    pub(super) fn has_all_events(&self) -> bool {
        self.page.kind.is_none() && self.page.user_id.is_none()
    }

    /// Removes the events of other subjects.
    pub(super) fn retain(&self, page: &mut EventsPage) {
        page.events.retain(|(_, event)| self.shows.show(event.kind));
    }
}

pub(super) fn outlived(detail: &str) -> Problem {
    let way = "read the collection again and go on from its Roster-Position";
    Problem::saying(ProblemCode::PositionOutlived, format!("{detail}: {way}"))
}

fn place(text: &str) -> Result<Position, ParameterFault> {
    let detail = "give a Roster-Position, the id of an event, or latest";
    Position::parse(text).ok_or_else(|| invalid(detail))
}

/// A time to wait for events: whole seconds.
fn wait(text: &str) -> Result<Duration, ParameterFault> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = text.parse().ok().filter(|wait| is_number && *wait <= WAIT_MAX_S);
    let wait = wait.ok_or_else(|| invalid(&format!("give seconds, from 0 to {WAIT_MAX_S}")))?;
    Ok(Duration::from_secs(wait))
}

/// The time to wait that a valid query states.
pub(crate) fn stated_wait(query: Option<&str>) -> Duration {
    EventListQuery::read(query, None).map_or(Duration::ZERO, |query| query.wait)
}

fn kind(text: &str) -> Result<EventKind, ParameterFault> {
    EventKind::parse(text).ok_or_else(|| {
        let kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        invalid(&format!("give one of {}", kinds.join(", ")))
    })
}
