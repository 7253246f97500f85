//! `POST /users`: create a user.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::{Draft, Mode};

use super::bulk;
use crate::{
    extract::{BodyKind, sends_lines},
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
    if sends_lines(&call.parts.headers) {
        return bulk::import(face, call).await;
    }
    let asked = Asked::without_preconditions(call.parts)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::NewUser, asked, face, call, Draft::parse).await?;
    let create = face.directory.create(may, sent, terms);
    let outcome = asked.carry_out(face, create).await?;

    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    let location = format!("{}/users/{}", face.settings.base_path(), outcome.stored.id);
    let mut response = written(face, outcome, asked.wanted);
    *response.status_mut() = StatusCode::CREATED;
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
