//! `GET /groups/{group_id}/members`: one page of the direct members of a group.

use http::Response;
use roster_core::group::MembersPage;

use super::{group_id, list_query::MemberListQuery};
use crate::{
    cursor::List,
    extract::{JSON, negotiate},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::{Problem, ProblemCode},
    rest::page::{View, close_items, open, separate},
};

/// What a member takes on a page.
const MEMBER_BYTES: usize = 64;

pub(in crate::rest) async fn list_members(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let parts = call.parts;
    let media = negotiate(&parts.headers, &[JSON])?;
    let _admitted = face.pressure.admit(Class::of_list(parts.uri.query())).await?;
    let cursors = face.cursors.of(List::Members, call.authority.actor());
    let query = MemberListQuery::read(group_id(segment)?, parts.uri.query(), cursors)?;
    let absent = || Problem::new(ProblemCode::GroupNotFound);
    let (desk, may) = (face.directory.groups(), call.permit()?);
    // Whoever asks for headers alone, or knows a page, learns too that there is no such group.
    desk.get(may, query.page.group).await?.ok_or_else(absent)?;
    let view = View::new(face, parts, media, false);
    if let Some(response) = view.without_page().await? {
        return Ok(response);
    }
    let page = desk.members(may, query.page).await?.ok_or_else(absent)?;
    let next = page.next.map(|place| query.seal(place)).transpose()?;
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let body = envelope(&query, &page, next.as_deref());
    Ok(view.page(page.position, body, target.as_deref()))
}

fn envelope(query: &MemberListQuery, page: &MembersPage, next: Option<&str>) -> Vec<u8> {
    let mut out = open(page.items.len() * MEMBER_BYTES);
    for (index, member) in page.items.iter().enumerate() {
        separate(index, &mut out);
        let (kind, id) = (member.kind.as_str(), member.id);
        out.extend_from_slice(format!("{{\"id\":\"{id}\",\"type\":\"{kind}\"}}").as_bytes());
    }
    close_items(next, &mut out);
    if query.count {
        out.extend_from_slice(format!(",\"total\":{}", page.total).as_bytes());
    }
    out.push(b'}');
    out
}
