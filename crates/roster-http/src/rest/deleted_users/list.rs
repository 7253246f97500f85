//! `GET /deleted-users`: one page of the users that have left, the last to leave first.

use http::Response;
use roster_core::{access::WriteUsers, list::DeletedPage};

use super::{
    list_query::DeletedListQuery,
    record::{size, write},
};
use crate::{
    cursor::List,
    extract::{JSON, negotiate},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::Problem,
    rest::page::{View, close_items, open, separate},
};

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let parts = call.parts;
    let media = negotiate(&parts.headers, &[JSON])?;
    let _admitted = face.pressure.admit(Class::of_list(parts.uri.query())).await?;
    let cursors = face.cursors.of(List::DeletedUsers, call.authority.actor());
    let query = DeletedListQuery::read(parts.uri.query(), cursors)?;
    let view = View::new(face, parts, media, false);
    if let Some(response) = view.without_page().await? {
        return Ok(response);
    }
    let page =
        face.directory.list_deleted(call.permit::<WriteUsers>()?, query.page.clone()).await?;
    let next = match page.next {
        Some(place) => Some(query.seal(place)?),
        None => None,
    };
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let body = envelope(face, &query, &page, next.as_deref());
    Ok(view.page(page.position, body, target.as_deref()))
}

fn envelope(
    face: &Face,
    query: &DeletedListQuery,
    page: &DeletedPage,
    next: Option<&str>,
) -> Vec<u8> {
    let mut out = open(page.items.iter().map(size).sum());
    for (index, deleted) in page.items.iter().enumerate() {
        separate(index, &mut out);
        write(deleted, face.settings.deleted_keep, &mut out);
    }
    close_items(next, &mut out);
    if query.count {
        out.extend_from_slice(format!(",\"total\":{}", page.total).as_bytes());
    }
    out.push(b'}');
    out
}
