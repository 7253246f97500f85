//! `GET /users`: one page of the collection.

use std::sync::Arc;

use bytes::Bytes;
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
    pressure::{Class, Turn},
    problem::{Problem, ProblemCode},
    rest::page::{View, close_items, is_wanted, open, separate},
};

/// A page as it is sent.
#[derive(Debug)]
pub(crate) struct Rendered {
    position: i64,
    body: Bytes,
    target: Option<String>,
}

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let parts = call.parts;
    let media = negotiate(&parts.headers, &[JSON, NDJSON])?;
    if media == NDJSON {
        return bulk::export(face, call).await;
    }
    let (permit, actor) = (call.permit()?, call.authority.actor());
    let cursors = face.cursors.of(List::Users, actor);
    let class = Class::of_list(parts.uri.query());
    let view = || View::new(face, parts, media, true);
    // The cursor on a page is its caller's own.
    let asked = (class == Class::LongLists && is_wanted(parts))
        .then(|| format!("{actor} {}", parts.uri.query().unwrap_or_default()));
    let turn = match &asked {
        Some(asked) => face.pressure.enter_or_share(&face.long_pages, asked).await?,
        None => Turn::Own(face.pressure.enter(class).await?, None),
    };
    let (_entered, teller) = match turn {
        Turn::Own(entered, teller) => (entered, teller),
        Turn::Told(page) => {
            return Ok(view().page(page.position, page.body.clone(), page.target.as_deref()));
        }
    };
    let query = ListQuery::read(parts.uri.query(), cursors)?;
    let view = view();
    if let Some(response) = view.without_page().await? {
        return Ok(response);
    }
    // The query asks for more than was to be seen of it.
    let is_longer = class == Class::Lists && !Plan::of(&query.page).is_bounded(&query.page);
    let _longer = if is_longer { Some(face.pressure.enter_aside().await?) } else { None };
    let page = face.directory.list(permit, query.page.clone()).await?;
    let next = match &page.next {
        Some(place) => Some(query.seal(place)?),
        None => None,
    };
    let target = next.as_deref().map(|cursor| query.target(parts.uri.path(), cursor));
    let body = Bytes::from(envelope(&query, &page, next.as_deref())?);
    if let Some(teller) = teller {
        let (position, body) = (page.position, body.clone());
        teller.tell(|| Arc::new(Rendered { position, body, target: target.clone() }));
    }
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
