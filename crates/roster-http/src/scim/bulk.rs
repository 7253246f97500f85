//! `POST /scim/v2/Bulk`: many writes in one request (RFC 7644 section 3.7).
//!
//! Which operation comes next, and what it refers to, `roster-scim` knows; each is carried out here
//! as a request of its own would be: what its caller presented is judged anew, so that nothing is
//! done for a key that has ended meanwhile, it is charged to its caller's rate limit, and it waits
//! for its place among the writes.

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
    admission::Class,
    authorization::identity,
    authorization::reauthorize,
    extract::idempotency_key,
    operation::Operation,
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    state::AppState,
};

/// `POST /scim/v2/Bulk`: runs up to a number of writes, one by one.
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
    let (call, sent, _) = read_body(app, call, move |tree| bulk::read(tree, strictness)).await?;
    let (parts, caller, address) = (&call.parts, call.caller(), call.client());
    let writing = Writing { parts, caller, address, strictness };
    let mut run = Run::new(sent?, SERVED);
    let base = base(app);
    // The request itself pays for its first operation.
    let mut paid = true;
    while let Some(step) = run.next_step() {
        let place = place(&base, &step);
        let charged = if mem::take(&mut paid) { Ok(()) } else { writing.charge(app) };
        let done = match charged {
            Ok(()) => Box::pin(writing.carry_out(app, &step)).await,
            Err(problem) => Err(problem.into()),
        };
        let done = done.map(|(status, outcome)| done_at(&base, &step, status, &outcome));
        match done {
            Ok(done) => run.done(step, done),
            Err(ScimProblem::Scim(error)) => run.refused(step, &error, place.as_deref()),
            Err(ScimProblem::Problem(problem)) => {
                run.refused(step, &in_scim(problem).0, place.as_deref());
            }
        }
    }
    Ok(json(&run.response(), media))
}

/// Who writes.
struct Writing<'a> {
    parts: &'a Parts,
    caller: Caller,
    address: IpAddr,
    strictness: Strictness,
}

impl Writing<'_> {
    /// Charges an operation to the caller; beyond the limit it is refused with 429.
    fn charge(&self, app: &AppState) -> Result<(), Problem> {
        app.admission.charge(&identity(&self.caller.actor, self.address), &mut None)
    }

    async fn carry_out(&self, app: &AppState, step: &Step) -> Result<(u16, Outcome), ScimProblem> {
        let operation = Some(Operation::ScimBulk);
        let authority = reauthorize(app, self.parts, operation).await?;
        authority.permit::<ReadUsers>().map_err(Problem::from)?;
        let may = authority.permit().map_err(Problem::from)?;
        if step.kind == GROUP.name {
            self.upon_group(app, may, step).await
        } else {
            self.upon_user(app, may, step).await
        }
    }

    async fn upon_user(
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
                // What does not exist has no version to be held to.
                let terms = Terms::of(self.caller.clone());
                (201, pass(app, directory.create(may, draft, terms)).await?)
            }
            Act::Replace(id, sent) => {
                let id = user_id(id)?;
                let draft = self.draft(app, sent, Sent::Replaced)?;
                (200, pass(app, directory.replace(may, id, draft, terms)).await?)
            }
            Act::Patch(id, sent) => {
                let operations = patch::read(sent.clone(), strictness)?;
                let patch = patch_user(app, may, user_id(id)?, operations, strictness, terms);
                (200, pass(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = user_id(id)?;
                (204, pass(app, directory.delete(may, id, terms)).await?)
            }
        })
    }

    fn draft(&self, app: &AppState, body: &Json, sent: Sent) -> Result<Draft, ScimProblem> {
        let read = user::read(body.clone(), self.strictness, sent, &app.directory.schema())?;
        app.dropped_attributes.add(&read.dropped);
        Ok(read.draft)
    }

    async fn upon_group(
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
                let terms = Terms::of(self.caller.clone());
                (201, pass(app, of_groups(desk.create(may, draft, members, terms))).await?)
            }
            Act::Replace(id, sent) => {
                let id = group_id(id)?;
                let GroupBody { draft, members } = group::read(sent.clone(), self.strictness)?;
                let edit = GroupEdit::Replace(Box::new(draft));
                let change = desk.change(may, id, edit, MembersEdit::All(members), terms);
                (200, pass(app, of_groups(change)).await?)
            }
            Act::Patch(id, sent) => {
                let operations = patch::read(sent.clone(), self.strictness)?;
                let id = group_id(id)?;
                let patch = patch_group(app, may, id, operations, self.strictness, terms);
                (200, pass(app, patch).await?)
            }
            Act::Delete(id) => {
                let id = group_id(id)?;
                (204, pass(app, of_groups(desk.delete(may, id, terms))).await?)
            }
        })
    }

    fn terms(&self, step: &Step) -> Terms {
        Terms {
            preconditions: preconditions(step.version.as_deref()),
            ..Terms::of(self.caller.clone())
        }
    }
}

/// Lets a write pass when there is room for it.
async fn pass<E: Into<ScimProblem>>(
    app: &AppState,
    write: impl Future<Output = Result<Outcome, E>>,
) -> Result<Outcome, ScimProblem> {
    let _admitted = app.admission.admit(Class::Writes).await?;
    write.await.map_err(Into::into)
}

/// Where the resource of a step is, if it is one that may be there.
fn place(base: &str, step: &Step) -> Option<String> {
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
        version: (status != 204).then(|| entity_tag(stored.version, &[])),
    }
}

fn location_of(base: &str, step: &Step, id: UserId) -> String {
    if step.kind == GROUP.name { group::location(base, id) } else { user::location(base, id) }
}

/// The version that an operation names, as the tag in `If-Match` would (RFC 7644 section 3.7). One
/// that is none of ours is nobody's.
fn preconditions(version: Option<&str>) -> Preconditions {
    let tags = |tag: &str| Tags::Versions(version_of(tag).into_iter().collect());
    Preconditions { if_match: version.map(tags), if_none_match: None }
}
