//! What the service says of itself (RFC 7644 section 4): made of the tables that the rest follows.

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
    Answered, Refused,
    answer::{base, tree},
    asked::media,
    limits::CURSOR_KEEP_MS,
};
use crate::{
    extract::parameters,
    face::{Call, Face},
};

pub(super) fn get_config(face: &Face, call: &Call<'_>) -> Answered {
    let bulk = (BULK_OPERATIONS_MAX, face.settings.body_bytes_max);
    let abilities = Abilities { bulk: Some(bulk), cursor_timeout_s: CURSOR_KEEP_MS / 1000 };
    let docs = format!("{}/docs", face.settings.base_url);
    shown(call, Some(service_provider_config(&base(face), &docs, abilities)))
}

pub(super) fn list_resource_types(face: &Face, call: &Call<'_>) -> Answered {
    shown(call, Some(resource_types(&base(face))))
}

pub(super) fn get_resource_type(face: &Face, name: &str, call: &Call<'_>) -> Answered {
    shown(call, find_resource_type(&base(face), &decoded(name)))
}

pub(super) fn list_schemas(face: &Face, call: &Call<'_>) -> Answered {
    shown(call, Some(schemas(&base(face))))
}

pub(super) fn get_schema(face: &Face, urn: &str, call: &Call<'_>) -> Answered {
    shown(call, find_schema(&base(face), &decoded(urn)))
}

/// Clients escape the colons of a URN.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// RFC 7644 section 4: paging and order are passed over, a filter is refused.
fn shown(call: &Call<'_>, found: Option<Json>) -> Answered {
    let media = media(call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    if given.iter().any(|parameter| parameter.name.eq_ignore_ascii_case("filter")) {
        let detail = "what the service says of itself is not filtered; leave filter out";
        return Err(ScimError::of_status(403, detail).into());
    }
    let found = found.ok_or_else(|| -> Refused {
        ScimError::of_status(404, "there is no such schema or resource type").into()
    })?;
    Ok(tree(&found, media))
}
