//! From stored groups to answers, with their members where they are shown.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, CONTENT_TYPE, ETAG},
};
use roster_core::{
    Group, GroupId, Member, Outcome, Stored,
    access::{Permit, ReadUsers},
    group::MembersQuery,
    limits::GROUP_MEMBERS_MAX,
};
use roster_scim::{
    Projection,
    group::{GroupWriter, location, shows_members},
};

use crate::{
    extract::{Media, Return},
    pressure::SHORT_PAGE_MAX,
    problem::{Problem, ProblemCode},
    scim::{
        Answered, Refused,
        answer::{IDEMPOTENT_REPLAYED, PREFERENCE_APPLIED, PRIVATE, base},
        asked::Asked,
    },
    state::AppState,
};

/// What a member takes in an answer, about.
const MEMBER_BYTES: usize = 160;

/// A group with its members, as far as they are shown.
pub(super) struct Shown {
    pub(super) stored: Stored,
    pub(super) members: Vec<Member>,
}

/// The group of that id as it is to be shown; `None` where there is none. With members it is one
/// snapshot: few come with the first question, many with one that asks for all.
pub(super) async fn shown(
    app: &AppState,
    may: Permit<ReadUsers>,
    id: GroupId,
    projection: &Projection,
) -> Result<Option<Shown>, Refused> {
    let desk = app.directory.groups();
    if !shows_members(projection) {
        let stored = desk.get(may, id).await?;
        return Ok(stored.map(|stored| Shown { stored, members: Vec::new() }));
    }
    let query = MembersQuery { group: id, after: None, limit: SHORT_PAGE_MAX };
    let Some(mut page) = desk.members(may, query).await? else { return Ok(None) };
    if page.next.is_some() {
        let limit = usize::try_from(GROUP_MEMBERS_MAX).unwrap_or(usize::MAX);
        let whole = desk.members(may, MembersQuery { limit, ..query }).await?;
        let Some(whole) = whole else { return Ok(None) };
        page = whole;
    }
    Ok(Some(Shown { stored: page.group, members: page.items }))
}

/// The group of a record.
pub(super) fn group_of(stored: &Stored) -> Result<Group, Problem> {
    Group::from_record(&stored.record).map_err(|_| Problem::new(ProblemCode::Internal))
}

/// A group as an answer.
pub(super) fn group(
    app: &AppState,
    status: StatusCode,
    shown: &Shown,
    projection: &Projection,
    media: Media,
) -> Answered {
    let base = base(app);
    let mut body = Vec::with_capacity(640 + shown.members.len() * MEMBER_BYTES);
    let writer = GroupWriter { base: &base, projection };
    writer.write(&group_of(&shown.stored)?, &shown.members, &mut body);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    describe(headers, &base, &shown.stored);
    Ok(response)
}

/// What a write came to.
pub(super) async fn written(
    app: &AppState,
    may: Permit<ReadUsers>,
    status: StatusCode,
    outcome: Outcome,
    asked: &Asked,
) -> Answered {
    let replayed = outcome.replayed;
    let mut response = if asked.wanted == Some(Return::Minimal) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            if status == StatusCode::OK { StatusCode::NO_CONTENT } else { status };
        describe(response.headers_mut(), &base(app), &outcome.stored);
        response
    } else {
        let now = shown(app, may, outcome.stored.id, &asked.projection).await?;
        let members = now.map(|now| now.members).unwrap_or_default();
        let shown = Shown { stored: outcome.stored, members };
        group(app, status, &shown, &asked.projection, asked.media)?
    };
    let headers = response.headers_mut();
    if replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    if let Some(wanted) = asked.wanted {
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(wanted.applied()));
    }
    Ok(response)
}

/// The group is as the caller knows it.
pub(super) fn not_modified(app: &AppState, stored: &Stored) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    describe(response.headers_mut(), &base(app), stored);
    response
}

/// Tag and place of a group (RFC 7643 section 3.1: both as in `meta`).
fn describe(headers: &mut HeaderMap, base: &str, stored: &Stored) {
    headers.insert(CACHE_CONTROL, PRIVATE);
    if let Ok(tag) = HeaderValue::try_from(format!("W/\"{}\"", stored.version)) {
        headers.insert(ETAG, tag);
    }
    if let Ok(place) = HeaderValue::try_from(location(base, stored.id)) {
        headers.insert(CONTENT_LOCATION, place);
    }
}
