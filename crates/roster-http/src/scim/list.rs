//! Pages of users and of groups: `GET` and `POST .search` (RFC 7644 sections 3.4.2 and 3.4.3, RFC
//! 9865).

use axum::{extract::State, response::Response};
use roster_core::{
    Actor,
    access::{Permit, ReadUsers},
};
use roster_scim::{ListRequest, Profile, list::Envelope, schema::GROUP};

use super::{
    Refused,
    extract::{guard_filter, media, pairs, read_body, resource_type},
    groups,
    respond::json_text,
    users,
};
use crate::{
    extract::{Media, parameters},
    patience::{ReadLimit, in_time},
    request::{Call, UnreadCall},
    state::AppState,
};

/// Resources of one type on a page, as JSON.
#[derive(Default)]
pub(super) struct Resources {
    /// How many match in all; `None` if that is not known.
    pub(super) total: Option<u64>,
    pub(super) start_index: Option<u64>,
    pub(super) next_cursor: Option<String>,
    /// How many are here.
    pub(super) items: usize,
    /// Whether none follows.
    pub(super) ends: bool,
    /// Their JSON, with commas between them.
    pub(super) text: Vec<u8>,
}

/// Who asks for a page, and how strictly the request is read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) permit: Permit<ReadUsers>,
    pub(super) actor: &'a Actor,
    pub(super) profile: Profile,
}

impl<'a> Reader<'a> {
    pub(super) fn of(call: &'a Call) -> Result<Self, Refused> {
        let (permit, profile) = (call.permit()?, call.profile());
        Ok(Self { permit, actor: call.authority().actor(), profile })
    }
}

/// `GET /scim/v2/Users` and `GET /scim/v2/Groups`: returns a page.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Refused> {
    let media = media(&call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    let resource_type = resource_type(call.context().operation);
    let request = ListRequest::of_parameters(resource_type, pairs(&given))?;
    guard_filter(&app, &request)?;
    page(&app, &call, &request, media).await
}

/// `POST /scim/v2/Users/.search` and `POST /scim/v2/Groups/.search`: returns a page.
pub(crate) async fn search(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, Refused> {
    let media = media(&call.parts)?;
    let (call, json, _) = read_body(&app, call, |json| json).await?;
    let resource_type = resource_type(call.context().operation);
    let request = ListRequest::of_body(resource_type, json, call.profile())?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    in_time(limit, page(&app, &call, &request, media)).await?
}

async fn page(
    app: &AppState,
    call: &Call,
    request: &ListRequest,
    media: Media,
) -> Result<Response, Refused> {
    let reader = Reader::of(call)?;
    let found = if resource_type(call.context().operation).name == GROUP.name {
        groups::page(app, reader, request).await?
    } else {
        users::page(app, reader, request, false).await?
    };
    let Resources { total, start_index, items, next_cursor, .. } = found;
    let envelope = Envelope { total, start_index, items, next_cursor };
    Ok(json_text(enclose(&envelope, &[&found.text]), media))
}

/// The JSON of a page: resources of each type, within the envelope.
pub(super) fn enclose(envelope: &Envelope, texts: &[&[u8]]) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let mut out = Vec::with_capacity(bytes + 256);
    envelope.open(&mut out);
    let mut is_first = true;
    for text in texts.iter().filter(|text| !text.is_empty()) {
        if !is_first {
            out.push(b',');
        }
        out.extend_from_slice(text);
        is_first = false;
    }
    Envelope::close(&mut out);
    out
}
