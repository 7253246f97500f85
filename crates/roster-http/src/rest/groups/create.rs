//! `POST /groups`: create a group.

use std::collections::BTreeSet;

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::{Mode, group::GroupDraft};

use super::pass;
use crate::{
    extract::BodyKind,
    face::{Call, Face},
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
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    let asked = Asked::without_preconditions(call.parts)?;
    let Write { tree, asked, terms } = Write::read(BodyKind::Object, asked, face, call).await?;
    let (desk, draft) = (face.directory.groups(), GroupDraft::parse(tree));
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
