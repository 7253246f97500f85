//! `GET /events` and `GET /users/{user_id}/events`: a page of the change log.
//!
//! `Roster-Position` says how far a page reaches, also where it shows nothing: whoever goes on
//! from there misses nothing and sees nothing twice.

use http::{
    Response,
    header::{CACHE_CONTROL, CONTENT_TYPE, IF_MATCH, LINK},
};
use roster_core::Position;

use super::{envelope::envelope, list_query::EventListQuery};
use crate::{
    extract::{EntityTags, JSON, negotiate, tags, user_id},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::{Problem, ProblemCode},
    rest::{
        answer::{PRIVATE, position},
        page::link,
    },
};

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    read(face, call, None).await
}

pub(in crate::rest) async fn list_of_user(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    read(face, call, Some(segment)).await
}

async fn read(
    face: &Face,
    call: &Call<'_>,
    segment: Option<&str>,
) -> Result<Response<Body>, Problem> {
    let parts = call.parts;
    negotiate(&parts.headers, &[JSON])?;
    let _admitted = face.pressure.admit(Class::of_list(parts.uri.query())).await?;
    // There is no tag that an If-Match could name (RFC 9110 section 13.1.1).
    if matches!(tags(&parts.headers, &IF_MATCH)?, Some(EntityTags::List(_))) {
        let detail = "events have no tag, so no If-Match matches";
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    let id = segment.map(user_id).transpose()?;
    let query = EventListQuery::read(parts.uri.query(), id)?;
    let log = face.directory.log_id();
    query.check_log(log)?;
    let may = call.permit()?;
    let mut page = face.directory.events(may, query.page).await?;
    page.events.retain(|(_, event)| query.shows.show(event.kind));
    query.check(&page)?;
    if let Some(id) = id
        && page.events.is_empty()
        && !face.directory.is_known(may, id, page.oldest - 1).await?
    {
        let detail = "the change log has no events of a user with this id";
        return Err(Problem::saying(ProblemCode::UserNotFound, detail));
    }
    let more = page.reached < page.head;
    let next = more.then(|| Position { log, number: page.reached }.to_string());
    let body = envelope(&page, log, &face.settings.base_url, next.as_deref());
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    position(headers, log, page.reached);
    let target = next.map(|cursor| query.target(parts.uri.path(), &cursor));
    if let Some(link) = target.as_deref().and_then(link) {
        headers.insert(LINK, link);
    }
    Ok(response)
}
