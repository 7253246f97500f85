//! `GET /users` as `application/x-ndjson`: every user of the collection, in the order of ids.
//!
//! Short reads of one page each, one page ahead of what is being sent: a caller that reads slowly
//! holds two pages of memory and nothing of the store. Each line is a record as it was committed
//! at some moment at or after `Roster-Position`. A failure midway breaks the body off; a store that
//! has no time just now is asked again first, for a caller would have to begin anew. No page is
//! sent to somebody who has been shut out meanwhile.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE, VARY},
};
use roster_core::{
    Directory, StoreError,
    access::{Permit, ReadUsers},
    limits::PAGE_SIZE_MAX,
    list::{Page, PageQuery},
    project::Members,
};
use tokio::time::sleep;

use super::super::list_query::UserListQuery;
use crate::{
    access::Lease,
    extract::NDJSON,
    problem::Problem,
    request::Call,
    rest::{
        list::{BY_ACCEPT, refuse_if_match},
        respond,
    },
    server::{BodySender, Room, StreamedBody},
    state::AppState,
    transfers::Place,
};

/// Users that are read at a time: more than a page may have, which tells the engine that nobody
/// waits for a page of their own.
const STREAMED_AT_ONCE: usize = 2 * PAGE_SIZE_MAX;

/// What belongs to pages, and why it has no place here.
const OF_PAGES: [(&str, &str); 5] = [
    ("sort", "NDJSON comes in the order of ids; leave sort out"),
    ("q", "a search is answered in pages of JSON; use filter, or Accept: application/json"),
    ("limit", "NDJSON is one answer without pages; leave limit out"),
    ("cursor", "NDJSON is one answer without pages; leave cursor out"),
    ("count", "NDJSON has no place for a total; count the lines"),
];

/// Milliseconds after which a page is asked for again that the store had no time for.
const PAUSES_MS: [u64; 3] = [100, 400, 1_600];

pub(crate) async fn export(app: &AppState, call: &Call) -> Result<Response, Problem> {
    let may = call.permit()?;
    let UserListQuery { mut page, members, .. } = UserListQuery::read(app, call, &OF_PAGES)?;
    page.limit = STREAMED_AT_ONCE;
    refuse_if_match(call, "NDJSON has no tag, so no If-Match matches")?;
    if call.parts.method == Method::HEAD {
        let position = app.directory.head().await?.position;
        let mut response = Response::new(Body::empty());
        describe(app, response.headers_mut(), position);
        return Ok(response);
    }
    let place = app.transfers.exports.take(&call.identity(), &app.admission.refusals)?;
    let first = app.directory.list(may, page.clone()).await?;
    let (body, sender) = StreamedBody::new(call.peer());
    let mut response = body.into_response();
    describe(app, response.headers_mut(), first.position);
    let (directory, lease) = (app.directory.clone(), call.lease(app)?);
    let walk = Walk { directory, lease, page, members, request_id: call.request_id().to_owned() };
    tokio::spawn(walk.send(first, sender, place));
    Ok(response)
}

fn describe(app: &AppState, headers: &mut HeaderMap, position: i64) {
    headers.insert(CONTENT_TYPE, NDJSON.header());
    headers.insert(CACHE_CONTROL, respond::PRIVATE);
    headers.insert(VARY, BY_ACCEPT);
    respond::position(headers, app.directory.log_id(), position);
}

/// An export on its way.
struct Walk {
    directory: Directory,
    lease: Lease<ReadUsers>,
    page: PageQuery,
    members: Option<Members>,
    request_id: String,
}

impl Walk {
    async fn send(mut self, first: Page, sender: BodySender, _place: Place) {
        let mut read = Ok(first);
        loop {
            let page = match read {
                Ok(page) => page,
                Err(error) => return self.broke_off(&error),
            };
            let Some(lines) = self.lines(&page) else {
                let place = "a record that was to be cut".to_owned();
                return self.broke_off(&StoreError::Corrupt { place });
            };
            let next = page.next.clone();
            drop(page);
            let Some(room) = self.room(&sender).await else { return };
            // As late as can be: the page may have waited for its room.
            let may = match self.lease.permit().await {
                Ok(may) => may,
                Err(problem) => return self.stopped(&problem),
            };
            room.send(lines);
            let Some(next) = next else { return sender.finish() };
            self.page.after = Some(next);
            // Only once the page before is being sent: two are in memory, and no more.
            if self.room(&sender).await.is_none() {
                return;
            }
            read = self.read(may).await;
        }
    }

    /// Room for a page; none once the caller has gone away, or may have no more.
    async fn room<'s>(&mut self, sender: &'s BodySender) -> Option<Room<'s>> {
        let problem = tokio::select! {
            biased;
            problem = self.lease.over() => problem,
            room = sender.room() => return room.ok(),
        };
        self.stopped(&problem);
        None
    }

    async fn read(&self, may: Permit<ReadUsers>) -> Result<Page, StoreError> {
        for pause_ms in PAUSES_MS {
            match self.directory.list(may, self.page.clone()).await {
                Err(error) if error.is_transient() => {
                    sleep(Duration::from_millis(pause_ms)).await;
                }
                read => return read,
            }
        }
        self.directory.list(may, self.page.clone()).await
    }

    /// The records of a page, a line each; nothing if one of them cannot be cut.
    fn lines(&self, page: &Page) -> Option<Vec<u8>> {
        let bytes = page.items.iter().map(|item| item.record.len() + 1).sum();
        let mut out = Vec::with_capacity(if self.members.is_none() { bytes } else { 0 });
        for item in &page.items {
            match &self.members {
                None => out.extend_from_slice(&item.record),
                Some(members) => members.project(&item.record, &mut out)?,
            }
            out.push(b'\n');
        }
        Some(out)
    }

    fn stopped(&self, problem: &Problem) {
        let (request_id, code) = (self.request_id.as_str(), problem.code.as_str());
        tracing::warn!(request_id, code, "an export was stopped: its caller is let in no longer");
    }

    fn broke_off(&self, error: &StoreError) {
        let request_id = self.request_id.as_str();
        let cause: &dyn std::error::Error = error;
        tracing::error!(request_id, cause, "an export broke off");
    }
}
