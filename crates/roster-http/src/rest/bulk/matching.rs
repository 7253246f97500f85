//! `PATCH` and `DELETE /bulk/users` with conditions in the query: one change of every user that
//! matches.
//!
//! A dry run counts the users that match and returns the first of them as they would be. A real run
//! must state this count, so a condition that matches other users than expected changes nothing. It
//! reads the users page by page and changes each one only if it still has the version that was
//! read. If the condition reads groups, which are in no version, users are tested again just before
//! they are changed. The response is a stream of results. If the client disconnects, the run stops.

use std::{
    collections::{BTreeSet, VecDeque},
    iter,
    sync::Arc,
};

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderMap,
    header::{CACHE_CONTROL, CONTENT_TYPE, IF_NONE_MATCH},
};
use roster_core::{
    BulkLine, BulkWrite, Caller, Directory, Failure, Json, Mode, Outcome, Preconditions,
    StoreError, Stored, Tags, UserId,
    access::{Permit, ReadUsers, WriteUsers},
    filter::Expression,
    json::{separate, write_json},
    limits::PAGE_SIZE_DEFAULT,
    list::{Page, PageQuery},
};
use roster_server::{BodySender, Gone, StreamedBody};
use tokio::task::yield_now;

use super::{
    batch::BATCH_LINES_MAX,
    bulk_query::{BulkQuery, LineKind},
    charges::LineCharges,
    export::read_again,
    flight::Flight,
    intake::is_full,
    line_result::{LineResult, Tally},
};
use crate::{
    access::Lease,
    extract::{
        EntityTags, IDEMPOTENCY_KEY, JSON, NDJSON, Parameter, ParameterFault, dry_run, invalid,
        negotiate, refuse_if_match, tags,
    },
    limits::admission::LogCharges,
    problem::{Fault, Problem, ProblemCode},
    request::Call,
    rest::{
        respond::{DRY_RUN, PRIVATE, TRUE, position},
        users::{ListForm, UserListQuery},
    },
    state::AppState,
};

/// The number of users per read. It is the minimum for a read of low priority, because the users
/// are kept in memory while they are changed.
const USERS_AT_ONCE: usize = 4 * BATCH_LINES_MAX;

/// Checks the preconditions of a change of many users: `If-Match` with tags and `If-None-Match: *`
/// never hold.
pub(super) fn check_preconditions(headers: &HeaderMap) -> Result<(), Problem> {
    refuse_if_match(headers, "each user has a version of its own, so no If-Match matches")?;
    if tags(headers, &IF_NONE_MATCH)? == Some(EntityTags::Any) {
        let detail = "the collection exists, so If-None-Match: * does not hold";
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    Ok(())
}

/// A change of every user that matches.
pub(crate) enum MatchingChange {
    /// Patch it by JSON Merge Patch.
    Patch(Arc<Json>),
    /// Delete it.
    Delete,
}

impl MatchingChange {
    /// The change of a user at the version that was read; of none if it does not match any more.
    fn of(&self, user: &Stored, still_matches: bool) -> BulkWrite {
        let if_match =
            Some(Tags::Versions(still_matches.then_some(user.version).into_iter().collect()));
        let preconditions = Preconditions { if_match, if_none_match: None };
        match self {
            Self::Patch(patch) => BulkWrite::Patch(user.id, preconditions, Arc::clone(patch)),
            Self::Delete => BulkWrite::Delete(user.id, preconditions),
        }
    }

    const fn kind(&self) -> LineKind {
        match self {
            Self::Patch(_) => LineKind::Patch,
            Self::Delete => LineKind::Delete,
        }
    }
}

/// Changes the users that match the query, or returns what would change.
pub(crate) async fn change_matching(
    app: &AppState,
    call: &Call,
    change: MatchingChange,
) -> Result<Response, Problem> {
    let may_write = call.permit::<WriteUsers>()?;
    if call.parts.headers.contains_key(IDEMPOTENCY_KEY) {
        let detail =
            "a change of many users takes no Idempotency-Key: count the rest and confirm it";
        return Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail));
    }
    check_preconditions(&call.parts.headers)?;
    let (mut mode, mut confirmed) = (Mode::Write, None);
    let take = |parameter: &Parameter<'_>| {
        let value = parameter.value();
        match parameter.name.as_ref() {
            "dry_run" => mode = dry_run(&value)?,
            "confirm" => confirmed = Some(number(&value)?),
            _ => return Ok(false),
        }
        Ok(true)
    };
    let UserListQuery { mut page, query, .. } =
        UserListQuery::read(app, call, ListForm::Change, take)?;
    if query.given.iter().all(|given| matches!(given.name.as_ref(), "dry_run" | "confirm")) {
        let detail = "name the users by filter, id, status or another condition, or send \
                      application/x-ndjson with an id a line";
        return Err(required("filter", detail));
    }
    let may_read = call.permit::<ReadUsers>()?;
    // `curl --json` accepts JSON alone, and the lines are JSON.
    negotiate(&call.parts.headers, if mode == Mode::DryRun { &[JSON] } else { &[NDJSON, JSON] })?;
    page.limit = USERS_AT_ONCE;
    let place = app.transfers.imports.take(&call.identity(), &app.admission.refusals).await?;
    if mode == Mode::DryRun {
        return preview(app, call, (may_read, may_write), (page, confirmed), &change).await;
    }
    let Some(confirmed) = confirmed else {
        let detail = "send dry_run=true first, and then the count that it returns";
        return Err(required("confirm", detail));
    };
    let Counted { count, .. } = count(&app.directory, may_read, page.clone()).await?;
    check_count(count, confirmed)?;
    let caller = call.caller();
    let log_charges = app.admission.log_charges(&caller.actor, call.client());
    log_charges.check()?;
    let (body, sender) = StreamedBody::new(call.peer());
    let run = Run {
        lease: call.lease(app, place)?,
        charges: LineCharges::new(app, caller.actor.clone(), call.client()),
        log_charges,
        caller,
        app: app.clone(),
        may_read,
        query: page,
        change,
        left: count,
        flight: Flight::new(),
        changed: VecDeque::new(),
        tally: Tally::default(),
        is_full: false,
    };
    tokio::spawn(run.send(sender));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, NDJSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    Ok(response)
}

fn number(text: &str) -> Result<u64, ParameterFault> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| invalid("give the count that dry_run=true returns"))
}

fn required(parameter: &'static str, detail: &'static str) -> Problem {
    let fault = Fault::of_parameter(parameter, "required", detail);
    Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into())
}

/// Reads a page. After a transient error it reads again.
async fn read_page(
    directory: &Directory,
    may: Permit<ReadUsers>,
    query: &PageQuery,
) -> Result<Page, StoreError> {
    read_again(|| directory.list(may, query.clone())).await
}

/// Those of the users that match now; `None` if the condition reads only what a version covers.
async fn still_match(
    directory: &Directory,
    may: Permit<ReadUsers>,
    query: &PageQuery,
    users: &[Stored],
) -> Result<Option<BTreeSet<UserId>>, StoreError> {
    if !query.filter.as_ref().is_some_and(|filter| filter.reads_groups()) {
        return Ok(None);
    }
    let ids = Expression::ids(users.iter().map(|user| user.id).collect());
    let mut query = PageQuery { after: None, ..query.clone() }.with(ids);
    let mut found = BTreeSet::new();
    loop {
        let page = read_page(directory, may, &query).await?;
        found.extend(page.items.iter().map(|user| user.id));
        query.after = page.next;
        if query.after.is_none() {
            return Ok(Some(found));
        }
    }
}

/// The users that match: their number, and the first ones.
struct Counted {
    count: u64,
    first: Vec<Stored>,
    position: i64,
}

async fn count(
    directory: &Directory,
    may: Permit<ReadUsers>,
    mut query: PageQuery,
) -> Result<Counted, StoreError> {
    let mut counted = Counted { count: 0, first: Vec::new(), position: 0 };
    loop {
        let Page { items, next, position, .. } = read_page(directory, may, &query).await?;
        counted.count += u64::try_from(items.len()).unwrap_or_default();
        counted.position = position;
        let missing = PAGE_SIZE_DEFAULT - counted.first.len();
        counted.first.extend(items.into_iter().take(missing));
        query.after = next;
        if query.after.is_none() {
            return Ok(counted);
        }
    }
}

fn check_count(count: u64, confirmed: u64) -> Result<(), Problem> {
    if count == confirmed {
        return Ok(());
    }
    let detail = format!("the count is {count}, not {confirmed}; nothing was changed");
    Err(Problem::saying(ProblemCode::CountMismatch, detail))
}

/// The response to a dry run.
async fn preview(
    app: &AppState,
    call: &Call,
    (may_read, may_write): (Permit<ReadUsers>, Permit<WriteUsers>),
    (page, confirmed): (PageQuery, Option<u64>),
    change: &MatchingChange,
) -> Result<Response, Problem> {
    let counted = count(&app.directory, may_read, page).await?;
    if let Some(confirmed) = confirmed {
        check_count(counted.count, confirmed)?;
    }
    let caller = call.caller();
    let mut results = Vec::with_capacity(counted.first.len());
    for user in &counted.first {
        let write = vec![change.of(user, true).into()];
        results.extend(app.directory.write_many(may_write, write, Mode::DryRun, &caller).await);
        // The store may have had the result at once.
        yield_now().await;
    }
    let mut out = format!("{{\"count\":{},\"items\":[", counted.count).into_bytes();
    let (mut shown, mut failed) = (0, Vec::new());
    for (user, result) in counted.first.iter().zip(results) {
        match result.map_err(Problem::from) {
            Ok(outcome) => {
                separate(shown, &mut out);
                out.extend_from_slice(&outcome.stored.record);
                shown += 1;
            }
            Err(problem) => {
                let problem = problem.into_members(&app.settings.base_url, None);
                let id = ("id".to_owned(), Json::Text(user.id.to_string()));
                let problem = ("problem".to_owned(), Json::Object(problem));
                failed.push(Json::Object(vec![id, problem]));
            }
        }
    }
    out.extend_from_slice(b"],\"failed\":");
    write_json(&mut out, &Json::Array(failed));
    out.push(b'}');
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, PRIVATE), (DRY_RUN, TRUE)];
    let mut response = (headers, out).into_response();
    position(response.headers_mut(), call.position(counted.position));
    Ok(response)
}

/// A run that changes users.
struct Run {
    app: AppState,
    lease: Lease<WriteUsers>,
    charges: LineCharges,
    log_charges: LogCharges,
    caller: Caller,
    may_read: Permit<ReadUsers>,
    /// The first page of the users that match.
    query: PageQuery,
    change: MatchingChange,
    /// How many users may still be changed: never more than were confirmed.
    left: u64,
    flight: Flight<Vec<Result<Outcome, Failure>>>,
    /// The users whose results are not sent yet, in order.
    changed: VecDeque<UserId>,
    tally: Tally,
    /// Whether the store had no room for a change. No further change is tried.
    is_full: bool,
}

/// Why a run ends before all users are changed.
enum Stop {
    /// The client is gone.
    Gone,
    /// The caller's credential is no longer valid, another caller needs the place, the caller added
    /// too much to the change log, or the store is full.
    Over(Problem),
    /// The users cannot be read.
    Failed(StoreError),
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl Run {
    async fn send(mut self, sender: BodySender) {
        let changed = self.change_all(&sender).await;
        // What was sent to the store is committed, so its results are sent in any case.
        let mut sent = Ok(());
        while !self.flight.is_empty() && sent.is_ok() {
            let results = self.flight.next().await;
            sent = self.send_results(results, &sender).await;
        }
        let whole = changed.is_ok() && sent.is_ok();
        self.log_end(whole);
        let last = match changed {
            Ok(()) => self.tally.done(self.change.kind()).into_bytes(),
            Err(Stop::Over(problem)) => {
                let (processed, mut line) = (self.tally.lines(), Vec::new());
                let base_url = &self.app.settings.base_url;
                let result = LineResult::Failed(problem, None);
                result.write(processed + 1, processed, base_url, &mut line);
                line
            }
            Err(Stop::Failed(error)) => return self.log_failure(&error),
            Err(Stop::Gone) => return,
        };
        let Ok(room) = sender.room().await else { return };
        room.send(last);
        if whole {
            sender.finish();
        }
    }

    async fn change_all(&mut self, sender: &BodySender) -> Result<(), Stop> {
        let mut query = self.query.clone();
        loop {
            let page = tokio::select! {
                biased;
                () = sender.gone() => return Err(Stop::Gone),
                page = read_page(&self.app.directory, self.may_read, &query) => page,
            };
            let page = page.map_err(Stop::Failed)?;
            for users in page.items.chunks(BATCH_LINES_MAX) {
                self.change(users, sender).await?;
            }
            query.after = page.next;
            if query.after.is_none() || self.left == 0 {
                return Ok(());
            }
        }
    }

    /// Sends a batch of changes to the store, once there is room for it. Results of earlier batches
    /// are sent while it waits.
    async fn change(&mut self, users: &[Stored], sender: &BodySender) -> Result<(), Stop> {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(users.len());
        let users = users.get(..count).unwrap_or_default();
        self.left -= u64::try_from(count).unwrap_or_default();
        let mut charged = 0;
        let permit = loop {
            while charged < count && self.charges.charge() {
                charged += 1;
            }
            let batches = Arc::clone(&self.app.transfers.batches);
            let is_ready = charged == count && !self.flight.is_full();
            tokio::select! {
                biased;
                problem = self.lease.over() => return Err(Stop::Over(problem)),
                () = sender.gone() => return Err(Stop::Gone),
                results = self.flight.next() => self.send_results(results, sender).await?,
                permit = batches.acquire_owned(), if is_ready => break permit.ok(),
                () = self.charges.wait(), if charged < count => {}
            }
        };
        if self.is_full {
            return Err(Stop::Over(Problem::new(ProblemCode::StorageFull)));
        }
        let still_match = still_match(&self.app.directory, self.may_read, &self.query, users).await;
        let still_match = still_match.map_err(Stop::Failed)?;
        let may = self.lease.permit().await.map_err(Stop::Over)?;
        self.log_charges.check().map_err(Stop::Over)?;
        self.lease.progress(users.len());
        self.changed.extend(users.iter().map(|user| user.id));
        // The request has one body for all users, so no write has bytes of its own.
        let start = || self.log_charges.start(0);
        let write = |user: &Stored| {
            let still_matches = still_match.as_ref().is_none_or(|ids| ids.contains(&user.id));
            BulkLine { start: Some(start()), ..self.change.of(user, still_matches).into() }
        };
        let writes = users.iter().map(write).collect();
        let (directory, caller) = (self.app.directory.clone(), self.caller.clone());
        // A separate task releases the permit, even if the client is slow to read results.
        let task = tokio::spawn(async move {
            let results = directory.write_many(may, writes, Mode::Write, &caller).await;
            drop(permit);
            results
        });
        let failed = || Err(Failure::Store(StoreError::Internal("a batch panicked".into())));
        let results = async move {
            task.await.unwrap_or_else(|_| iter::repeat_with(failed).take(count).collect())
        };
        self.flight.launch(results, None).await;
        Ok(())
    }

    async fn send_results(
        &mut self,
        results: Vec<Result<Outcome, Failure>>,
        sender: &BodySender,
    ) -> Result<(), Gone> {
        self.is_full |= results.iter().any(is_full);
        let room = sender.room().await?;
        // The caller has the scope to read users.
        let (kind, mode) = (self.change.kind(), Mode::Write);
        let query = BulkQuery { kind, mode, keeps_ids: false, may_read: true };
        let mut out = Vec::with_capacity(results.len() * 80);
        for result in results {
            let id = self.changed.pop_front();
            let result = match result {
                Ok(outcome) => LineResult::of(query, None, Ok(outcome)),
                Err(failure) => LineResult::Failed(failure.into(), id),
            };
            self.tally.count(&result);
            let processed = self.tally.lines();
            result.write(processed, processed, &self.app.settings.base_url, &mut out);
        }
        room.send(out);
        Ok(())
    }

    fn log_end(&self, whole: bool) {
        let (lines, failed) = (self.tally.lines(), self.tally.failed);
        let request_id = self.caller.request_id.as_str();
        tracing::info!(request_id, whole, lines, failed, "a change of matching users ended");
    }

    fn log_failure(&self, error: &StoreError) {
        let request_id = self.caller.request_id.as_str();
        let cause: &dyn std::error::Error = error;
        tracing::error!(request_id, cause, "a change of matching users failed");
    }
}
