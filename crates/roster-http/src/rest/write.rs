//! What every write with a body reads of its request before the directory is asked.

use roster_core::{Json, Terms};

use crate::{
    extract::{BodyKind, JSON, negotiate, read_bytes},
    face::{Call, Face},
    problem::Problem,
    rest::asked::Asked,
};

pub(in crate::rest) struct Write {
    pub(in crate::rest) tree: Json,
    pub(in crate::rest) asked: Asked,
    pub(in crate::rest) terms: Terms,
}

impl Write {
    /// Reads the body; what else is asked was read before.
    pub(in crate::rest) async fn read(
        kind: BodyKind,
        asked: Asked,
        face: &Face,
        call: Call<'_>,
    ) -> Result<Self, Problem> {
        negotiate(&call.parts.headers, &[JSON])?;
        let caller = call.caller();
        let most = face.settings.body_bytes_max;
        let bytes = read_bytes(kind, &call.parts.headers, call.body, most, call.peer).await?;
        let tree = face.json.parse(&bytes).await?;
        let terms = asked.terms(call.parts, caller, &bytes);
        Ok(Self { tree, asked, terms })
    }
}
