//! `GET /scim/v2/Users` and `POST /scim/v2/Users/.search`: one page of the users (RFC 7644
//! sections 3.4.2 and 3.4.3, RFC 9865).

use std::pin::pin;

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
    face::{Call, Face, UnreadCall},
    patience::in_time,
    problem::{Problem, ProblemCode},
    scim::{
        Answered, Refused,
        answer::{base, groups_of, text},
        asked::{body, guard_filter, media, pairs},
        search::Part,
    },
};

pub(in crate::scim) async fn list(face: &Face, call: &Call<'_>) -> Answered {
    let media = media(call.parts)?;
    let given = parameters(call.parts.uri.query())?;
    let request = ListRequest::of_parameters(&USER, pairs(&given))?;
    guard_filter(face, &request)?;
    let (may, actor, profile) = (call.permit()?, call.authority.actor(), call.profile());
    page(face, may, actor, (media, profile), request).await
}

pub(in crate::scim) async fn search(face: &Face, call: UnreadCall<'_>) -> Answered {
    let media = media(call.parts)?;
    let (call, tree, _) = body(face, call, |tree| tree).await?;
    let (may, actor, profile) = (call.permit()?, call.authority.actor(), call.profile());
    let request = ListRequest::of_body(&USER, tree, profile)?;
    let page = pin!(page(face, may, actor, (media, profile), request));
    in_time(face.settings.read_wait_max, &call.parts.headers, page).await
}

/// What there is of users on a page that shows more than users.
pub(in crate::scim) async fn part(
    face: &Face,
    may: roster_core::access::Permit<roster_core::access::ReadUsers>,
    actor: &roster_core::Actor,
    profile: Profile,
    request: &ListRequest,
) -> Result<Part, Refused> {
    let query = query(request, profile)?;
    let found = by_index(face, may, actor, query, request.start_index, true).await?;
    let ids = found.items.iter().map(|item| item.id).collect();
    let groups = groups_of(face, may, ids, &request.projection).await?;
    let mut text = Vec::new();
    write(face, request, &found, &groups, &mut text)?;
    // Where users left or came back during a walk, those who follow are counted from where it
    // ended: some are met twice rather than missed.
    let total = found.total.max(found.end).unwrap_or(0);
    Ok(Part { total, items: found.items.len(), ends: found.end.is_some(), text })
}

async fn page(
    face: &Face,
    may: roster_core::access::Permit<roster_core::access::ReadUsers>,
    actor: &roster_core::Actor,
    (media, profile): (Media, Profile),
    request: ListRequest,
) -> Answered {
    let query = query(&request, profile)?;
    let found = match &request.cursor {
        Some(cursor) => by_cursor(face, may, actor, query, cursor, request.count).await?,
        None => by_index(face, may, actor, query, request.start_index, false).await?,
    };
    let ids = found.items.iter().map(|item| item.id).collect();
    let groups = groups_of(face, may, ids, &request.projection).await?;
    let body = rendered(face, &request, &found, &groups)?;
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
    face: &Face,
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
    write(face, request, found, groups, &mut out)?;
    Envelope::close(&mut out);
    Ok(out)
}

fn write(
    face: &Face,
    request: &ListRequest,
    found: &Found,
    groups: &GroupsOf,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let base = base(face);
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
