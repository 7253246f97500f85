//! Webhooks: the service sends the events of the change log to a URL, in order and at least once.
//!
//! A webhook is a reader of the log like any other: it has a position, and nothing is queued for
//! it. Each request is signed (Standard Webhooks). The next request is sent only after a 2xx
//! response.

mod decide;
mod delivery;
mod draft;
mod progress;
mod types;
mod url;

use std::fmt;

pub use decide::{
    WebhookAct, WebhookChange, WebhookDecision, WebhookFailure, WebhookRefusal, decide_webhook,
};
pub use delivery::{DELIVERIES_KEPT, WebhookDelivery};
pub use draft::WebhookDraft;
pub use progress::{Attempt, Progress};
pub use types::EventTypes;
pub use url::WebhookUrl;

use crate::{
    access::AuditView,
    id::UserId,
    json::{Json, present},
    read::events::EventsQuery,
    tenant::{TenantId, TenantName},
    timestamp::Timestamp,
};

/// The id of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookId(pub UserId);

impl WebhookId {
    /// Parses an id; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        UserId::parse(text).map(Self)
    }
}

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a request contains of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// The whole event.
    #[default]
    Full,
    /// The event without records: what changed, but not to which values.
    Thin,
}

impl Payload {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Thin => "thin",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Thin].into_iter().find(|one| one.as_str() == text)
    }
}

/// Whether a webhook is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookStatus {
    /// Its events are sent.
    #[default]
    Active,
    /// A caller has paused it, or its store is a copy.
    Paused,
    /// Its receiver said that it is gone, or failed for too long.
    Parked,
    /// The events after its position are no longer in the log.
    Stale,
}

impl WebhookStatus {
    const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Parked, Self::Stale];

    /// Its number in a store.
    pub const fn number(self) -> i64 {
        match self {
            Self::Active => 0,
            Self::Paused => 1,
            Self::Parked => 2,
            Self::Stale => 3,
        }
    }

    /// The status with this number.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.number() == number)
    }

    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Stale => "stale",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// A webhook, without its secrets and its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// The number of its changes, from 1. Its progress is none.
    pub version: i64,
    /// What it is for, as its creator wrote it.
    pub name: String,
    /// Where requests go.
    pub url: WebhookUrl,
    /// The types of its events.
    pub types: EventTypes,
    /// Whether it has the events of all tenants.
    pub all_tenants: bool,
    /// What a request contains of each event.
    pub payload: Payload,
    /// The maximum number of events of a request.
    pub batch_max: usize,
    /// Whether it is served.
    pub status: WebhookStatus,
    /// Which audit events of its types it has: those that its last changer could read.
    pub audit: AuditView,
    /// Who created it, in the form that the change log uses for actors.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// The bytes of a secret.
pub const SECRET_BYTES: usize = 32;

/// The key of signatures. Its `Debug` form has no secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WebhookSecret(pub [u8; SECRET_BYTES]);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// The secrets of a webhook. While there is a former one, each request has the signatures of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookSecrets {
    /// The newest.
    pub newest: WebhookSecret,
    /// The former one, and until when it signs too.
    pub former: Option<(WebhookSecret, Timestamp)>,
}

/// A webhook with everything that is stored of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWebhook {
    /// Its description.
    pub webhook: Webhook,
    /// Its secrets.
    pub secrets: WebhookSecrets,
    /// How far its events are sent.
    pub progress: Progress,
}

/// A webhook that is served, and its tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedWebhook {
    /// The tenant.
    pub tenant: TenantId,
    /// The name of the tenant; the default one has none.
    pub tenant_name: Option<TenantName>,
    /// The webhook.
    pub stored: StoredWebhook,
}

impl Webhook {
    /// Whether this one differs from an earlier version only in that it is paused.
    pub fn pauses(&self, before: &Self) -> bool {
        let Self { version, status, audit, updated_at, .. } = *self;
        let paused = Self { version, status, audit, updated_at, ..before.clone() };
        status == WebhookStatus::Paused && *self == paused
    }

    /// Reads its events after a position.
    pub fn events(&self, after: i64, limit: usize) -> EventsQuery {
        EventsQuery {
            kinds: self.types.kinds(),
            all_tenants: self.all_tenants,
            ..EventsQuery::after(after, limit)
        }
    }

    /// The members that a store keeps in one text: those that have no column.
    pub fn record(&self) -> Vec<(String, Json)> {
        let mut members = self.members();
        members.retain(|(name, _)| !["id", "version", "status"].contains(&name.as_str()));
        members
    }

    /// The webhook of such a text; `None` if it is damaged.
    pub fn from_record(
        id: WebhookId,
        version: i64,
        status: WebhookStatus,
        audit: AuditView,
        record: &Json,
    ) -> Option<Self> {
        let draft = WebhookDraft::parse(record).ok()?;
        let text = |name| match record.member(name) {
            Some(Json::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        Some(Self {
            id,
            version,
            name: draft.name?,
            url: draft.url?,
            types: draft.types,
            all_tenants: draft.all_tenants,
            payload: draft.payload,
            batch_max: draft.batch_max,
            status,
            audit,
            created_by: text("created_by")?.to_owned(),
            created_at: Timestamp::parse(text("created_at")?)?,
            updated_at: Timestamp::parse(text("updated_at")?)?,
        })
    }

    /// The members of its JSON form that a caller may set.
    fn settable(&self) -> Vec<(String, Json)> {
        let text = |text: &str| Some(Json::Text(text.to_owned()));
        let batch_max = i64::try_from(self.batch_max).unwrap_or(i64::MAX);
        present([
            ("name", text(&self.name)),
            ("url", text(self.url.as_str())),
            ("types", Some(self.types.to_json())),
            ("tenants", if self.all_tenants { text("all") } else { None }),
            ("payload", text(self.payload.as_str())),
            ("batch_max", Some(Json::Int(batch_max))),
            ("status", text(self.status.as_str())),
        ])
    }

    /// The members of its JSON form. Members without a value are left out.
    pub fn members(&self) -> Vec<(String, Json)> {
        let text = |text: &str| Some(Json::Text(text.to_owned()));
        let id = ("id".to_owned(), Json::Text(self.id.to_string()));
        let version = ("version".to_owned(), Json::Int(self.version));
        let mut members = vec![id, version];
        members.extend(self.settable());
        members.extend(present([
            ("created_by", text(&self.created_by)),
            ("created_at", text(&self.created_at.to_string())),
            ("updated_at", text(&self.updated_at.to_string())),
        ]));
        members
    }
}
