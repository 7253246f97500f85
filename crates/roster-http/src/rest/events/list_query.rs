//! The query of a page of events, and its positions in the log.

use std::time::Duration;

use roster_core::{
    Capped, EventKind, EventKinds, EventsPage, EventsQuery, GroupId, LogId, Position, SubjectKind,
    TenantId, TenantName, UserId,
    access::{AuditView, KeyId},
    audit::{key_subject, tenant_subject},
    limits::{EVENT_VALUES_MAX as VALUES_MAX, PAGE_SIZE_DEFAULT},
    list::Direction,
};

use crate::{
    extract::{Parameter, ParameterFault, invalid, limit, read_lists, target, unknown},
    problem::{Fault, Problem, ProblemCode},
};

/// The maximum time that a request waits for an event, in seconds.
const WAIT_MAX_S: u64 = 60;

/// A longer wait is answered after this time: many proxies end a request that has no response after
/// 60 seconds.
const ANSWERED_S: u64 = 55;

/// The parameters of a page of events.
pub(super) struct EventListQuery<'a> {
    pub(super) selection: Selection,
    /// How long to wait for an event.
    pub(super) wait: Duration,
    given: Vec<Parameter<'a>>,
}

/// The events that are returned.
#[derive(Clone)]
pub(super) struct Selection {
    pub(super) page: EventsQuery,
    /// The position where the caller begins: the events after it, or before it if the newest come
    /// first. Without one, all events.
    start: Option<Position>,
    /// The position where a list ends whose newest events come first.
    end: Option<Position>,
    /// Whether only events are wanted that are not there yet.
    pub(super) is_latest: bool,
    /// What the id belongs to. The id of a group must not match as that of a user.
    subject: Option<SubjectKind>,
    /// The tenant that the events are about, until its id is found.
    pub(super) of_tenant: Option<TenantName>,
    /// The kinds that the query names.
    named: EventKinds,
    /// Which audit events the caller may read.
    pub(super) audit: AuditView,
}

/// The kinds of events about a subject.
fn kinds_of(subject: SubjectKind) -> EventKinds {
    let kinds = EventKind::ALL.iter().filter(|kind| kind.subject() == subject);
    kinds.fold(EventKinds::NONE, |kinds, kind| kinds.or(EventKinds::only(*kind)))
}

/// What the parameters select.
#[derive(Default)]
struct Wanted {
    id: Option<UserId>,
    subject: Option<SubjectKind>,
    of_tenant: Option<TenantName>,
    types: Option<EventKinds>,
    types_count: usize,
    actors: Vec<String>,
}

impl Wanted {
    /// Selects a subject, unless the query has another one.
    fn select(&mut self, (subject, id): (SubjectKind, Subject)) -> Result<(), ParameterFault> {
        if self.subject.is_some() {
            let detail = "give one of user_id, group_id and subject".to_owned();
            return Err(("conflicting-parameter", detail));
        }
        self.subject = Some(subject);
        match id {
            Subject::Only => {}
            Subject::Id(id) => self.id = Some(id),
            Subject::Tenant(name) => self.of_tenant = Some(name),
        }
        Ok(())
    }

    /// Adds types: names, or all with a prefix, separated by commas.
    fn add_types(&mut self, text: &str) -> Result<(), ParameterFault> {
        for name in text.split(',') {
            self.types_count += 1;
            if self.types_count > VALUES_MAX {
                return Err(too_many());
            }
            let kinds = EventKinds::of_type(name).ok_or_else(|| {
                let names: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
                invalid(&format!("give {}, or all of a subject such as user.*", names.join(", ")))
            })?;
            self.types = Some(self.types.unwrap_or(EventKinds::NONE).or(kinds));
        }
        Ok(())
    }

    fn add_actor(&mut self, actor: String) -> Result<(), ParameterFault> {
        if self.actors.len() >= VALUES_MAX {
            return Err(too_many());
        }
        if actor.is_empty() || actor.chars().any(char::is_control) {
            return Err(invalid("give the actor of an event"));
        }
        self.actors.push(actor);
        Ok(())
    }

    /// The kinds that it names.
    fn named(&self) -> EventKinds {
        let of_subject = self.subject.map_or(EventKinds::NONE, kinds_of);
        of_subject.or(self.types.unwrap_or(EventKinds::NONE))
    }

    fn write_to(self, page: &mut EventsQuery) {
        let has_id = self.id.is_some() || self.of_tenant.is_some();
        page.user_id = self.id;
        page.actors = self.actors.into();
        // All events of an id are of one subject, which is compared when they are read.
        let of_subject = self.subject.filter(|_| !has_id);
        let of_subject = of_subject.map_or(EventKinds::ALL, kinds_of);
        page.kinds = of_subject.and(self.types.unwrap_or(EventKinds::ALL));
    }
}

fn too_many() -> ParameterFault {
    ("too-many", format!("give at most {VALUES_MAX} values"))
}

/// Which subject of its kind.
enum Subject {
    /// There is only one.
    Only,
    Id(UserId),
    Tenant(TenantName),
}

/// The subject that a parameter names.
fn named_subject(name: &str, value: &str) -> Result<(SubjectKind, Subject), ParameterFault> {
    let (text, detail) = match name {
        "user_id" => (format!("users/{value}"), "give the id of a user"),
        "group_id" => (format!("groups/{value}"), "give the id of a group"),
        "subject" => (value.to_owned(), "give the subject of an event, such as users/ID"),
        _ => return Err(unknown()),
    };
    subject(&text).ok_or_else(|| invalid(detail))
}

/// The subject of an event as the event names it.
fn subject(text: &str) -> Option<(SubjectKind, Subject)> {
    let of = |kind, id: Option<UserId>| Some((kind, Subject::Id(id?)));
    match text.split_once('/') {
        Some(("users", id)) => of(SubjectKind::User, UserId::parse(id)),
        Some(("groups", id)) => of(SubjectKind::Group, GroupId::parse(id)),
        Some(("webhooks", id)) => of(SubjectKind::Webhook, UserId::parse(id)),
        Some(("keys", id)) => of(SubjectKind::Key, KeyId::parse(id).map(key_subject)),
        Some(("tenants", name)) => match name.strip_prefix('#') {
            None => Some((SubjectKind::Tenant, Subject::Tenant(TenantName::parse(name)?))),
            Some(number) => {
                let tenant = number.parse().ok().and_then(TenantId::new);
                // Another spelling of the number is the subject of no event.
                let tenant = tenant.filter(|tenant| tenant.number().to_string() == number);
                of(SubjectKind::Tenant, tenant.map(tenant_subject))
            }
        },
        Some(_) => None,
        None => {
            let only = [
                ("schema", SubjectKind::Schema),
                ("log", SubjectKind::Log),
                ("policy", SubjectKind::Policy),
                ("settings", SubjectKind::Settings),
            ];
            let found = only.into_iter().find(|(name, _)| *name == text);
            found.map(|(_, kind)| (kind, Subject::Only))
        }
    }
}

impl<'a> EventListQuery<'a> {
    /// Parses a query, for one user if the path names one.
    pub(super) fn read(query: Option<&'a str>, of_user: Option<UserId>) -> Result<Self, Problem> {
        let mut page = EventsQuery::after(0, PAGE_SIZE_DEFAULT);
        let (mut after, mut cursor, mut waits) = (None, None, Duration::ZERO);
        let (mut is_latest, mut wanted) = (false, Wanted::default());
        if let Some(id) = of_user {
            (wanted.subject, wanted.id) = (Some(SubjectKind::User), Some(id));
        }
        let given = read_lists(query, &["type", "actor"], |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "after" if value == "latest" => is_latest = true,
                "after" => after = Some(place(&value)?),
                "cursor" => cursor = Some(value.into_owned()),
                "limit" => page.limit = limit(&value)?,
                "wait" => waits = wait(&value)?,
                "sort" => {
                    page.direction = match value.as_ref() {
                        "position" => Direction::Ascending,
                        "-position" => Direction::Descending,
                        _ => return Err(invalid("give position or -position")),
                    };
                }
                "type" => wanted.add_types(&value)?,
                "actor" => wanted.add_actor(parameter.literal().into_owned())?,
                _ if of_user.is_some() => return Err(unknown()),
                "tenants" => match value.as_ref() {
                    "all" => page.all_tenants = true,
                    _ => return Err(invalid("give all, or omit it")),
                },
                name => {
                    wanted.select(named_subject(name, &value)?)?;
                }
            }
            Ok(())
        })?;
        let (of_tenant, named) = (wanted.of_tenant.clone(), wanted.named());
        let has_id = wanted.id.is_some() || of_tenant.is_some();
        let subject = wanted.subject.filter(|_| has_id);
        wanted.write_to(&mut page);
        let refuse = |name: &'static str, detail: &'static str| {
            let fault = Fault::of_parameter(name, "conflicting-parameter", detail);
            Err(Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into()))
        };
        if page.all_tenants && has_id {
            return refuse(
                "tenants",
                "a subject belongs to one log: ask at the base URL of its tenant, without tenants",
            );
        }
        let is_newest_first = page.direction == Direction::Descending;
        if is_newest_first && is_latest {
            return refuse("after", "with sort=-position, the list begins at the end of the log");
        }
        if is_newest_first && !waits.is_zero() {
            return refuse("wait", "with sort=-position, there is nothing to wait for");
        }
        let invalid_cursor = || Problem::new(ProblemCode::InvalidCursor);
        let cursor = cursor.map(|text: String| Position::parse(&text).ok_or_else(invalid_cursor));
        let (start, end, audit) = (None, None, AuditView::Nothing);
        let mut selection =
            Selection { page, start, end, is_latest, subject, of_tenant, named, audit };
        if is_newest_first {
            selection.page.after = after.map_or(0, |after: Position| after.number);
            selection.end = after.take();
        }
        // A page's cursor is the position that it reached. The link to the next page keeps the
        // original parameters; the cursor then takes precedence over `after`.
        if let Some(start) = cursor.transpose()?.or(after) {
            selection.continue_after(start);
        }
        Ok(Self { selection, wait: waits, given })
    }

    /// Rejects parameters of pages, for a stream.
    pub(super) fn refuse_parameters_of_pages(&self) -> Result<(), Problem> {
        let is_of_pages = |given: &&Parameter<'_>| {
            ["limit", "cursor", "wait", "sort"].contains(&given.name.as_ref())
        };
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
    /// The given positions of other logs than this.
    pub(super) fn positions_in_other_logs(&self, log: LogId) -> impl Iterator<Item = Position> {
        [self.start, self.end].into_iter().flatten().filter(move |given| given.log != log)
    }

    /// Continues where a page ended.
    pub(super) const fn continue_after(&mut self, end: Position) {
        match self.page.direction {
            Direction::Ascending => self.page.after = end.number,
            Direction::Descending => self.page.before = end.number,
        }
        self.start = Some(end);
        self.is_latest = false;
    }

    /// Rejects a position that the log does not have: after its end, or before its oldest event.
    /// The newest events come first from any position down to the oldest one.
    pub(super) fn check(&self, page: &EventsPage) -> Result<(), Problem> {
        let is_newest_first = self.page.direction == Direction::Descending;
        // The events before the position after the last one are all events.
        let is_after = |given: Option<Position>, last| given.is_some_and(|it| it.number > last);
        if is_after(self.start, page.head + i64::from(is_newest_first))
            || is_after(self.end, page.head)
        {
            return Err(outlived("the log ends before that position"));
        }
        let is_outlived = |start: Position| !is_newest_first && start.number < page.oldest - 1;
        if self.start.is_some_and(is_outlived) {
            return Err(outlived("the events after that position have outlived their time"));
        }
        Ok(())
    }

    /// Whether the query names kinds of events about such a subject.
    pub(super) fn names(&self, subject: SubjectKind) -> bool {
        self.named.and(kinds_of(subject)) != EventKinds::NONE
    }

    /// Removes the events of other subjects.
    pub(super) fn retain(&self, page: &mut EventsPage) {
        page.retain(|event| self.subject.is_none_or(|of| of == event.kind.subject()));
    }

    /// Whether no event is left out.
    pub(super) fn has_all_events(&self) -> bool {
        self.page.is_unfiltered() && self.page.user_id.is_none()
    }

    /// The position that a page shows the log up to: that of its end, or that before which it goes
    /// back.
    pub(super) fn shown(&self, page: &EventsPage) -> Position {
        page.position(match self.page.direction {
            Direction::Ascending => page.reached,
            Direction::Descending => page.head.min(self.page.before - 1).max(0),
        })
    }

    /// Where the next page begins, if there may be one.
    pub(super) fn next(&self, page: &EventsPage) -> Option<Position> {
        let is_end = page.reached == self.page.end(page.head, page.oldest);
        (!is_end).then(|| page.position(page.reached))
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
    let wait = text.parse::<u64>().ok().filter(|wait| is_number && *wait <= WAIT_MAX_S);
    let wait = wait.ok_or_else(|| invalid(&format!("give seconds, from 0 to {WAIT_MAX_S}")))?;
    Ok(Duration::from_secs(wait.min(ANSWERED_S)))
}

/// The time to wait that a valid query states.
pub(crate) fn stated_wait(query: Option<&str>) -> Duration {
    EventListQuery::read(query, None).map_or(Duration::ZERO, |query| query.wait)
}
