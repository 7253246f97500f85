//! `POST /groups`: create a group.

use std::collections::BTreeSet;

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::{Mode, group::GroupDraft};

use super::pass;
use crate::{
    extract::BodyKind,
    face::{Face, UnreadCall},
    front::Body,
    problem::{Problem, ProblemCode},
    rest::{
        answer::{rehearsed, written},
        asked::Asked,
        write::Write,
    },
};

pub(in crate::rest) async fn create(
    face: &Face,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::without_preconditions(call.parts)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::Object, asked, face, call, GroupDraft::parse).await?;
    let (desk, draft) = (face.directory.groups(), sent);
    let outcome = pass(face, &asked, desk.create(may, draft, BTreeSet::new(), terms)).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    let location = format!("{}/groups/{}", face.settings.base_path(), outcome.stored.id);
    let mut response = written(face, outcome, asked.wanted);
    *response.status_mut() = StatusCode::CREATED;
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
