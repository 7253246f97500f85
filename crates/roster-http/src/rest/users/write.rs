//! What every write with a body reads of its request before the directory is asked.

use roster_core::{Json, Terms};

use crate::{
    extract::{BodyKind, JSON, Return, negotiate, preferred_return, read_json, refuse_parameters},
    face::{Call, Face},
    problem::Problem,
};

pub(super) struct Write {
    pub(super) tree: Json,
    pub(super) wanted: Option<Return>,
    pub(super) terms: Terms,
}

impl Write {
    /// Checks what the answer may be, then reads the body.
    pub(super) async fn read(kind: BodyKind, face: &Face, call: Call<'_>) -> Result<Self, Problem> {
        let headers = &call.parts.headers;
        refuse_parameters(call.parts.uri.query())?;
        negotiate(headers, &[JSON])?;
        let wanted = preferred_return(headers);
        let terms = Terms::of(call.caller());
        let (most, floor) = (face.settings.body_bytes_max, call.peer.body_floor);
        let tree = read_json(kind, headers, call.body, most, &floor).await?;
        Ok(Self { tree, wanted, terms })
    }
}
