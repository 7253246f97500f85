//! The options of a write of one record: a dry run, preconditions, an idempotency key, the
//! preferred wait and the preferred response.

use axum::extract::FromRequestParts;
use http::{
    HeaderMap,
    header::{IF_MATCH, IF_NONE_MATCH},
    request::Parts,
};
use roster_core::{
    Directory, Effect, EventKind, LogId, MatchBy, Mode, OnConflict, Position, Preconditions, Start,
    Terms, Upsert, access::Scope, schema::IndexStatus,
};

use super::{
    Fingerprint, ParameterFault, ReturnPreference, boolean, idempotency,
    idempotency::IDEMPOTENCY_KEY, idempotency_key, invalid, preconditions, preferred_return,
    read_each, weak_preconditions,
};
use crate::{
    limits::{
        admission::{Class, LogCharges},
        time_limits::PreferredWait,
    },
    operation::Operation,
    problem::{Fault, Problem, ProblemCode},
    request::{BodyFacts, Call, RequestContext},
    state::AppState,
};

/// The options of a write of one record.
///
/// Fails with 400, in this order: for a malformed `If-Match` or `If-None-Match`, except if the
/// operation creates a record; for a malformed `Idempotency-Key`; for query parameters that the
/// operation does not have, that are repeated or have invalid values, all in one problem; and, for
/// the create of a user, for options that contradict each other ([`check_upsert`],
/// [`refuse_preconditions`]). A malformed `Prefer` is ignored.
pub(crate) struct WriteOptions {
    /// `dry_run`: whether the write is only checked and not stored.
    pub(crate) mode: Mode,
    /// `groups`: whether a restored user joins its groups again.
    pub(crate) joins_groups: bool,
    /// `on_conflict` and `match`: what the create of a user does if the user exists.
    pub(crate) upsert: Upsert,
    /// `keep_ids`: whether a new user gets the id of the body.
    pub(crate) keeps_id: bool,
    /// `Prefer: return`.
    pub(crate) preferred_return: Option<ReturnPreference>,
    /// `Prefer: wait`.
    preferred_wait: Option<PreferredWait>,
    /// `If-Match` and `If-None-Match`. Empty for the create of a user or group: it ignores the
    /// headers, or rejects them if `on_conflict` is not `fail`.
    pub(crate) preconditions: Preconditions,
    /// `Idempotency-Key`.
    idempotency_key: Option<String>,
    /// Whether the caller may read users and groups.
    pub(crate) may_read: bool,
    /// The account for what the write adds to the change log.
    log_charges: LogCharges,
    /// What the caller and the engine share about the write.
    start: Start,
    /// The log as it was known before the write.
    log: LogId,
}

impl FromRequestParts<AppState> for WriteOptions {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Problem> {
        let operation = RequestContext::of(parts)?.operation;
        let creates = matches!(
            operation,
            Some(
                Operation::CreateUser
                    | Operation::CreateGroup
                    | Operation::CreateTenant
                    | Operation::CreateWebhook
            )
        );
        let preconditions =
            if creates { Preconditions::default() } else { preconditions(&parts.headers)? };
        let mut options = Self::of(app, parts, preconditions)?;
        read_each(parts.uri.query(), |parameter| {
            let (name, value) = (parameter.name.as_ref(), parameter.value());
            match (name, operation) {
                ("dry_run", _) => options.mode = dry_run(&value)?,
                ("groups", Some(Operation::RestoreUser)) => {
                    options.joins_groups = boolean(&value)?;
                }
                ("keep_ids", Some(Operation::CreateUser)) => {
                    options.keeps_id = boolean(&value)?;
                }
                (_, Some(Operation::CreateUser))
                    if read_upsert(name, &value, &mut options.upsert, &app.directory)? => {}
                (_, operation) => return Err(unknown_parameter(operation)),
            }
            Ok(())
        })?;
        check_upsert(options.upsert)?;
        if options.upsert.on_conflict != OnConflict::Fail {
            refuse_preconditions(&parts.headers, NOT_FOR_UPSERTS)?;
        }
        Ok(options)
    }
}

/// The problem of an operation that does not store its result.
fn no_idempotency_key() -> Problem {
    let detail = "this operation stores no result and takes no Idempotency-Key";
    Problem::saying(ProblemCode::InvalidIdempotencyKey, detail)
}

/// Rejects an `Idempotency-Key` where no result is stored.
pub(crate) fn refuse_idempotency_key(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(IDEMPOTENCY_KEY) { Err(no_idempotency_key()) } else { Ok(()) }
}

impl WriteOptions {
    /// The options of a write through SCIM, whose entity tags are weak.
    pub(crate) fn of_scim(app: &AppState, parts: &Parts) -> Result<Self, Problem> {
        Self::of(app, parts, weak_preconditions(&parts.headers)?)
    }

    /// The options that headers state.
    fn of(app: &AppState, parts: &Parts, preconditions: Preconditions) -> Result<Self, Problem> {
        let headers = &parts.headers;
        let RequestContext { authority, client, log, .. } = RequestContext::of(parts)?;
        let log_charges = app.admission.log_charges(authority.actor(), *client);
        let start = log_charges.start(0);
        Ok(Self {
            mode: Mode::Write,
            joins_groups: false,
            upsert: Upsert::default(),
            keeps_id: false,
            preferred_return: preferred_return(headers),
            preferred_wait: PreferredWait::of(headers, &start),
            preconditions,
            idempotency_key: idempotency_key(headers)?,
            may_read: authority.may(Scope::UsersRead),
            log_charges,
            start,
            log: *log,
        })
    }

    /// A position that the write came to, or that it read.
    pub(crate) const fn position(&self, number: i64) -> Position {
        Position { log: self.log, number }
    }

    /// Whether nothing is stored.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.mode == Mode::DryRun
    }

    /// Refuses an `Idempotency-Key` where no result is stored.
    pub(crate) fn refuse_idempotency_key(&self) -> Result<(), Problem> {
        if self.idempotency_key.is_none() { Ok(()) } else { Err(no_idempotency_key()) }
    }

    /// Whether the response may contain the record: the caller may read it, or this request creates
    /// it, so that the caller wrote all of it.
    pub(crate) const fn shows(&self, effect: Effect) -> bool {
        self.may_read
            || matches!(effect, Effect::Changed(EventKind::Created | EventKind::GroupCreated))
    }

    /// What the directory needs in addition to the record: the preconditions, the idempotency
    /// record (none for a dry run), the mode, the caller, and the permission to begin, which
    /// [`Self::execute`] withdraws when the preferred wait is over.
    /// For a request without a body.
    pub(crate) fn terms(&self, call: &Call) -> Terms {
        let fingerprint = Fingerprint::of_retriable(&call.parts);
        let fingerprint = fingerprint.map(|fingerprint| fingerprint.of_body(b""));
        self.terms_with(call, BodyFacts { bytes: 0, fingerprint })
    }

    /// The same for a request whose body has been read.
    pub(crate) fn terms_with(&self, call: &Call, facts: BodyFacts) -> Terms {
        let caller = call.caller();
        let actor = caller.actor.to_string();
        // A dry run changes nothing, however often it is sent.
        let key = self.idempotency_key.as_ref().filter(|_| self.mode == Mode::Write);
        let retriable = key.zip(facts.fingerprint);
        let idempotency = retriable.map(|(key, print)| idempotency(&actor, key, print));
        self.start.note_sent(facts.bytes);
        let start = Some(self.start.clone());
        let preconditions = self.preconditions.clone();
        Terms { preconditions, idempotency, mode: self.mode, caller, start }
    }

    /// Waits for admission, then runs a write that was made with [`Self::terms`] of the same
    /// options. Fails with 429 if the caller has added too much to the change log. Fails with 503,
    /// and changes nothing, if the write is not admitted, or if it has not begun when the preferred
    /// wait is over. A write that has begun is awaited.
    pub(crate) async fn execute<T, E: Into<Problem>>(
        &self,
        app: &AppState,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Problem> {
        if self.mode == Mode::Write {
            self.log_charges.check()?;
        }
        let write = app.admission.with_admission(Class::Writes, write);
        let result = match &self.preferred_wait {
            Some(wait) => wait.hold(write).await,
            None => write.await,
        };
        result.map_err(|problem| problem.for_caller(self.may_read))
    }
}

/// Reads `dry_run`.
pub(crate) fn dry_run(value: &str) -> Result<Mode, ParameterFault> {
    Ok(if boolean(value)? { Mode::DryRun } else { Mode::Write })
}

/// Reads `on_conflict` or `match`; false if the parameter is another one.
pub(crate) fn read_upsert(
    name: &str,
    value: &str,
    upsert: &mut Upsert,
    directory: &Directory,
) -> Result<bool, ParameterFault> {
    match (name, value) {
        ("on_conflict", "fail") => upsert.on_conflict = OnConflict::Fail,
        ("on_conflict", "skip") => upsert.on_conflict = OnConflict::Skip,
        ("on_conflict", "replace") => upsert.on_conflict = OnConflict::Replace,
        ("on_conflict", "merge") => upsert.on_conflict = OnConflict::Merge,
        ("on_conflict", _) => return Err(invalid("give fail, skip, replace or merge")),
        ("match", "unique") => upsert.match_by = MatchBy::Unique,
        ("match", "external_id") => upsert.match_by = MatchBy::ExternalId,
        ("match", name) => {
            let schema = directory.schema();
            let index = schema.index_named(name).filter(|index| index.unique);
            let index = index.ok_or_else(|| {
                invalid(
                    "give unique, external_id, or a member that the schema makes unique, like \
                     attributes.badge",
                )
            })?;
            if index.status != IndexStatus::Ready {
                let detail = format!(
                    "the index of {name} is not ready, so it selects no user; see GET /schema"
                );
                return Err(("index-not-ready", detail));
            }
            upsert.match_by = MatchBy::Indexed(index.kind);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Rejects a match by one value without an `on_conflict` that needs to find a user.
pub(crate) fn check_upsert(upsert: Upsert) -> Result<(), Problem> {
    if upsert.match_by == MatchBy::Unique || upsert.on_conflict != OnConflict::Fail {
        return Ok(());
    }
    let detail = "a match by one value needs on_conflict=skip, replace or merge";
    let fault = Fault::of_parameter("match", "conflicting-parameter", detail);
    Err(Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into()))
}

/// Why a request with `on_conflict` has no preconditions: its client does not know which user
/// exists.
pub(crate) const NOT_FOR_UPSERTS: &str =
    "on_conflict takes no If-Match and no If-None-Match: use PUT or PATCH for them";

/// Fails if the request has preconditions.
pub(crate) fn refuse_preconditions(
    headers: &HeaderMap,
    detail: &'static str,
) -> Result<(), Problem> {
    if !headers.contains_key(IF_MATCH) && !headers.contains_key(IF_NONE_MATCH) {
        return Ok(());
    }
    Err(Problem::saying(ProblemCode::InvalidRequest, detail))
}

fn unknown_parameter(operation: Option<Operation>) -> ParameterFault {
    let detail = match operation {
        Some(Operation::CreateUser) => "a create takes dry_run, on_conflict, match and keep_ids",
        Some(Operation::RestoreUser) => "a restore takes dry_run and groups",
        _ => "a write takes dry_run alone",
    };
    ("unknown-parameter", detail.to_owned())
}
