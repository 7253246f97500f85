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
    Caller, Draft, Json, Outcome, Preconditions, Tags, Terms, UserId,
    access::{Permit, ReadUsers, WriteUsers},
    group::{GroupEdit, MembersEdit},
};
use roster_scim::{
    Strictness,
    bulk::{self, Act, Done, Run, Step},
    discovery::SERVED,
    group::{self, GroupBody},
    patch,
    schema::GROUP,
    user::{self, Sent, entity_tag, version_of},
};

use super::{
    ScimProblem,
    extract::{group_id, media, read_body, user_id},
    fault::in_scim,
    groups::{of_groups, patch_group},
    respond::{base, json},
    users::patch_user,
};
use crate::{
    admission::{Class, LogCharges, identity},
    authorization::reauthorize,
    extract::idempotency_key,
    operation::Operation,
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    state::AppState,
};

/// `POST /scim/v2/Bulk`: executes the operations one by one.
pub(crate) async fn bulk(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, ScimProblem> {
    let app = &app;
    let media = media(&call.parts)?;
    if idempotency_key(&call.parts.headers)?.is_some() {
        let detail = "a bulk request takes no Idempotency-Key: its operations happen one by one; \
                      send those again that have no answer";
        return Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail).into());
    }
    let strictness = call.strictness();
    let (call, sent, bytes) =
        read_body(app, call, move |tree| bulk::read(tree, strictness)).await?;
    let (parts, caller, address, sent) = (&call.parts, call.caller(), call.client(), sent?);
    let log_charges = app.admission.log_charges(&caller.actor, address);
    let operation_bytes = bytes.len() / sent.operations.len().max(1);
    let bulk_call = BulkCall { parts, caller, address, strictness, log_charges, operation_bytes };
    let mut run = Run::new(sent, SERVED);
    let base = base(app);
    // The request itself was charged, which covers its first operation.
    let mut is_charged = true;
    while let Some(step) = run.next_step() {
        let location = location(&base, &step);
        let charged = if mem::take(&mut is_charged) { Ok(()) } else { bulk_call.charge(app) };
        let done = match charged {
            Ok(()) => Box::pin(bulk_call.execute(app, &step)).await,
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
    Ok(json(&run.response(), media))
}

/// What all operations of the request share.
struct BulkCall<'a> {
    parts: &'a Parts,
    caller: Caller,
    address: IpAddr,
    strictness: Strictness,
    log_charges: LogCharges,
    /// The share of one operation in the bytes of the request.
    operation_bytes: usize,
}

impl BulkCall<'_> {
    /// Charges an operation to the caller. Beyond the rate limit it fails with 429.
    fn charge(&self, app: &AppState) -> Result<(), Problem> {
        app.admission.charge(&identity(&self.caller.actor, self.address), &mut None)
    }

    async fn execute(&self, app: &AppState, step: &Step) -> Result<(u16, Outcome), ScimProblem> {
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
        step: &Step,
    ) -> Result<(u16, Outcome), ScimProblem> {
        let terms = self.terms(step);
        let (directory, strictness) = (&app.directory, self.strictness);
        Ok(match &step.act {
            Act::Create(sent) => {
                let draft = self.draft(app, sent, Sent::Created)?;
                (201, with_admission(app, directory.create(may, draft, terms)).await?)
            }
            Act::Replace(id, sent) => {
                let id = user_id(id)?;
                let draft = self.draft(app, sent, Sent::Replaced)?;
                (200, with_admission(app, directory.replace(may, id, draft, terms)).await?)
            }
            Act::Patch(id, sent) => {
                let operations = patch::read(sent.clone(), strictness)?;
                let patch = patch_user(app, may, user_id(id)?, operations, strictness, terms);
                (200, with_admission(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = user_id(id)?;
                (204, with_admission(app, directory.delete(may, id, terms)).await?)
            }
        })
    }

    fn draft(&self, app: &AppState, body: &Json, sent: Sent) -> Result<Draft, ScimProblem> {
        let read = user::read(body.clone(), self.strictness, sent, &app.directory.schema())?;
        app.dropped_attributes.add(&read.dropped);
        Ok(read.draft)
    }

    async fn execute_on_group(
        &self,
        app: &AppState,
        may: Permit<WriteUsers>,
        step: &Step,
    ) -> Result<(u16, Outcome), ScimProblem> {
        let terms = self.terms(step);
        let desk = app.directory.groups();
        Ok(match &step.act {
            Act::Create(sent) => {
                let GroupBody { draft, members } = group::read(sent.clone(), self.strictness)?;
                (
                    201,
                    with_admission(app, of_groups(desk.create(may, draft, members, terms))).await?,
                )
            }
            Act::Replace(id, sent) => {
                let id = group_id(id)?;
                let GroupBody { draft, members } = group::read(sent.clone(), self.strictness)?;
                let edit = GroupEdit::Replace(Box::new(draft));
                let change = desk.change(may, id, edit, MembersEdit::All(members), terms);
                (200, with_admission(app, of_groups(change)).await?)
            }
            Act::Patch(id, sent) => {
                let operations = patch::read(sent.clone(), self.strictness)?;
                let id = group_id(id)?;
                let patch = patch_group(app, may, id, operations, self.strictness, terms);
                (204, with_admission(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = group_id(id)?;
                (204, with_admission(app, of_groups(desk.delete(may, id, terms))).await?)
            }
        })
    }

    fn terms(&self, step: &Step) -> Terms {
        // A new resource has no version to compare.
        let version = step.version.as_deref().filter(|_| !matches!(step.act, Act::Create(_)));
        Terms {
            preconditions: preconditions(version),
            start: self.log_charges.start(self.operation_bytes),
            ..Terms::of(self.caller.clone())
        }
    }
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
