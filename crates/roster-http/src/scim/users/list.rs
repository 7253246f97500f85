//! `GET /scim/v2/Users` and `POST /scim/v2/Users/.search`: one page of the users (RFC 7644
//! sections 3.4.2 and 3.4.3, RFC 9865).

use axum::extract::State;
use roster_core::{group::GroupsOf, list::PageQuery};
use roster_scim::{
    ListRequest, Profile, filter,
    list::{COUNT_DEFAULT, Envelope},
    schema::USER,
    user::UserWriter,
};

use super::page::{Found, by_cursor, by_index};
use crate::{
    extract::{Media, parameters},
    patience::{ReadLimit, in_time},
    problem::{Problem, ProblemCode},
    request::{Call, UnreadCall},
    scim::{
        Answered, Refused,
        answer::{base, groups_of, text},
        asked::{body, guard_filter, media, pairs},
        search::Part,
    },
    state::AppState,
};

pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let media = media(&call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    let request = ListRequest::of_parameters(&USER, pairs(&given))?;
    guard_filter(app, &request)?;
    let (may, actor, profile) = (call.permit()?, call.authority().actor(), call.profile());
    page(app, may, actor, (media, profile), request).await
}

pub(crate) async fn search(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let media = media(&call.parts)?;
    let (call, tree, _) = body(app, call, |tree| tree).await?;
    let (may, actor, profile) = (call.permit()?, call.authority().actor(), call.profile());
    let request = ListRequest::of_body(&USER, tree, profile)?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    in_time(limit, page(app, may, actor, (media, profile), request)).await?
}

/// What there is of users on a page that shows more than users.
pub(crate) async fn part(
    app: &AppState,
    may: roster_core::access::Permit<roster_core::access::ReadUsers>,
    actor: &roster_core::Actor,
    profile: Profile,
    request: &ListRequest,
) -> Result<Part, Refused> {
    let query = query(request, profile)?;
    let found = by_index(app, may, actor, query, request.start_index, true).await?;
    let ids = found.items.iter().map(|item| item.id).collect();
    let groups = groups_of(app, may, ids, &request.projection).await?;
    let mut text = Vec::new();
    write(app, request, &found, &groups, &mut text)?;
    // Where users left or came back during a walk, those who follow are counted from where it
    // ended: some are met twice rather than missed.
    let total = found.total.max(found.end).unwrap_or(0);
    Ok(Part { total, items: found.items.len(), ends: found.end.is_some(), text })
}

async fn page(
    app: &AppState,
    may: roster_core::access::Permit<roster_core::access::ReadUsers>,
    actor: &roster_core::Actor,
    (media, profile): (Media, Profile),
    request: ListRequest,
) -> Answered {
    let query = query(&request, profile)?;
    let found = match &request.cursor {
        Some(cursor) => by_cursor(app, may, actor, query, cursor, request.count).await?,
        None => by_index(app, may, actor, query, request.start_index, false).await?,
    };
    let ids = found.items.iter().map(|item| item.id).collect();
    let groups = groups_of(app, may, ids, &request.projection).await?;
    let body = rendered(app, &request, &found, &groups)?;
    Ok(text(body, media))
}

fn query(request: &ListRequest, profile: Profile) -> Result<PageQuery, Refused> {
    let mut query = PageQuery::first(request.count.unwrap_or(COUNT_DEFAULT));
    query.sort = request.sort;
    if let Some(text) = &request.filter {
        query = query.with(filter::parse(text, profile)?.expression().clone());
    }
    Ok(query)
}

/// The page as JSON: each user is written straight from its record.
fn rendered(
    app: &AppState,
    request: &ListRequest,
    found: &Found,
    groups: &GroupsOf,
) -> Result<Vec<u8>, Refused> {
    let envelope = Envelope {
        total: found.total,
        start_index: found.start_index,
        items: found.items.len(),
        next_cursor: found.next_cursor.clone(),
    };
    let bytes: usize = found.items.iter().map(|item| item.record.len() + 640).sum();
    let mut out = Vec::with_capacity(bytes + 256);
    envelope.open(&mut out);
    write(app, request, found, groups, &mut out)?;
    Envelope::close(&mut out);
    Ok(out)
}

fn write(
    app: &AppState,
    request: &ListRequest,
    found: &Found,
    groups: &GroupsOf,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let base = base(app);
    let writer = UserWriter::new(&base, &request.projection);
    for (index, item) in found.items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let groups = groups.get(&item.id).map(Vec::as_slice).unwrap_or_default();
        let written = writer.write(&item.record, groups, out);
        written.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    }
    Ok(())
}
