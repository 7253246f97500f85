//! Events as a stream of server-sent events (HTML, section 9.2).
//!
//! A task for each stream reads pages and sends them when the connection accepts bytes, so a slow
//! client uses two short pages of memory and no resources of the store. The id of a frame is a
//! position: a client that reconnects sends the last one, and misses nothing. A frame with nothing
//! but an id moves that position past events that the stream does not show, and keeps the
//! connection open. Before each page is sent, the caller's credential is checked again.

use std::{
    hash::{BuildHasher as _, RandomState},
    mem,
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE, VARY},
};
use roster_core::{
    EventsPage, Position,
    access::{Permit, ReadEvents},
    json::{Json, write_json},
};
use roster_server::{BodySender, StreamedBody};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    BY_ACCEPT, check,
    list_query::Selection,
    live_reads::{FramedPage, gather},
    read_page, source,
};
use crate::{
    access::Lease,
    cloud_events::frames,
    extract::EVENT_STREAM,
    limits::admission::Class,
    problem::{Problem, ProblemCode},
    request::Call,
    rest::respond,
    state::AppState,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Proxies then pass the frames on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Nothing on the way may store or compress the stream.
const UNCHANGED: HeaderValue = HeaderValue::from_static("no-store, no-transform");

/// The maximum number of events and the approximate size of a page. Larger records are sent alone.
const PAGE_EVENTS: usize = 200;
const PAGE_BYTES: usize = 64 * 1024;

/// The longest time without a frame.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a client waits before it reconnects, in milliseconds. When the service stops, the
/// clients reconnect at random times between the two.
const RETRY_MS: (u64, u64) = (500, 2000);

/// The seconds after which a stream ends, so that its client is balanced to a process again. It is
/// up to a tenth longer.
const LIFETIME_S: u64 = 3600;

/// How long a stream stays open while the store cannot be read: a client does not reconnect after
/// an error.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause before the store is read again after an error.
const PAUSE: Duration = Duration::from_millis(500);

/// How long the last frame of a stream may wait for room.
const END_WAIT: Duration = Duration::from_secs(5);

/// The selection of a stream: in short pages, and from where the client was cut, if it says so.
pub(super) fn selection(
    mut selection: Selection,
    headers: &HeaderMap,
) -> Result<Selection, Problem> {
    selection.page.limit = PAGE_EVENTS;
    selection.page.bytes_max = PAGE_BYTES;
    let mut ids = headers.get_all(LAST_EVENT_ID).into_iter();
    // A client sends an empty one if it has had none.
    if let Some(id) = ids.next().filter(|id| !id.is_empty()) {
        let position = id.to_str().ok().and_then(Position::parse);
        let malformed = || {
            let detail = "Last-Event-ID is not the id of a frame";
            Problem::saying(ProblemCode::InvalidRequest, detail)
        };
        selection.continue_after(position.ok_or_else(malformed)?);
    }
    if ids.next().is_some() {
        let detail = "give one Last-Event-ID";
        return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
    }
    Ok(selection)
}

/// The response with a stream that begins with this page.
pub(super) async fn begin(
    app: &AppState,
    call: &Call,
    selection: Selection,
    first: EventsPage,
) -> Result<Response, Problem> {
    let start = first.position(selection.page.after.max(first.oldest - 1));
    if call.parts.method == Method::HEAD {
        let mut response = Response::new(Body::empty());
        describe(response.headers_mut(), start);
        return Ok(response);
    }
    let place = app.transfers.subscribers.take(&call.identity(), &app.admission.refusals).await?;
    let lease = call.lease(app, place)?;
    let (body, sender) = StreamedBody::new(call.peer());
    let mut response = body.into_response();
    describe(response.headers_mut(), start);
    let request_id = call.request_id().to_owned();
    let now = Instant::now();
    let stream = Stream {
        app: app.clone(),
        lease,
        selection,
        request_id,
        // With the id, a client that is cut before the first event continues where it began.
        begun: format!("retry: {}\nid: {start}\n\n", RETRY_MS.1).into_bytes(),
        heartbeat: now + HEARTBEAT,
        end: now + Duration::from_secs(LIFETIME_S + random() % (LIFETIME_S / 10)),
    };
    tokio::spawn(stream.run(first, sender));
    Ok(response)
}

fn describe(headers: &mut HeaderMap, start: Position) {
    headers.insert(CONTENT_TYPE, EVENT_STREAM.header());
    headers.insert(CACHE_CONTROL, UNCHANGED);
    headers.insert(VARY, BY_ACCEPT);
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    respond::position(headers, start);
}

/// A running stream.
struct Stream {
    app: AppState,
    lease: Lease<ReadEvents>,
    selection: Selection,
    request_id: String,
    /// What is sent before the next events.
    begun: Vec<u8>,
    /// When a frame is sent, even if there is no event.
    heartbeat: Instant,
    /// When the stream ends.
    end: Instant,
}

/// Why a stream ends.
enum End {
    /// The client is gone, or the store cannot be read.
    Broken,
    /// The client reconnects after so many milliseconds.
    Reconnect(u64),
    /// The client may not go on.
    Problem(Problem),
}

impl End {
    /// The service is about to stop: its clients reconnect at random times.
    fn stopping() -> Self {
        let (least, most) = RETRY_MS;
        Self::Reconnect(least + random() % (most - least))
    }
}

impl From<Problem> for End {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Stream {
    async fn run(mut self, first: EventsPage, sender: BodySender) {
        let mut page = Arc::new(FramedPage::new(first, &self.selection));
        let end = loop {
            match self.step(page, &sender).await {
                Ok(next) => page = next,
                Err(end) => break end,
            }
        };
        let last = match end {
            End::Broken => return,
            End::Reconnect(after_ms) => format!("retry: {after_ms}\n\n").into_bytes(),
            End::Problem(problem) => self.last_frame(problem),
        };
        let Ok(Ok(room)) = timeout(END_WAIT, sender.room()).await else { return };
        room.send(last);
        sender.finish();
    }

    /// Sends a page, and reads the next one when there may be one.
    async fn step(
        &mut self,
        page: Arc<FramedPage>,
        sender: &BodySender,
    ) -> Result<Arc<FramedPage>, End> {
        let begun = Bytes::from(mem::take(&mut self.begun));
        let after = self.selection.page.after;
        let frames = page.frames_after(after, || {
            let mut out = Vec::new();
            frames(&page.events, after, source(&self.app), &mut out);
            out.into()
        });
        for bytes in [begun, frames] {
            if !bytes.is_empty() {
                self.pass(bytes, sender).await?;
                self.heartbeat = Instant::now() + HEARTBEAT;
            }
        }
        let EventsPage { reached, head, .. } = page.events;
        let is_behind = reached < head;
        let reached = page.events.position(reached);
        self.selection.continue_after(reached);
        drop(page);
        if is_behind {
            // The events between may not be selected, and there may be many.
            if Instant::now() >= self.heartbeat {
                self.begun = only_id(reached);
            }
        } else {
            self.wait(reached, sender).await?;
        }
        self.read(is_behind).await
    }

    /// Sends these bytes once the connection has room for them.
    async fn pass(&mut self, bytes: Bytes, sender: &BodySender) -> Result<(), End> {
        let room = tokio::select! {
            biased;
            problem = self.lease.over() => return Err(problem.into()),
            () = self.app.drained() => return Err(End::stopping()),
            room = sender.room() => room.map_err(|_| End::Broken)?,
        };
        // Checked as late as possible: the page may have waited for room.
        self.lease.permit().await?;
        room.send(bytes);
        Ok(())
    }

    /// Waits until the log has an event after this position, or until a frame is due.
    async fn wait(&mut self, reached: Position, sender: &BodySender) -> Result<(), End> {
        tokio::select! {
            biased;
            problem = self.lease.over() => return Err(problem.into()),
            () = self.app.drained() => return Err(End::stopping()),
            () = sender.gone() => return Err(End::Broken),
            () = sleep_until(self.end) => return Err(End::Reconnect(RETRY_MS.0)),
            () = self.app.directory.log_grown(reached.number) => gather().await,
            () = sleep_until(self.heartbeat) => self.begun = only_id(reached),
        }
        Ok(())
    }

    /// Reads the next page. The stream stays silent while the store cannot be read.
    async fn read(&mut self, is_behind: bool) -> Result<Arc<FramedPage>, End> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let may: Permit<ReadEvents> = self.lease.permit().await?;
            let read = read_page(&self.app, Class::Lists, may, &self.selection);
            let page = if is_behind {
                read.await.map(|page| Arc::new(FramedPage::new(page, &self.selection)))
            } else {
                let tenant = self.app.directory.tenant_id();
                self.app.live_reads.share(tenant, &self.selection, read).await
            };
            let checked = match page {
                Ok(page) => check(&self.app, &self.selection, &page.events).await.map(|()| page),
                Err(problem) => Err(problem),
            };
            match checked {
                Ok(page) => return Ok(page),
                Err(problem) if problem.code == ProblemCode::PositionOutlived => {
                    return Err(problem.into());
                }
                Err(problem) if Instant::now() >= patience => {
                    let (request_id, code) = (self.request_id.as_str(), problem.code.as_str());
                    tracing::warn!(request_id, code, "a stream of events broke off");
                    return Err(End::Broken);
                }
                Err(_) if self.app.is_draining() => return Err(End::stopping()),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// The frame that says why the stream ends. Only a client that listens to it sees it.
    fn last_frame(&self, problem: Problem) -> Vec<u8> {
        let (request_id, code) = (self.request_id.as_str(), problem.code.as_str());
        tracing::info!(request_id, code, "a stream of events was ended");
        let mut out = b"event: end\ndata: ".to_vec();
        let members = problem.into_members(&self.app.settings.base_url, Some(request_id));
        write_json(&mut out, &Json::Object(members));
        out.extend_from_slice(b"\n\n");
        out
    }
}

/// The frame that only moves the position of the client.
fn only_id(reached: Position) -> Vec<u8> {
    format!("id: {reached}\n\n").into_bytes()
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}
