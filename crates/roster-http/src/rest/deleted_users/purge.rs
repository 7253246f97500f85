//! `DELETE /deleted-users/{user_id}`: forget a deleted user for good.

use http::Response;
use roster_core::{Mode, Outcome, access::PurgeUsers};

use super::{absent, deleted_id, refused};
use crate::{
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::{
        answer::{gone, rehearsed},
        asked::Asked,
    },
};

pub(in crate::rest) async fn purge(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit::<PurgeUsers>()?;
    let asked = Asked::read(call.parts)?;
    let id = deleted_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let purge = async { face.directory.purge(may, id, terms).await.map_err(refused) };
    let outcome = asked.carry_out(face, purge).await?;
    if asked.mode == Mode::DryRun {
        // A purge leaves no record: what is shown is the one that would be forgotten.
        let deleted = face.directory.get_deleted(may, id).await?.ok_or_else(absent)?;
        return rehearsed(face, &Outcome { stored: deleted.stored, ..outcome });
    }
    Ok(gone(face, &outcome))
}
