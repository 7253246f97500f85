//! What every write with a body reads of its request before the directory is asked.

use roster_core::{
    Json, Terms,
    access::{Permit, WriteUsers},
};

use crate::{
    extract::{BodyKind, JSON, negotiate},
    face::{Face, UnreadCall},
    problem::Problem,
    rest::asked::Asked,
};

pub(in crate::rest) struct Write<T> {
    /// What the body was converted to.
    pub(in crate::rest) sent: T,
    pub(in crate::rest) asked: Asked,
    pub(in crate::rest) terms: Terms,
    pub(in crate::rest) may: Permit<WriteUsers>,
}

impl<T: Send + 'static> Write<T> {
    /// Reads the body; what else is asked was read before.
    pub(in crate::rest) async fn read(
        kind: BodyKind,
        asked: Asked,
        face: &Face,
        call: UnreadCall<'_>,
        convert: impl FnOnce(Json) -> T + Send + 'static,
    ) -> Result<Self, Problem> {
        negotiate(&call.parts.headers, &[JSON])?;
        let most = face.settings.body_bytes_max;
        let (call, sent, bytes) = call.read(face, kind, most, convert).await?;
        let terms = asked.terms(call.parts, call.caller(), &bytes);
        Ok(Self { sent, asked, terms, may: call.permit()? })
    }
}
