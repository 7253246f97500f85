//! `POST /scim/v2/Bulk`: many writes in one request (RFC 7644 section 3.7).
//!
//! `roster-scim` decides which operation is next and resolves its references. Each operation is
//! executed here like a separate request: the caller's credential is checked again, so that a
//! revoked key writes nothing more, the operation is charged to the caller's rate limit, and it
//! waits for admission.

use axum::{extract::State, response::Response};
use std::{mem, net::IpAddr};

use http::request::Parts;
use roster_core::{
    Caller, Json, Outcome, Preconditions, Tags, Terms, UserId, Work,
    access::{Permit, ReadUsers, WriteUsers},
    group::{GroupEdit, MembersEdit},
    json::{self, JsonFault, write_json},
    limits::COMPARISONS_MAX,
};
use roster_scim::{
    ScimError, Strictness,
    bulk::{self, Act, Done, Run, Step},
    discovery::SERVED,
    group::{self, GroupBody},
    patch,
    schema::GROUP,
    user::{self, Sent, UserBody, UserPatch, entity_tag, version_of},
};

use super::{
    ScimProblem,
    extract::{Parsed, group_id, media, read_body, refuse_dry_run, user_id},
    fault::in_scim,
    groups::{of_groups, patch_group},
    respond::{base, json as json_response},
    users::{patch_user, replace_user},
};
use crate::{
    authorization::reauthorize,
    extract::{idempotency_key, refuse_if_match},
    limits::admission::{Class, LogCharges, identity},
    operation::Operation,
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    state::AppState,
};
use tokio::task::yield_now;

/// `POST /scim/v2/Bulk`: executes the operations one by one.
pub(crate) async fn bulk(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, ScimProblem> {
    let app = &app;
    let media = media(&call.parts)?;
    refuse_dry_run(&call.parts)?;
    let detail = "each operation has a version of its own, so no If-Match matches";
    refuse_if_match(&call.parts.headers, detail)?;
    if idempotency_key(&call.parts.headers)?.is_some() {
        let detail = "a bulk request takes no Idempotency-Key: its operations happen one by one; \
                      send those again that have no answer";
        return Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail).into());
    }
    let strictness = call.strictness();
    let parse = move |text: &[u8]| {
        let request = bulk::read(json::read(text)?, strictness);
        Ok(request.map(|request| Run::new(request, SERVED)))
    };
    let (call, run, _) = read_body(app, call, parse).await?;
    let (parts, caller, address) = (&call.parts, call.caller(), call.client());
    let log_charges = app.admission.log_charges(&caller.actor, address);
    let work = Work::new(COMPARISONS_MAX);
    let bulk_call = BulkCall { parts, caller, address, strictness, log_charges, work };
    let mut run = run?;
    let base = base(app);
    // The request itself was charged, which covers its first operation.
    let mut is_charged = true;
    while let Some(mut step) = run.next_step() {
        // An operation that fails at once does not wait for anything.
        yield_now().await;
        let location = location(&base, &step);
        let charged = if mem::take(&mut is_charged) { Ok(()) } else { bulk_call.charge(app) };
        let done = match charged {
            Ok(()) => Box::pin(bulk_call.execute(app, &mut step)).await,
            Err(problem) => Err(problem.into()),
        };
        let done = done.map(|(status, outcome)| done_at(&base, &step, status, &outcome));
        match done {
            Ok(done) => run.done(step, done),
            Err(ScimProblem::Scim(error)) => run.refused(step, &error, location.as_deref()),
            Err(ScimProblem::Problem(problem)) => {
                run.refused(step, &in_scim(problem).0, location.as_deref());
            }
        }
    }
    Ok(json_response(&run.response(), media))
}

/// What all operations of the request share.
struct BulkCall<'a> {
    parts: &'a Parts,
    caller: Caller,
    address: IpAddr,
    strictness: Strictness,
    log_charges: LogCharges,
    /// Bounds the comparisons of all PATCH operations together.
    work: Work,
}

impl BulkCall<'_> {
    /// Charges an operation to the caller. Beyond the rate limit it fails with 429.
    fn charge(&self, app: &AppState) -> Result<(), Problem> {
        app.admission.charge(&identity(&self.caller.actor, self.address), &mut None)
    }

    async fn execute(
        &self,
        app: &AppState,
        step: &mut Step,
    ) -> Result<(u16, Outcome), ScimProblem> {
        let operation = Some(Operation::ScimBulk);
        let authority = reauthorize(app, self.parts, operation).await?;
        authority.permit::<ReadUsers>().map_err(Problem::from)?;
        let may = authority.permit().map_err(Problem::from)?;
        self.log_charges.check()?;
        if step.kind == GROUP.name {
            self.execute_on_group(app, may, step).await
        } else {
            self.execute_on_user(app, may, step).await
        }
    }

    async fn execute_on_user(
        &self,
        app: &AppState,
        may: Permit<WriteUsers>,
        step: &mut Step,
    ) -> Result<(u16, Outcome), ScimProblem> {
        let data = step.take_data();
        let terms = self.terms(step, data.size());
        let directory = &app.directory;
        Ok(match &step.act {
            Act::Create(_) => {
                let draft = self.read_user(app, data, Sent::Created, UserBody::created).await?;
                (201, with_admission(app, directory.create(may, draft, terms)).await?)
            }
            Act::Replace(id, _) => {
                let id = user_id(id)?;
                let body = self.read_user(app, data, Sent::Replaced, |body| body).await?;
                (200, with_admission(app, replace_user(app, may, id, body, terms)).await?)
            }
            Act::Patch(id, _) => {
                let (strictness, schema) = (self.strictness, directory.schema());
                let read = move |data| UserPatch::read(data, strictness, &schema);
                let patch = convert(app, data, read).await?;
                app.dropped_attributes.add(&patch.dropped);
                let patch = patch_user(app, may, user_id(id)?, patch, terms, &self.work);
                (200, with_admission(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = user_id(id)?;
                (204, with_admission(app, directory.delete(may, id, terms)).await?)
            }
        })
    }

    async fn read_user<T: Send + 'static>(
        &self,
        app: &AppState,
        data: Json,
        sent: Sent,
        make: fn(UserBody) -> T,
    ) -> Result<T, ScimProblem> {
        let (strictness, schema) = (self.strictness, app.directory.schema());
        let parse = move |data| {
            let mut user = user::read(data, strictness, sent, &schema)?;
            let dropped = mem::take(&mut user.dropped);
            Ok((make(user), dropped))
        };
        let (read, dropped) = convert(app, data, parse).await?;
        app.dropped_attributes.add(&dropped);
        Ok(read)
    }

    async fn execute_on_group(
        &self,
        app: &AppState,
        may: Permit<WriteUsers>,
        step: &mut Step,
    ) -> Result<(u16, Outcome), ScimProblem> {
        let data = step.take_data();
        let terms = self.terms(step, data.size());
        let strictness = self.strictness;
        let read_group = move |text: &[u8]| group::read(text, strictness);
        Ok(match &step.act {
            Act::Create(_) => {
                let GroupBody { draft, members, dropped } =
                    convert_text(app, data, read_group).await?;
                app.dropped_attributes.add(&dropped);
                (
                    201,
                    with_admission(
                        app,
                        of_groups(app.directory.create_group(may, draft, members, terms)),
                    )
                    .await?,
                )
            }
            Act::Replace(id, _) => {
                let id = group_id(id)?;
                let GroupBody { draft, members, dropped } =
                    convert_text(app, data, read_group).await?;
                app.dropped_attributes.add(&dropped);
                let edit = GroupEdit::Replace(Box::new(draft));
                let change =
                    app.directory.change_group(may, id, edit, MembersEdit::All(members), terms);
                (200, with_admission(app, of_groups(change)).await?)
            }
            Act::Patch(id, _) => {
                let read = move |text: &[u8]| patch::group::read(text, strictness);
                let operations = convert_text(app, data, read).await?;
                app.dropped_attributes.add(&operations.dropped);
                let id = group_id(id)?;
                let how = (strictness, &self.work);
                let patch = patch_group(app, may, id, operations, how, terms);
                (204, with_admission(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = group_id(id)?;
                (
                    204,
                    with_admission(app, of_groups(app.directory.delete_group(may, id, terms)))
                        .await?,
                )
            }
        })
    }

    fn terms(&self, step: &Step, bytes: usize) -> Terms {
        // A new resource has no version to compare.
        let version = step.version.as_deref().filter(|_| !matches!(step.act, Act::Create(_)));
        Terms {
            preconditions: preconditions(version),
            start: Some(self.log_charges.start(bytes)),
            ..Terms::of(self.caller.clone())
        }
    }
}

/// Parses the body of an operation.
async fn convert<T: Send + 'static>(
    app: &AppState,
    data: Json,
    read: impl FnOnce(Json) -> Result<T, ScimError> + Send + 'static,
) -> Result<T, ScimProblem> {
    Ok(app.json.work(data.size(), move || read(data)).await??)
}

/// Parses the text of the body of an operation.
async fn convert_text<T: Send + 'static>(
    app: &AppState,
    data: Json,
    read: impl FnOnce(&[u8]) -> Parsed<T> + Send + 'static,
) -> Result<T, ScimProblem> {
    let size = data.size();
    let convert = move || {
        let mut text = Vec::new();
        write_json(&mut text, &data);
        read(&text)
    };
    let malformed = |fault: JsonFault| Problem::saying(ProblemCode::MalformedJson, fault.detail);
    Ok(app.json.work(size, convert).await?.map_err(malformed)??)
}

/// Executes a write after admission.
async fn with_admission<E: Into<ScimProblem>>(
    app: &AppState,
    write: impl Future<Output = Result<Outcome, E>>,
) -> Result<Outcome, ScimProblem> {
    let _admitted = app.admission.admit(Class::Writes).await?;
    write.await.map_err(Into::into)
}

/// The URL of the resource of an operation, if its id is valid.
fn location(base: &str, step: &Step) -> Option<String> {
    let (Act::Replace(id, _) | Act::Patch(id, _) | Act::Delete(id)) = &step.act else {
        return None;
    };
    UserId::parse(id).map(|id| location_of(base, step, id))
}

fn done_at(base: &str, step: &Step, status: u16, outcome: &Outcome) -> Done {
    let stored = &outcome.stored;
    Done {
        status,
        id: stored.id.to_string(),
        location: location_of(base, step, stored.id),
        version: (!matches!(step.act, Act::Delete(_))).then(|| entity_tag(stored.version, &[])),
    }
}

fn location_of(base: &str, step: &Step, id: UserId) -> String {
    if step.kind == GROUP.name { group::location(base, id) } else { user::location(base, id) }
}

/// The precondition of an operation: its `version` means the same as that tag in `If-Match` (RFC
/// 7644 section 3.7). A tag that Roster did not create matches no version.
fn preconditions(version: Option<&str>) -> Preconditions {
    let tags = |tag: &str| Tags::Versions(version_of(tag).into_iter().collect());
    Preconditions { if_match: version.map(tags), if_none_match: None }
}
