//! The change log: `/events`, and `/users/{user_id}/events` for one user.
//!
//! `Roster-Position` states how far a page reaches, even if the page is empty. A subscriber that
//! continues there gets every event exactly once. With `wait`, a request at the end of the log
//! waits for the next event. While it waits it has a place among the subscribers, and no slot of
//! those that read the store.

mod list_query;
mod live_reads;
mod stream;

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, Method,
    header::{CACHE_CONTROL, CONTENT_TYPE, LINK, VARY},
};
use roster_core::{
    EventKinds, EventsPage, SubjectKind,
    access::{AuditView, MissingScope, Permit, ReadEvents, Scope},
    audit::tenant_subject,
};
use tokio::time::{Instant, sleep_until};

pub(crate) use self::{list_query::stated_wait, live_reads::LiveReads};
use self::{
    list_query::{EventListQuery, Selection, outlived},
    live_reads::gather,
};
use super::{
    list::{Envelope, link},
    respond::{PRIVATE, position},
};
use crate::{
    cloud_events::{Source, write},
    extract::{EVENT_STREAM, JSON, negotiate, parse_user_id, refuse_if_match},
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// The approximate size of an event without its record.
const FRAME_BYTES: usize = 512;

/// The longest wait of a request that arrives while the service is about to stop.
const DRAINING_WAIT: Duration = Duration::from_secs(1);

/// `Accept` chooses between a page and a stream.
const BY_ACCEPT: HeaderValue = HeaderValue::from_static("Accept");

/// Rejects the events of all tenants for other callers than the operator, and below a tenant.
fn admit_to_all_tenants(app: &AppState, call: &Call) -> Result<(), Problem> {
    if app.tenant.is_some() {
        let detail = "the events of all tenants are at the base URL of the service";
        let fault = Fault::of_parameter("tenants", "conflicting-parameter", detail);
        return Err(Problem::saying(ProblemCode::InvalidQuery, detail).with_faults(fault.into()));
    }
    if !call.authority().is_operator() {
        return Err(Problem::new(ProblemCode::OperatorKeyRequired));
    }
    Ok(())
}

/// Notes which audit events the caller may read. Rejects a query that names others.
async fn admit_to_audit_events(
    app: &AppState,
    call: &Call,
    selection: &mut Selection,
) -> Result<(), Problem> {
    selection.audit = call.authority().audit_view();
    let names_tenants = selection.names(SubjectKind::Tenant);
    let subjects =
        [SubjectKind::Key, SubjectKind::Policy, SubjectKind::Settings, SubjectKind::Webhook];
    let names_any = names_tenants || subjects.into_iter().any(|one| selection.names(one));
    if names_any && selection.audit == AuditView::Nothing {
        return Err(MissingScope(&[Scope::AuditRead]).into());
    }
    if names_tenants && selection.audit != AuditView::Everything {
        return Err(Problem::new(ProblemCode::OperatorKeyRequired));
    }
    if let Some(name) = selection.of_tenant.take() {
        // Their events are in the log of the default tenant.
        let tenant = if app.tenant.is_none() { app.directory.tenant(name).await? } else { None };
        match tenant {
            Some((tenant, _)) => selection.page.user_id = Some(tenant_subject(tenant.id)),
            None => selection.page.kinds = EventKinds::NONE,
        }
    }
    Ok(())
}

/// `GET /events`: returns a page of the change log.
pub(crate) async fn list(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    read(&app, &call, None).await
}

/// `GET /users/{user_id}/events`: returns a page of the events of a user.
pub(crate) async fn list_of_user(
    State(app): State<AppState>,
    call: Call,
) -> Result<Response, Problem> {
    read(&app, &call, Some(call.segment())).await
}

async fn read(app: &AppState, call: &Call, user: Option<&str>) -> Result<Response, Problem> {
    let parts = &call.parts;
    let media = negotiate(&parts.headers, &[JSON, EVENT_STREAM])?;
    refuse_if_match(&call.parts.headers, "events have no tag, so no If-Match matches")?;
    let id = user.map(parse_user_id).transpose()?;
    let query = EventListQuery::read(parts.uri.query(), id)?;
    let mut selection = query.selection.clone();
    if media == EVENT_STREAM {
        query.refuse_parameters_of_pages()?;
        selection = stream::selection(selection, &parts.headers)?;
    }
    if selection.page.all_tenants {
        admit_to_all_tenants(app, call)?;
    }
    let permit = call.permit()?;
    admit_to_audit_events(app, call, &mut selection).await?;
    if selection.is_latest {
        let number = app.directory.head().await?.position;
        selection.continue_after(call.position(number));
    }
    let mut page = read_page(app, Class::of_list(parts.uri.query()), permit, &selection).await?;
    check(app, &selection, &page).await?;
    if let Some(id) = id
        && page.events.is_empty()
        && !app.directory.is_known(permit, id, page.oldest - 1).await?
    {
        let detail = "the change log has no events of a user with this id";
        return Err(Problem::saying(ProblemCode::UserNotFound, detail));
    }
    if media == EVENT_STREAM {
        return stream::begin(app, call, selection, page).await;
    }
    let waits = !query.wait.is_zero() && parts.method != Method::HEAD;
    if waits && is_at_the_end(&page) {
        page = wait(app, call, query.wait, &mut selection, page).await?;
    }
    let next = selection.next(&page).map(|next| next.to_string());
    let body = envelope(&page, source(app), next.as_deref())?;
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, PRIVATE)];
    let mut response = (headers, body).into_response();
    let headers = response.headers_mut();
    position(headers, selection.shown(&page));
    let target = next.map(|cursor| query.target(&app.external_path(parts.uri.path()), &cursor));
    if let Some(link) = target.as_deref().and_then(link) {
        headers.insert(LINK, link);
    }
    headers.insert(VARY, BY_ACCEPT);
    Ok(response)
}

/// The page as JSON, in the envelope of all lists.
fn envelope(
    page: &EventsPage,
    source: Source<'_>,
    next_cursor: Option<&str>,
) -> Result<Vec<u8>, Problem> {
    let bytes = page.events.iter().map(|(_, event)| event.bytes() + FRAME_BYTES).sum();
    let envelope = Envelope { next_cursor, ..Envelope::default() };
    let mut tenants = page.tenants.iter();
    envelope.write(&page.events, bytes, |(number, event), out| {
        write(event, page.position(*number), source.of(tenants.next()), out);
        Some(())
    })
}

fn source(app: &AppState) -> Source<'_> {
    Source { base_url: &app.base_url, tenant: app.tenant.as_ref() }
}

async fn read_page(
    app: &AppState,
    class: Class,
    may: Permit<ReadEvents>,
    selection: &Selection,
) -> Result<EventsPage, Problem> {
    let _admitted = app.admission.admit(class).await?;
    let _place = app.admission.admit_page(class, selection.page.limit).await?;
    let mut page = app.directory.events(may, selection.audit, selection.page.clone()).await?;
    selection.retain(&mut page);
    Ok(page)
}

/// Rejects a page that does not continue where the selection begins: after a fork of the log, or
/// because the position is after the end of the log or before its oldest event.
async fn check(app: &AppState, selection: &Selection, page: &EventsPage) -> Result<(), Problem> {
    for given in selection.positions_in_other_logs(page.log) {
        if !app.directory.has_former(given).await? {
            return Err(outlived("the position belongs to another log"));
        }
    }
    selection.check(page)
}

/// Whether the page has no event, and there is none after it yet.
const fn is_at_the_end(page: &EventsPage) -> bool {
    page.events.is_empty() && page.reached >= page.head
}

/// The first page after this one that has an event. After the time to wait, or when the service is
/// about to stop, it is a page without events, which shows how far the log was read.
async fn wait(
    app: &AppState,
    call: &Call,
    time: Duration,
    selection: &mut Selection,
    mut page: EventsPage,
) -> Result<EventsPage, Problem> {
    let now = Instant::now();
    // A client that comes back at once while the service is about to stop waits nevertheless.
    let is_draining = app.is_draining();
    let end = now + if is_draining { time.min(DRAINING_WAIT) } else { time };
    let class = Class::of_list(call.parts.uri.query());
    let place = app.transfers.subscribers.take(&call.identity(), &app.admission.refusals).await?;
    let lease = call.lease::<ReadEvents>(app, place)?;
    while is_at_the_end(&page) {
        tokio::select! {
            problem = lease.over() => return Err(problem),
            () = app.drained(), if !is_draining => break,
            () = sleep_until(end) => break,
            () = app.directory.log_grown(page.reached) => {}
        }
        gather().await;
        selection.continue_after(page.position(page.reached));
        page = read_page(app, class, lease.permit().await?, selection).await?;
        check(app, selection, &page).await?;
    }
    Ok(page)
}
