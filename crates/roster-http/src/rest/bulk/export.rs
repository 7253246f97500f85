//! Exports: all records in one response, one on each line or in each row.
//!
//! The records are read in pages, one page ahead of the page that is being sent. So a slow client
//! uses two pages of memory and no resources of the store. Each line is a record as it was
//! committed at or after `Roster-Position`. After an error the body is aborted. A read that fails
//! because the store is overloaded is first repeated, because otherwise the client would have to
//! start from the beginning. Before each page is sent, the caller's credential is checked again.

use std::{mem, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use roster_core::{
    Directory, Position, StoreError,
    access::{Permit, Right},
    list::Total,
};
use roster_server::{BodySender, Room, StreamedBody};
use tokio::time::sleep;

use crate::{
    access::Lease,
    extract::{Media, NDJSON, refuse_if_match},
    problem::Problem,
    request::Call,
    rest::{list::ListQuery, respond},
    state::AppState,
    turns::Turns,
};

const ROSTER_TOTAL: HeaderName = HeaderName::from_static("roster-total");
const ROSTER_TOTAL_RELATION: HeaderName = HeaderName::from_static("roster-total-relation");

/// Pauses in milliseconds before a page is read again after a transient error.
const PAUSES_MS: [u64; 3] = [100, 400, 1_600];

/// The list that an export reads.
pub(super) trait ExportSource: Send + Sync + 'static {
    /// The right that the caller needs.
    type Right: Right + Send;
    type Item: Send + Sync;
    /// The position where a page starts.
    type Key: Send;

    /// Reads the current page, or only the number of records that match.
    fn read(
        &self,
        directory: &Directory,
        may: Permit<Self::Right>,
        part: ExportPart,
    ) -> impl Future<Output = Result<ExportPage<Self::Item, Self::Key>, StoreError>> + Send;

    /// Whether a line begins a record. Others continue the record of the line before.
    fn begins(&self, _: &Self::Item) -> bool {
        true
    }

    /// Whether the line after this position continues the record of the line before.
    fn continues(&self, _: &Self::Key) -> bool {
        false
    }

    /// Makes the page after this position the current one.
    fn continue_after(&mut self, key: Self::Key);

    /// The media type, and what comes before the first record.
    fn form(&self) -> (Media, Vec<u8>) {
        (NDJSON, Vec::new())
    }

    /// Appends the line of a record, without its end; `None` if the record cannot be read.
    fn write(&self, item: &Self::Item, out: &mut Vec<u8>) -> Option<()>;
}

/// What is read of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExportPart {
    Page,
    Total,
}

/// A page of a source.
pub(super) struct ExportPage<I, K> {
    pub(super) items: Vec<I>,
    /// The position where the next page starts; `None` at the end.
    pub(super) next: Option<K>,
    pub(super) position: i64,
    /// The number of records that match, if it was read.
    pub(super) total: Option<Total>,
}

/// The response with all records of a source, or with at most `limit` records if the query has one.
pub(super) async fn export<S: ExportSource>(
    app: &AppState,
    call: &Call,
    query: &ListQuery<'_>,
    source: S,
) -> Result<Response, Problem> {
    let may = call.permit()?;
    let lines_left = if query.has("limit") { query.limit } else { usize::MAX };
    refuse_if_match(&call.parts.headers, "an export has no tag, so no If-Match matches")?;
    let (media, header) = source.form();
    let total = if query.count {
        source.read(&app.directory, may, ExportPart::Total).await?.total
    } else {
        None
    };
    if call.parts.method == Method::HEAD {
        let position = app.directory.head().await?.position;
        let mut response = Response::new(Body::empty());
        describe(response.headers_mut(), media, call.position(position));
        add_total(response.headers_mut(), total);
        return Ok(response);
    }
    let place = app.transfers.exports.take(&call.identity(), &app.admission.refusals).await?;
    let first = source.read(&app.directory, may, ExportPart::Page).await?;
    let (body, sender) = StreamedBody::new(call.peer());
    let mut response = body.into_response();
    describe(response.headers_mut(), media, call.position(first.position));
    add_total(response.headers_mut(), total);
    let (directory, lease) = (app.directory.clone(), call.lease(app, place)?);
    let request_id = call.request_id().to_owned();
    let export = Export { directory, lease, source, header, lines_left, request_id };
    tokio::spawn(export.send(first, sender));
    Ok(response)
}

fn describe(headers: &mut HeaderMap, media: Media, position: Position) {
    headers.insert(CONTENT_TYPE, media.header());
    headers.insert(CACHE_CONTROL, respond::PRIVATE);
    respond::position(headers, position);
}

/// The number of records of an export, and whether there may be more.
fn add_total(headers: &mut HeaderMap, total: Option<Total>) {
    let Some(Total::Exactly(number) | Total::AtLeast(number)) = total else { return };
    headers.insert(ROSTER_TOTAL, number.into());
    if matches!(total, Some(Total::AtLeast(_))) {
        headers.insert(ROSTER_TOTAL_RELATION, HeaderValue::from_static("at_least"));
    }
}

/// Reads a page. After a transient error it reads again.
pub(super) async fn read_again<T, F>(read: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for pause_ms in PAUSES_MS {
        match read().await {
            Err(error) if error.is_transient() => sleep(Duration::from_millis(pause_ms)).await,
            read => return read,
        }
    }
    read().await
}

/// A running export.
struct Export<S: ExportSource> {
    directory: Directory,
    lease: Lease<S::Right>,
    source: S,
    /// What comes before the first record, until it is sent.
    header: Vec<u8>,
    /// How many records may still begin.
    lines_left: usize,
    request_id: String,
}

impl<S: ExportSource> Export<S> {
    async fn send(mut self, first: ExportPage<S::Item, S::Key>, sender: BodySender) {
        let mut read = Ok(first);
        loop {
            let mut page = match read {
                Ok(page) => page,
                Err(error) => return self.log_failure(&error),
            };
            let is_over = self.cut(&mut page.items);
            let begun = mem::take(&mut self.header);
            let Some(lines) = self.lines(begun, &page.items).await else {
                let place = "a record that could not be projected".to_owned();
                return self.log_failure(&StoreError::Corrupt { place });
            };
            let count = page.items.len();
            let next = page
                .next
                .take()
                .filter(|next| !is_over && (self.lines_left > 0 || self.source.continues(next)));
            drop(page);
            let Some(room) = self.room(&sender).await else { return };
            // Checked as late as possible: the page may have waited for room.
            let may = match self.lease.permit().await {
                Ok(may) => may,
                Err(problem) => return self.log_stop(&problem),
            };
            room.send(lines);
            self.lease.progress(count);
            let Some(next) = next else { return sender.finish() };
            self.source.continue_after(next);
            // Waits until the previous page is being sent, so that at most two pages are in memory.
            if self.room(&sender).await.is_none() {
                return;
            }
            read = read_again(|| self.source.read(&self.directory, may, ExportPart::Page)).await;
        }
    }

    /// Removes the lines of records beyond the limit. Returns whether there were any.
    fn cut(&mut self, items: &mut Vec<S::Item>) -> bool {
        let is_beyond = |item: &S::Item| {
            let begins = self.source.begins(item);
            if begins && self.lines_left > 0 {
                self.lines_left -= 1;
                return false;
            }
            begins
        };
        let end = items.iter().position(is_beyond);
        items.truncate(end.unwrap_or(items.len()));
        end.is_some()
    }

    /// Waits for room for a page. Returns `None` if the client is gone, its credential is no longer
    /// valid, or another caller needs the place.
    async fn room<'s>(&mut self, sender: &'s BodySender) -> Option<Room<'s>> {
        let problem = tokio::select! {
            biased;
            problem = self.lease.over() => problem,
            room = sender.room() => return room.ok(),
        };
        self.log_stop(&problem);
        None
    }

    /// The records of a page, one per line, behind `out`; `None` if a record cannot be projected.
    async fn lines(&self, mut out: Vec<u8>, items: &[S::Item]) -> Option<Vec<u8>> {
        let mut turns = Turns::default();
        for item in items {
            self.source.write(item, &mut out)?;
            out.push(b'\n');
            turns.take(out.len()).await;
        }
        Some(out)
    }

    fn log_stop(&self, problem: &Problem) {
        let (request_id, code) = (self.request_id.as_str(), problem.code.as_str());
        tracing::warn!(request_id, code, "an export was stopped");
    }

    fn log_failure(&self, error: &StoreError) {
        let request_id = self.request_id.as_str();
        let cause: &dyn std::error::Error = error;
        tracing::error!(request_id, cause, "an export failed");
    }
}
