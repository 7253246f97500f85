//! `PUT /users/{user_id}`: replace the whole of a user; never creates.

use http::Response;
use roster_core::{Draft, Mode};

use crate::{
    extract::{BodyKind, user_id},
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::{
        answer::{rehearsed, written},
        asked::Asked,
        write::Write,
    },
};

pub(in crate::rest) async fn replace(
    face: &Face,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    let asked = Asked::read(call.parts)?;
    let id = user_id(segment)?;
    let Write { tree, asked, terms } = Write::read(BodyKind::Object, asked, face, call).await?;
    let replace = face.directory.replace(may, id, Draft::parse(tree), terms);
    let outcome = asked.carry_out(face, replace).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
