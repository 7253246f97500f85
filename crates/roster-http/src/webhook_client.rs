//! Signed requests to webhooks.

use std::{net::IpAddr, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, Request,
    header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use ipnet::IpNet;
use roster_core::{
    EventsPage, Json, TenantName, Timestamp,
    json::{present, write_json},
    webhook::{Payload, ServedWebhook, StoredWebhook, WebhookDelivery, WebhookId, WebhookUrl},
};
use roster_outbound::{Answer, Client, Fault, Limits, Target, is_admitted, is_listed, signature};
use tokio::{sync::OnceCell, task::spawn_blocking, time::Instant};

use crate::{cloud_events::webhook_content, metrics::WebhookMetrics};

const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    whole: Duration::from_secs(15),
    body_bytes: None,
    traffic_bytes: 16 * 1024,
};

/// The maximum length of the reason why there was no response, in characters.
const ERROR_LENGTH_MAX: usize = 200;

/// The media types of one event and of several (CloudEvents 1.0, HTTP binding).
const ONE: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";

const AGENT: &str = concat!("roster/", env!("CARGO_PKG_VERSION"));

/// Sends requests to webhooks.
pub struct WebhookClient {
    client: OnceCell<Client>,
    networks: Vec<IpNet>,
    base_url: String,
    metrics: WebhookMetrics,
}

/// A request that was sent.
pub struct Sent {
    /// What became of it.
    pub delivery: WebhookDelivery,
    /// The pause that the receiver asks for, in milliseconds.
    pub retry_after_ms: Option<i64>,
}

/// The events of a request, and what it sends of them.
pub struct WebhookContent {
    /// The events.
    pub page: EventsPage,
    content: Bytes,
}

impl WebhookContent {
    /// Its size in bytes; 0 if there are no events.
    pub fn bytes(&self) -> usize {
        self.content.len()
    }
}

/// The content of a request and its id.
struct Message {
    id: String,
    content: Bytes,
    events: usize,
    attempt: i64,
}

impl WebhookClient {
    /// A client for a service with this base URL. It connects to addresses of the public Internet
    /// and of `networks`.
    pub fn new(base_url: &str, networks: Vec<IpNet>) -> Self {
        let (client, metrics) = (OnceCell::new(), WebhookMetrics::default());
        Self { client, networks, base_url: base_url.to_owned(), metrics }
    }

    /// The measurements of requests.
    pub const fn metrics(&self) -> &WebhookMetrics {
        &self.metrics
    }

    /// Whether a webhook may have this URL. A name is resolved only when a request is sent.
    pub(crate) fn may_have(&self, url: &WebhookUrl) -> bool {
        match url.address() {
            Some(address) => self.admits(url, address),
            None => url.is_secure() || !self.networks.is_empty(),
        }
    }

    /// Whether requests for a URL may go to an address. Only the networks of the operator are
    /// called without TLS.
    fn admits(&self, url: &WebhookUrl, address: IpAddr) -> bool {
        is_admitted(&self.networks, address)
            && (url.is_secure() || is_listed(&self.networks, address))
    }

    /// What a request sends of the events of a page.
    pub fn content(&self, served: &ServedWebhook, page: EventsPage) -> WebhookContent {
        if page.events.is_empty() {
            return WebhookContent { page, content: Bytes::new() };
        }
        let webhook = &served.stored.webhook;
        let tenant = served.tenant_name.as_ref().filter(|_| !webhook.all_tenants);
        let base_url = match tenant {
            Some(name) => format!("{}/tenants/{name}", self.base_url),
            None => self.base_url.clone(),
        };
        let form = (webhook.batch_max > 1, webhook.payload == Payload::Thin);
        let content = webhook_content(&page, &base_url, tenant, form).into();
        WebhookContent { page, content }
    }

    /// Sends events.
    pub async fn send_events(
        &self,
        served: &ServedWebhook,
        content: &WebhookContent,
        now: Timestamp,
    ) -> Sent {
        let WebhookContent { page, content } = content;
        let ends = [page.events.first(), page.events.last()];
        let [first, last] = ends.map(|event| event.map_or(0, |(number, _)| *number));
        let first = page.position(first);
        let message = Message {
            id: if served.stored.webhook.batch_max > 1 {
                format!("{first}-{last}")
            } else {
                first.to_string()
            },
            content: content.clone(),
            events: page.events.len(),
            attempt: served.stored.progress.attempts.saturating_add(1),
        };
        self.send(&served.stored, message, now).await
    }

    /// Sends an event that is not in the log, so that a caller can see whether the receiver works.
    pub(crate) async fn send_test(
        &self,
        stored: &StoredWebhook,
        of: TestOf<'_>,
        now: Timestamp,
    ) -> WebhookDelivery {
        let webhook = &stored.webhook;
        let id = format!("test-{}", of.id);
        let text = |text: &str| Some(Json::Text(text.to_owned()));
        let data = present([("webhook_id", text(&webhook.id.to_string()))]);
        let event = Json::Object(present([
            ("specversion", text("1.0")),
            ("id", text(&id)),
            ("source", text(of.base_url)),
            ("type", text("webhook.test")),
            ("subject", text(&format!("webhooks/{}", webhook.id))),
            ("time", text(&now.to_string())),
            ("datacontenttype", text("application/json")),
            ("actor", text(of.actor)),
            ("requestid", text(of.request_id)),
            ("tenant", of.tenant.and_then(|name| text(name.as_str()))),
            ("data", Some(Json::Object(data))),
        ]));
        let event = if webhook.batch_max > 1 { Json::Array(vec![event]) } else { event };
        let mut content = Vec::new();
        write_json(&mut content, &event);
        let message = Message { id, content: content.into(), events: 1, attempt: 1 };
        self.send(stored, message, now).await.delivery
    }

    async fn send(&self, stored: &StoredWebhook, message: Message, now: Timestamp) -> Sent {
        let Message { id, content, events, attempt } = message;
        let began = Instant::now();
        let mut retry_after_ms = None;
        let result = match request(stored, &id, content, now) {
            Ok(request) => self.answer(&stored.webhook.url, request).await.map(|answer| {
                retry_after_ms = retry_after(&answer.headers);
                answer.status.as_u16()
            }),
            Err(error) => Err(error.to_string()),
        };
        let delivery = WebhookDelivery {
            id,
            at: now,
            attempt,
            events: i64::try_from(events).unwrap_or(i64::MAX),
            duration_ms: i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX),
            result,
        };
        self.metrics.sent(delivery.is_received());
        Sent { delivery, retry_after_ms }
    }

    async fn answer(&self, url: &WebhookUrl, request: Request<Bytes>) -> Result<Answer, String> {
        let target = Target {
            is_secure: url.is_secure(),
            host: url.host(),
            port: url.port(),
            authority: url.authority(),
        };
        // Reads files, and only services with webhooks need it.
        let make = || spawn_blocking(Client::of_the_system);
        let client = self.client.get_or_try_init(make).await.map_err(|error| error.to_string())?;
        let admits = |address| self.admits(url, address);
        let answered = client.send(&target, request, LIMITS, admits).await;
        answered.map_err(|fault| {
            // One text, so that callers cannot ask which names an inner network has.
            if matches!(fault, Fault::Name(_) | Fault::NotAdmitted(_)) {
                tracing::debug!(host = target.host, %fault, "a webhook has no address");
                return "the name has no address that webhooks may call".to_owned();
            }
            fault.to_string().chars().take(ERROR_LENGTH_MAX).collect()
        })
    }
}

/// Who asked for a test.
pub(crate) struct TestOf<'a> {
    pub(crate) base_url: &'a str,
    pub(crate) tenant: Option<&'a TenantName>,
    pub(crate) actor: &'a str,
    pub(crate) request_id: &'a str,
    /// A new id.
    pub(crate) id: WebhookId,
}

/// The signed request (Standard Webhooks). While there is a former secret, it has the signatures of
/// both.
fn request(
    stored: &StoredWebhook,
    id: &str,
    content: Bytes,
    now: Timestamp,
) -> Result<Request<Bytes>, http::Error> {
    let webhook = &stored.webhook;
    let timestamp = now.as_millis() / 1000;
    let former = stored.secrets.former.filter(|(_, until)| *until > now);
    let mut signatures = signature(&stored.secrets.newest.0, id, timestamp, &content);
    if let Some((former, _)) = former {
        signatures.push(' ');
        signatures.push_str(&signature(&former.0, id, timestamp, &content));
    }
    Request::post(webhook.url.target())
        .header(CONTENT_TYPE, if webhook.batch_max > 1 { BATCH } else { ONE })
        .header(USER_AGENT, AGENT)
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp.to_string())
        .header("webhook-signature", signatures)
        .body(content)
}

/// The pause that a receiver asks for in seconds, in milliseconds.
fn retry_after(headers: &HeaderMap) -> Option<i64> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let is_number = !seconds.is_empty() && seconds.bytes().all(|one| one.is_ascii_digit());
    // A number that is too large is one above the limit.
    is_number.then(|| seconds.parse().unwrap_or(i64::MAX).saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn without_tls_only_the_networks_of_the_operator_are_called() {
        let may_have = |url: &str, networks: &[&str]| {
            let networks = networks.iter().map(|one| one.parse().unwrap()).collect();
            let client = WebhookClient::new("http://roster.test", networks);
            client.may_have(&WebhookUrl::parse(url).unwrap())
        };
        for (url, alone, with_network) in [
            ("https://h.example.com/", true, true),
            ("http://h.example.com/", false, true),
            ("https://8.8.8.8/", true, true),
            ("http://8.8.8.8/", false, false),
            ("https://10.2.0.7/", false, true),
            ("http://10.2.0.7/", false, true),
            ("http://10.3.0.7/", false, false),
            ("https://10.3.0.7/", false, false),
        ] {
            assert_eq!(may_have(url, &[]), alone, "{url}");
            assert_eq!(may_have(url, &["10.2.0.0/16"]), with_network, "{url}");
        }
    }

    #[test]
    fn a_pause_is_a_number_of_seconds() {
        for (text, expected) in [
            ("8", Some(8000)),
            ("99999999999999999999", Some(i64::MAX)),
            ("-1", None),
            ("", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            assert_eq!(retry_after(&headers), expected, "{text:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
