//! `GET /scim/v2/Groups` and `POST /scim/v2/Groups/.search`: one page of the groups (RFC 7644
//! sections 3.4.2 and 3.4.3, RFC 9865).

use axum::extract::State;
use roster_core::{
    Actor,
    access::{Permit, ReadUsers},
};
use roster_scim::{ListRequest, Profile, group::GroupWriter, list::Envelope, schema::GROUP};

use super::{
    answer::group_of,
    page::{Asking, Found},
};
use crate::{
    extract::{Media, parameters},
    patience::{ReadLimit, in_time},
    request::{Call, UnreadCall},
    scim::{
        Answered, Refused,
        answer::{base, text},
        asked::{body, guard_filter, media, pairs},
        search::Part,
    },
    state::AppState,
};

pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let media = media(&call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    let request = ListRequest::of_parameters(&GROUP, pairs(&given))?;
    guard_filter(app, &request)?;
    let (may, actor, profile) = (call.permit()?, call.authority().actor(), call.profile());
    page(app, may, actor, (media, profile), request).await
}

pub(crate) async fn search(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let media = media(&call.parts)?;
    let (call, tree, _) = body(app, call, |tree| tree).await?;
    let (may, actor, profile) = (call.permit()?, call.authority().actor(), call.profile());
    let request = ListRequest::of_body(&GROUP, tree, profile)?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    in_time(limit, page(app, may, actor, (media, profile), request)).await?
}

/// What there is of groups on a page that shows more than groups.
pub(crate) async fn part(
    app: &AppState,
    may: Permit<ReadUsers>,
    actor: &Actor,
    profile: Profile,
    request: &ListRequest,
) -> Result<Part, Refused> {
    let asking = Asking::read(app, may, actor, request, profile)?;
    let found = asking.by_index(request.start_index).await?;
    let mut text = Vec::new();
    write(app, request, &found, &mut text)?;
    let (total, items) = (found.total.unwrap_or(0), found.items.len());
    let reached = request.start_index.saturating_add(u64::try_from(items).unwrap_or(u64::MAX));
    Ok(Part { total, items, ends: reached > total, text })
}

async fn page(
    app: &AppState,
    may: Permit<ReadUsers>,
    actor: &Actor,
    (media, profile): (Media, Profile),
    request: ListRequest,
) -> Answered {
    let asking = Asking::read(app, may, actor, &request, profile)?;
    let found = match &request.cursor {
        Some(cursor) => asking.by_cursor(cursor, request.count).await?,
        None => asking.by_index(request.start_index).await?,
    };
    Ok(text(rendered(app, &request, &found)?, media))
}

fn rendered(app: &AppState, request: &ListRequest, found: &Found) -> Result<Vec<u8>, Refused> {
    let envelope = Envelope {
        total: found.total,
        start_index: found.start_index,
        items: found.items.len(),
        next_cursor: found.next_cursor.clone(),
    };
    let mut out = Vec::with_capacity(found.items.len() * 640 + 256);
    envelope.open(&mut out);
    write(app, request, found, &mut out)?;
    Envelope::close(&mut out);
    Ok(out)
}

fn write(
    app: &AppState,
    request: &ListRequest,
    found: &Found,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let base = base(app);
    let writer = GroupWriter { base: &base, projection: &request.projection };
    for (index, shown) in found.items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        writer.write(&group_of(&shown.stored)?, &shown.members, out);
    }
    Ok(())
}
