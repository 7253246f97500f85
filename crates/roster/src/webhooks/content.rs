//! The request of a webhook.

use bytes::Bytes;
use http::{
    Request,
    header::{CONTENT_TYPE, USER_AGENT},
};
use roster_core::{
    EventsPage, TenantName, Timestamp,
    webhook::{Payload, StoredWebhook},
};
use roster_http::webhook_content;
use roster_outbound::signature;

/// The media types of one event and of several (CloudEvents 1.0, HTTP binding).
const ONE: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";

const AGENT: &str = concat!("roster/", env!("CARGO_PKG_VERSION"));

/// The signed request with the events of a page.
pub(super) fn request(
    stored: &StoredWebhook,
    page: &EventsPage,
    base_url: &str,
    tenant: Option<&TenantName>,
    now: Timestamp,
) -> Result<Request<Bytes>, http::Error> {
    let webhook = &stored.webhook;
    let is_batch = webhook.batch_max > 1;
    let form = (is_batch, webhook.payload == Payload::Thin);
    let content = webhook_content(page, base_url, tenant, form);
    let ends = [page.events.first(), page.events.last()];
    let [first, last] = ends.map(|event| event.map_or(0, |(number, _)| *number));
    let id = if is_batch {
        format!("{}-{last}", page.position(first))
    } else {
        page.position(first).to_string()
    };
    let timestamp = now.as_millis() / 1000;
    let former = stored.secrets.former.filter(|(_, until)| *until > now);
    let mut signatures = signature(&stored.secrets.newest.0, &id, timestamp, &content);
    if let Some((former, _)) = former {
        signatures.push(' ');
        signatures.push_str(&signature(&former.0, &id, timestamp, &content));
    }
    Request::post(webhook.url.target())
        .header(CONTENT_TYPE, if is_batch { BATCH } else { ONE })
        .header(USER_AGENT, AGENT)
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp.to_string())
        .header("webhook-signature", signatures)
        .body(content.into())
}
