//! `GET /groups`: one page of the groups, in the order of their making.

use http::Response;
use roster_core::{group::GroupPage, list::Total};

use super::list_query::GroupListQuery;
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
    let cursors = face.cursors.of(List::Groups, call.authority.actor());
    let query = GroupListQuery::read(parts.uri.query(), cursors)?;
    let view = View::new(face, parts, media, false);
    if let Some(response) = view.without_page().await? {
        return Ok(response);
    }
    let page = face.directory.groups().list(call.permit()?, query.page.clone()).await?;
    let next = page.next.map(|place| query.seal(place)).transpose()?;
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let body = envelope(&page, next.as_deref());
    Ok(view.page(page.position, body, target.as_deref()))
}

/// The page as JSON: the records are copied in as they are kept.
fn envelope(page: &GroupPage, next: Option<&str>) -> Vec<u8> {
    let mut out = open(page.items.iter().map(|item| item.record.len() + 1).sum());
    for (index, item) in page.items.iter().enumerate() {
        separate(index, &mut out);
        out.extend_from_slice(&item.record);
    }
    close_items(next, &mut out);
    let total = match page.total {
        None => String::new(),
        Some(Total::Exactly(total)) => format!(",\"total\":{total}"),
        Some(Total::AtLeast(total)) => {
            format!(",\"total\":{total},\"total_relation\":\"at_least\"")
        }
    };
    out.extend_from_slice(total.as_bytes());
    out.push(b'}');
    out
}
