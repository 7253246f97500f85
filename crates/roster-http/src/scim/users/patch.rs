//! `PATCH /scim/v2/Users/{id}`: change a user by operations (RFC 7644 section 3.5.2).
//!
//! The operations are applied to the SCIM form of the user that the writer loaded, so that no other
//! write comes in between.

use axum::extract::State;
use http::StatusCode;
use roster_core::{
    Draft, Outcome, Terms, User, UserId,
    access::{Permit, ReadUsers, WriteUsers},
    json,
};
use roster_scim::{
    Profile, Projection,
    patch::{self, Operation},
    schema::USER,
    user::{self, Sent, UserWriter, named_flags},
};

use super::user_id;
use crate::{
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    scim::{
        Answered, Refused,
        answer::{base, written},
        asked::{Asked, body},
        edit::{edit, result_of_edit},
    },
    state::AppState,
};

pub(crate) async fn patch(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let segment = &call.segment().to_owned();
    let asked = Asked::read(&call.parts, call.profile())?;
    let id = user_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| patch::read(tree, profile);
    let (call, operations, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let patch = patch_user(app, may, id, operations?, profile, terms);
    let outcome = asked.carry_out(app, patch).await?;
    written(app, may_read, StatusCode::OK, &outcome, &asked).await
}

/// Patches a user.
pub(crate) async fn patch_user(
    app: &AppState,
    may: Permit<WriteUsers>,
    id: UserId,
    operations: Vec<Operation>,
    profile: Profile,
    terms: Terms,
) -> Result<Outcome, Refused> {
    let base = base(app);
    let (edit, refusal) = edit(move |user: &User| patched(&base, user, &operations, profile));
    result_of_edit(app.directory.edit(may, id, edit, terms).await, &refusal)
}

/// What the operations make of the user.
fn patched(
    base: &str,
    user: &User,
    operations: &[Operation],
    profile: Profile,
) -> Result<Draft, Refused> {
    let record = user.to_record();
    let mut shown = Vec::with_capacity(record.len() + 640);
    let written = UserWriter::new(base, &Projection::default()).write(&record, &[], &mut shown);
    let resource = written.and_then(|()| json::read(&shown).ok());
    let resource = resource.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    let resource = patch::apply(&USER, &resource, operations.to_vec(), profile)?;
    let mut draft = user::read(resource, profile, Sent::Patched)?;
    for flag in named_flags(operations) {
        draft.vouch(flag);
    }
    Ok(draft)
}
