//! `PATCH /scim/v2/Users/{id}`: change a user by operations (RFC 7644 section 3.5.2).
//!
//! The operations are applied to the SCIM form of the user that the writer loaded, so that no other
//! write comes in between.

use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use roster_core::{
    Draft, Edit, Failure, Outcome, Refusal, Terms, User, UserId,
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
    face::{Face, UnreadCall},
    problem::{Problem, ProblemCode},
    scim::{
        Answered, Refused,
        answer::{base, written},
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn patch(face: &Face, segment: &str, call: UnreadCall<'_>) -> Answered {
    let asked = Asked::read(call.parts, call.profile())?;
    let id = user_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| patch::read(tree, profile);
    let (call, operations, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let patch = patch_user(face, may, id, operations?, profile, terms);
    let outcome = asked.carry_out(face, patch).await?;
    written(face, may_read, StatusCode::OK, &outcome, &asked).await
}

/// Patches a user.
pub(in crate::scim) async fn patch_user(
    face: &Face,
    may: Permit<WriteUsers>,
    id: UserId,
    operations: Vec<Operation>,
    profile: Profile,
    terms: Terms,
) -> Result<Outcome, Refused> {
    let base = base(face);
    let (edit, refusal) = edit(move |user: &User| patched(&base, user, &operations, profile));
    refused(face.directory.edit(may, id, edit, terms).await, &refusal)
}

/// Why a patch was refused.
pub(in crate::scim) type PatchRefusal = Arc<Mutex<Option<Refused>>>;

/// A patch as an edit, and the place of its refusal.
pub(in crate::scim) fn edit<R: 'static, C: 'static>(
    patch: impl Fn(&R) -> Result<C, Refused> + Send + Sync + 'static,
) -> (Edit<R, C>, PatchRefusal) {
    let refusal = PatchRefusal::default();
    let place = Arc::clone(&refusal);
    let edit = Edit::new(move |record| match patch(record) {
        Ok(change) => Some(change),
        Err(refused) => {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
            None
        }
    });
    (edit, refusal)
}

/// The result of an edit: the patch's own refusal where it refused.
pub(in crate::scim) fn refused(
    result: Result<Outcome, Failure>,
    refusal: &PatchRefusal,
) -> Result<Outcome, Refused> {
    match result {
        Err(Failure::Refused(Refusal::EditRefused)) => {
            let refusal = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
            Err(refusal.unwrap_or_else(|| Problem::new(ProblemCode::Internal).into()))
        }
        result => Ok(result?),
    }
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
