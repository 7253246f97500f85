//! `PATCH /scim/v2/Users/{id}`: change a user by operations (RFC 7644 section 3.5.2).
//!
//! The operations are carried out on what the user is shown as; what comes of it replaces the user,
//! held to the version that was read. Where somebody was faster and the client named no version,
//! they are carried out again on what the user is by then.

use http::StatusCode;
use roster_core::{
    Draft, Failure, Outcome, Refusal, Terms, UserId,
    access::{Permit, ReadUsers, WriteUsers},
    json,
    user::Stored,
};
use roster_scim::{
    Profile, Projection,
    patch::{self, Operation},
    schema::USER,
    user::{self, Sent, UserWriter, named_flags},
};

use super::{no_such_user, user_id};
use crate::{
    face::{Face, UnreadCall},
    problem::{Problem, ProblemCode},
    scim::{
        Answered, Refused,
        answer::{base, written},
        asked::{Asked, body, unless_repeated},
    },
};

/// How often a patch is carried out while others are faster each time.
const ATTEMPTS_MAX: usize = 8;

pub(in crate::scim) async fn patch(face: &Face, segment: &str, call: UnreadCall<'_>) -> Answered {
    let asked = Asked::read(call.parts, call.profile())?;
    let id = user_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| patch::read(tree, profile);
    let (call, operations, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let operations = operations?;
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let patching = Patching { may, may_read, terms, profile: asked.profile };
    let outcome = asked.carry_out(face, patching.carry_out(face, id, &operations)).await?;
    written(face, may_read, StatusCode::OK, &outcome, &asked).await
}

/// Who patches, and on which terms.
pub(in crate::scim) struct Patching {
    pub(in crate::scim) may: Permit<WriteUsers>,
    pub(in crate::scim) may_read: Permit<ReadUsers>,
    pub(in crate::scim) terms: Terms,
    pub(in crate::scim) profile: Profile,
}

impl Patching {
    /// Carries operations out upon a user, once for each mark.
    pub(in crate::scim) async fn carry_out(
        &self,
        face: &Face,
        id: UserId,
        operations: &[Operation],
    ) -> Result<Outcome, Refused> {
        let result = self.attempt(face, id, operations).await;
        unless_repeated(face, self.may, self.terms.idempotency, result).await
    }

    async fn attempt(
        &self,
        face: &Face,
        id: UserId,
        operations: &[Operation],
    ) -> Result<Outcome, Refused> {
        for attempt in 1.. {
            let stored = self.current(face, id).await?;
            let draft = patched(face, &stored, operations, self.profile)?;
            match face.directory.replace(self.may, id, draft, self.terms.clone()).await {
                Err(Failure::Refused(Refusal::VersionMismatch { .. }))
                    if self.terms.held.is_empty() && attempt < ATTEMPTS_MAX => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(no_such_user().into())
    }

    /// The user as it is, if it is what the client means.
    async fn current(&self, face: &Face, id: UserId) -> Result<Stored, Refused> {
        let stored = face.directory.get(self.may_read, id).await?.ok_or_else(no_such_user)?;
        if self.terms.held.allow_write(stored.version) {
            return Ok(stored);
        }
        let refusal = Refusal::VersionMismatch { current: stored.version };
        Err(user::refused(&refusal).into())
    }
}

/// What the user becomes, held to the version that it was read at.
fn patched(
    face: &Face,
    stored: &Stored,
    operations: &[Operation],
    profile: Profile,
) -> Result<Draft, Refused> {
    let mut shown = Vec::with_capacity(stored.record.len() + 640);
    let written =
        UserWriter::new(&base(face), &Projection::default()).write(&stored.record, &[], &mut shown);
    let resource = written.and_then(|()| json::read(&shown).ok());
    let resource = resource.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    let resource = patch::apply(&USER, &resource, operations.to_vec(), profile)?;
    let mut draft = user::read(resource, profile, Sent::Patched)?;
    for flag in named_flags(operations) {
        draft.vouch(flag);
    }
    draft.hold_version(stored.version);
    Ok(draft)
}
