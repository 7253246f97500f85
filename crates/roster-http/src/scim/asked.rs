//! What requests of the face are asked with, beside what they are about.

use std::borrow::Cow;

use http::request::Parts;
use roster_core::{Json, Preconditions, Terms, access::Scope};
use roster_scim::{
    ListRequest, Profile, Projection, ResourceType, ScimError, ScimType, list, schema::USER,
};

use super::Refused;
use crate::{
    extract::{
        BodyKind, JSON, Media, Parameter, Return, SCIM_JSON, idempotency, idempotency_key,
        negotiate, parameters, preferred_return, weak_preconditions,
    },
    patience::Patience,
    pressure::Class,
    problem::Problem,
    request::{Call, UnreadCall},
    state::AppState,
};

impl Call {
    /// How what a caller sends is read.
    pub(super) fn profile(&self) -> Profile {
        profile(self.authority().may(Scope::ScimStrict))
    }
}

impl UnreadCall {
    /// How what a caller sends is read.
    pub(super) fn profile(&self) -> Profile {
        profile(self.had(Scope::ScimStrict))
    }
}

const fn profile(is_strict: bool) -> Profile {
    if is_strict { Profile::Strict } else { Profile::Tolerant }
}

/// The form of the answer.
pub(super) fn media(parts: &Parts) -> Result<Media, Refused> {
    Ok(negotiate(&parts.headers, &[SCIM_JSON, JSON])?)
}

/// The parameters of the query, decoded.
pub(super) fn pairs<'a>(
    given: &'a [Parameter<'a>],
) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
    given.iter().map(|parameter| (parameter.name.clone(), parameter.value()))
}

/// Refuses a filter in a URL where the settings say so: it may hold an address, and what keeps
/// URLs keeps that too (RFC 7644 section 7.5.2).
pub(super) fn guard_filter(app: &AppState, request: &ListRequest) -> Result<(), ScimError> {
    if !app.settings.scim_filter_guard || request.filter.is_none() {
        return Ok(());
    }
    let detail = "filter: not in a URL, which logs keep; send it by POST to .search";
    Err(ScimError::new(ScimType::Sensitive, detail))
}

/// Which attributes of a resource are asked for.
pub(super) fn projection(
    resource_type: &ResourceType,
    parts: &Parts,
) -> Result<Projection, Refused> {
    let given = parameters(parts.uri.query())?;
    Ok(list::projection(resource_type, pairs(&given))?)
}

/// Reads the body as one JSON text, and converts it.
pub(super) async fn body<'a, T: Send + 'static>(
    app: &AppState,
    call: UnreadCall,
    convert: impl FnOnce(Json) -> T + Send + 'static,
) -> Result<(Call, T, bytes::Bytes), Refused> {
    let kind = match call.profile() {
        Profile::Tolerant => BodyKind::Scim,
        Profile::Strict => BodyKind::ScimStrict,
    };
    Ok(call.read(app, kind, app.settings.body_bytes_max, convert).await?)
}

/// The terms of a write, and how it is to be answered.
pub(super) struct Asked {
    pub(super) media: Media,
    pub(super) profile: Profile,
    pub(super) projection: Projection,
    pub(super) wanted: Option<Return>,
    pub(super) preconditions: Preconditions,
    pub(super) key: Option<String>,
    pub(super) patience: Option<Patience>,
}

impl Asked {
    /// Reads those of a write on a user.
    pub(super) fn read(parts: &Parts, profile: Profile) -> Result<Self, Refused> {
        Self::of(&USER, parts, profile)
    }

    /// Reads those of a write on a resource of that kind.
    pub(super) fn of(
        resource_type: &ResourceType,
        parts: &Parts,
        profile: Profile,
    ) -> Result<Self, Refused> {
        let headers = &parts.headers;
        let projection = projection(resource_type, parts)?;
        // RFC 7644 section 3.5.2: who asks for attributes is answered with them.
        let wanted = preferred_return(headers)
            .filter(|wanted| *wanted != Return::Minimal || projection.is_all());
        Ok(Self {
            media: media(parts)?,
            profile,
            projection,
            wanted,
            preconditions: weak_preconditions(headers)?,
            key: idempotency_key(headers)?,
            patience: Patience::of(headers),
        })
    }

    /// The terms, once the body is known.
    pub(super) fn terms(&self, parts: &Parts, caller: roster_core::Caller, body: &[u8]) -> Terms {
        let mark = |key: &String| idempotency(&caller.actor.to_string(), key, parts, body);
        let idempotency = self.key.as_ref().map(mark);
        let start = self.patience.as_ref().map(Patience::start);
        Terms { preconditions: self.preconditions.clone(), idempotency, start, ..Terms::of(caller) }
    }

    /// Has the write carried out once it may begin, unless its caller would not wait so long.
    pub(super) async fn carry_out<T, E: Into<Refused>>(
        &self,
        app: &AppState,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Refused> {
        let write = async { Ok::<_, Problem>(write.await) };
        let write = app.pressure.with_admission(Class::Writes, write);
        let outcome = match &self.patience {
            Some(patience) => patience.hold(write).await?,
            None => write.await?,
        };
        outcome.map_err(Into::into)
    }
}
