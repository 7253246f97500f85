//! Discovery (RFC 7644 section 4), built from the same tables that the handlers use.

use axum::{extract::State, response::Response};
use percent_encoding::percent_decode_str;
use roster_core::{Json, limits::BULK_OPERATIONS_MAX};
use roster_scim::{
    ScimError,
    discovery::{
        Abilities, find_resource_type, find_schema, resource_types, schemas,
        service_provider_config,
    },
};

use super::{
    ScimProblem,
    extract::media,
    me_is_not_implemented,
    respond::{base, json},
};
use crate::limits::scim::CURSOR_KEEP_MS;
use crate::{extract::parameters, request::Call, state::AppState};

/// `GET /scim/v2/ServiceProviderConfig`: returns what the service supports.
pub(crate) async fn get_config(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, ScimProblem> {
    let bulk = (BULK_OPERATIONS_MAX, app.settings.body_bytes_max);
    let abilities = Abilities { bulk: Some(bulk), cursor_timeout_s: CURSOR_KEEP_MS / 1000 };
    let docs = format!("{}/docs", app.settings.base_url);
    document(&call, Some(service_provider_config(&base(&app), &docs, abilities)))
}

/// `GET /scim/v2/ResourceTypes`: returns all resource types.
pub(crate) async fn list_resource_types(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, ScimProblem> {
    document(&call, Some(resource_types(&base(&app), &app.directory.schema())))
}

/// `GET /scim/v2/ResourceTypes/{name}`: returns a resource type.
pub(crate) async fn get_resource_type(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, ScimProblem> {
    let name = decoded(call.segment());
    document(&call, find_resource_type(&base(&app), &name, &app.directory.schema()))
}

/// `GET /scim/v2/Schemas`: returns all schemas.
pub(crate) async fn list_schemas(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, ScimProblem> {
    document(
        &call,
        Some(schemas(&base(&app), app.directory.rules().email, &app.directory.schema())),
    )
}

/// `GET /scim/v2/Schemas/{urn}`: returns a schema.
pub(crate) async fn get_schema(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, ScimProblem> {
    let (urn, emails) = (decoded(call.segment()), app.directory.rules().email);
    document(&call, find_schema(&base(&app), &urn, emails, &app.directory.schema()))
}

/// `GET /scim/v2/Me`: callers are services, none of which is a user (RFC 7644 section 3.11).
pub(crate) async fn get_me() -> ScimProblem {
    me_is_not_implemented()
}

/// Clients escape the colons of a URN.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// Parameters of paging and sorting are ignored, a filter is rejected (RFC 7644 section 4).
fn document(call: &Call, found: Option<Json>) -> Result<Response, ScimProblem> {
    let media = media(&call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    if given.iter().any(|parameter| parameter.name.eq_ignore_ascii_case("filter")) {
        let detail = "what the service says of itself is not filtered; leave filter out";
        return Err(ScimError::of_status(403, detail).into());
    }
    let found = found.ok_or_else(|| -> ScimProblem {
        ScimError::of_status(404, "there is no such schema or resource type").into()
    })?;
    Ok(json(&found, media))
}
