//! `GET /scim/v2/Groups/{id}`: fetch one group (RFC 7644 section 3.4.1).

use http::StatusCode;
use roster_core::Refusal;
use roster_scim::{group::refused, schema::GROUP};

use super::{
    answer::{group, not_modified, shown},
    group_id, no_such_group,
};
use crate::{
    extract::weak_preconditions,
    face::{Call, Face},
    pressure::Class,
    scim::{
        Answered,
        asked::{media, projection},
    },
};

pub(in crate::scim) async fn get(face: &Face, segment: &str, call: &Call<'_>) -> Answered {
    let media = media(call.parts)?;
    let projection = projection(&GROUP, call.parts)?;
    let preconditions = weak_preconditions(&call.parts.headers)?;
    let id = group_id(segment)?;
    let _admitted = face.pressure.admit(Class::Reads).await?;
    let shown = shown(face, call.permit()?, id, &projection).await?.ok_or_else(no_such_group)?;
    let version = shown.stored.version;
    if preconditions.if_match.is_some_and(|tags| !tags.hold(version)) {
        return Err(refused(&Refusal::VersionMismatch { current: version }).into());
    }
    // A change of its members is a version of the group: its tag vouches for them too.
    if preconditions.if_none_match.is_some_and(|tags| tags.hold(version)) {
        return Ok(not_modified(face, &shown.stored));
    }
    group(face, StatusCode::OK, &shown, &projection, media)
}
