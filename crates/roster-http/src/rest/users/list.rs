//! `GET /users`: one page of the collection.

use http::Response;
use roster_core::{
    list::{Page, Total},
    plan::Plan,
};

use super::{bulk, list_query::ListQuery};
use crate::{
    cursor::List,
    extract::{JSON, NDJSON, negotiate},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::{Problem, ProblemCode},
    rest::page::{View, close_items, open, separate},
};

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let parts = call.parts;
    let media = negotiate(&parts.headers, &[JSON, NDJSON])?;
    if media == NDJSON {
        return bulk::export(face, call).await;
    }
    let (permit, actor) = (call.permit()?, call.authority.actor());
    let cursors = face.cursors.of(List::Users, actor);
    let class = Class::of_list(parts.uri.query());
    let _admitted = face.pressure.admit(class).await?;
    let query = ListQuery::read(parts.uri.query(), cursors)?;
    let view = View::new(face, parts, media, true);
    if let Some(response) = view.without_page().await? {
        return Ok(response);
    }
    let is_scan = class == Class::Lists && !Plan::of(&query.page).is_bounded(&query.page);
    let _scan = if is_scan { Some(face.pressure.admit_scan().await?) } else { None };
    let page = face.directory.list(permit, query.page.clone()).await?;
    let next = match &page.next {
        Some(place) => Some(query.seal(place)?),
        None => None,
    };
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let body = envelope(&query, &page, next.as_deref())?;
    Ok(view.page(page.position, body, target.as_deref()))
}

/// The page as JSON: the records are copied in as they are kept.
fn envelope(query: &ListQuery, page: &Page, next: Option<&str>) -> Result<Vec<u8>, Problem> {
    let mut out = open(page.items.iter().map(|item| item.record.len() + 1).sum());
    for (index, item) in page.items.iter().enumerate() {
        separate(index, &mut out);
        match &query.members {
            None => out.extend_from_slice(&item.record),
            Some(members) => members
                .project(&item.record, &mut out)
                .ok_or_else(|| Problem::new(ProblemCode::Internal))?,
        }
    }
    close_items(next, &mut out);
    if let Some(examined) = page.examined {
        out.extend_from_slice(format!(",\"examined\":{examined}").as_bytes());
    }
    match page.total {
        None => {}
        Some(Total::Exactly(total)) => {
            out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
        }
        Some(Total::AtLeast(total)) => {
            let text = format!(",\"total\":{total},\"total_relation\":\"at_least\"");
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.push(b'}');
    Ok(out)
}
