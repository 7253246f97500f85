//! `GET /deleted-users/{user_id}`: fetch one deleted user.

use bytes::Bytes;
use http::{Response, StatusCode};
use roster_core::{Stored, access::WriteUsers};

use super::{
    absent, deleted_id,
    record::{size, write},
};
use crate::{
    extract::{JSON, negotiate, preconditions, refuse_parameters},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::Problem,
    rest::answer::one,
};

pub(in crate::rest) async fn get(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let headers = &call.parts.headers;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(headers, &[JSON])?;
    let held = preconditions(headers)?;
    let id = deleted_id(segment)?;
    let get = face.directory.get_deleted(call.permit::<WriteUsers>()?, id);
    let deleted = face.pressure.with_admission(Class::Reads, get).await?;
    let deleted = deleted.ok_or_else(absent)?;
    let mut out = Vec::with_capacity(size(&deleted));
    write(&deleted, face.settings.deleted_keep, &mut out);
    one(StatusCode::OK, Stored { record: Bytes::from(out), ..deleted.stored }, held)
}
