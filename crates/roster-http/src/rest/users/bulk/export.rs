//! `GET /users` as `application/x-ndjson`: every user of the collection, in the order of ids.
//!
//! It is read in pages, one page ahead of the one that is sent, so a slow client uses two pages of
//! memory and nothing of the store. Each line is a record as it was committed at or after
//! `Roster-Position`. After an error the body ends without its end mark. An overloaded store is
//! asked again first, because the client would have to start again from the beginning. Before each
//! page is sent, the caller's credential is checked again.

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

use super::super::list_query::{ListForm, UserListQuery};
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

/// Users per read. It is more than a page may have, which tells the engine that this read has low
/// priority.
pub(super) const STREAMED_AT_ONCE: usize = 2 * PAGE_SIZE_MAX;

/// Pauses in milliseconds before a page is read again after a transient error.
const PAUSES_MS: [u64; 3] = [100, 400, 1_600];

pub(crate) async fn export(app: &AppState, call: &Call) -> Result<Response, Problem> {
    let may = call.permit()?;
    let UserListQuery { mut page, fields, query, .. } =
        UserListQuery::read(app, call, ListForm::Lines, |_| Ok(false))?;
    let lines_left = if query.has("limit") { page.limit } else { usize::MAX };
    page.limit = STREAMED_AT_ONCE;
    refuse_if_match(&call.parts.headers, "NDJSON has no tag, so no If-Match matches")?;
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
    let (members, request_id) = (fields.members(), call.request_id().to_owned());
    let export = Export { directory, lease, page, members, lines_left, request_id };
    tokio::spawn(export.send(first, sender, place));
    Ok(response)
}

fn describe(app: &AppState, headers: &mut HeaderMap, position: i64) {
    headers.insert(CONTENT_TYPE, NDJSON.header());
    headers.insert(CACHE_CONTROL, respond::PRIVATE);
    headers.insert(VARY, BY_ACCEPT);
    respond::position(headers, app.directory.log_id(), position);
}

/// Reads a page, again after a transient error.
pub(super) async fn read_page(
    directory: &Directory,
    may: Permit<ReadUsers>,
    query: &PageQuery,
) -> Result<Page, StoreError> {
    for pause_ms in PAUSES_MS {
        match directory.list(may, query.clone()).await {
            Err(error) if error.is_transient() => sleep(Duration::from_millis(pause_ms)).await,
            read => return read,
        }
    }
    directory.list(may, query.clone()).await
}

/// A running export.
struct Export {
    directory: Directory,
    lease: Lease<ReadUsers>,
    page: PageQuery,
    members: Option<Members>,
    /// How many users may still be sent.
    lines_left: usize,
    request_id: String,
}

impl Export {
    async fn send(mut self, first: Page, sender: BodySender, _place: Place) {
        let mut read = Ok(first);
        loop {
            let mut page = match read {
                Ok(page) => page,
                Err(error) => return self.log_failure(&error),
            };
            page.items.truncate(self.lines_left);
            self.lines_left -= page.items.len();
            let Some(lines) = self.lines(&page) else {
                let place = "a record that could not be projected".to_owned();
                return self.log_failure(&StoreError::Corrupt { place });
            };
            let next = page.next.take().filter(|_| self.lines_left > 0);
            drop(page);
            let Some(room) = self.room(&sender).await else { return };
            // Checked as late as possible: the page may have waited for room.
            let may = match self.lease.permit().await {
                Ok(may) => may,
                Err(problem) => return self.log_stop(&problem),
            };
            room.send(lines);
            let Some(next) = next else { return sender.finish() };
            self.page.after = Some(next);
            // Waits until the page before is being sent, so that at most two pages are in memory.
            if self.room(&sender).await.is_none() {
                return;
            }
            read = read_page(&self.directory, may, &self.page).await;
        }
    }

    /// Waits for room for a page. Returns `None` if the client is gone or its credential is no
    /// longer valid.
    async fn room<'s>(&mut self, sender: &'s BodySender) -> Option<Room<'s>> {
        let problem = tokio::select! {
            biased;
            problem = self.lease.over() => problem,
            room = sender.room() => return room.ok(),
        };
        self.log_stop(&problem);
        None
    }

    /// The records of a page, one per line; `None` if a record cannot be projected.
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

    fn log_stop(&self, problem: &Problem) {
        let (request_id, code) = (self.request_id.as_str(), problem.code.as_str());
        tracing::warn!(
            request_id,
            code,
            "an export was stopped: its caller's credential is no longer valid"
        );
    }

    fn log_failure(&self, error: &StoreError) {
        let request_id = self.request_id.as_str();
        let cause: &dyn std::error::Error = error;
        tracing::error!(request_id, cause, "an export failed");
    }
}
