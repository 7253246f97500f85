//! The query of a page of events, and its positions in the log.

use std::time::Duration;

use roster_core::{
    EventKind, EventsPage, EventsQuery, GroupId, LogId, Position, UserId, limits::PAGE_SIZE_DEFAULT,
};

use crate::{
    extract::{Parameter, ParameterFault, invalid, limit, read_each, target, unknown},
    problem::{Fault, Problem, ProblemCode},
};

/// The maximum time that a request waits for an event, in seconds.
const WAIT_MAX_S: u64 = 60;

/// The parameters of a page of events.
pub(super) struct EventListQuery<'a> {
    pub(super) page: EventsQuery,
    /// The position after which events are returned. Without one, the page begins with the oldest
    /// event.
    after: Option<Position>,
    /// How long to wait for an event.
    pub(super) wait: Duration,
    /// Whether events of groups are returned too.
    pub(super) shows: Shows,
    given: Vec<Parameter<'a>>,
}

/// The kind of subject whose events are returned. An id may belong to a user or to a group, so the
/// id of a group must not match as that of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    All,
    Users,
    Groups,
}

impl Shows {
    pub(super) const fn show(self, kind: EventKind) -> bool {
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
        let mut shows = if of_user.is_some() { Shows::Users } else { Shows::All };
        let given = read_each(query, |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
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
        let after = cursor.transpose()?.or(after);
        page.after = after.map_or(0, |after| after.number);
        Ok(Self { page, after, wait: waits, shows, given })
    }

    /// Rejects a position of another log.
    pub(super) fn check_log(&self, log: LogId) -> Result<(), Problem> {
        match self.after {
            Some(after) if after.log != log => Err(outlived("the position belongs to another log")),
            _ => Ok(()),
        }
    }

    /// Continues after the end of a page.
    pub(super) const fn continue_after(&mut self, end: Position) {
        self.page.after = end.number;
        self.after = Some(end);
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

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        target(path, &self.given, cursor)
    }
}

fn outlived(detail: &str) -> Problem {
    let way = "read the collection again and go on from its Roster-Position";
    Problem::saying(ProblemCode::PositionOutlived, format!("{detail}: {way}"))
}

fn place(text: &str) -> Result<Position, ParameterFault> {
    let detail = "give a Roster-Position or the id of an event";
    Position::parse(text).ok_or_else(|| invalid(detail))
}

/// A time to wait for events: whole seconds.
fn wait(text: &str) -> Result<Duration, ParameterFault> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = text.parse().ok().filter(|wait| is_number && *wait <= WAIT_MAX_S);
    let wait = wait.ok_or_else(|| invalid(&format!("give seconds, from 0 to {WAIT_MAX_S}")))?;
    Ok(Duration::from_secs(wait))
}

/// The wait that a valid query states.
pub(crate) fn stated_wait(query: Option<&str>) -> Duration {
    EventListQuery::read(query, None).map_or(Duration::ZERO, |query| query.wait)
}

fn kind(text: &str) -> Result<EventKind, ParameterFault> {
    EventKind::parse(text).ok_or_else(|| {
        let kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        invalid(&format!("give one of {}", kinds.join(", ")))
    })
}
