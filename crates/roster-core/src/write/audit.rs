//! Audit events: entries of the change log about how the service is run, that is its keys, tenants,
//! policy and settings.
//!
//! Those of a key of a tenant are in the log of that tenant, all others in that of the default one.
//! Only callers with the scope for it see them ([`AuditView`]).

use bytes::Bytes;

use crate::{
    access::{ApiKey, AuditView, KeyAct, KeyChange, KeyId, Reach},
    id::UserId,
    json::{self, Json, write_json},
    read::events::EventKinds,
    tenant::{Tenant, TenantAct, TenantChange, TenantId},
    timestamp::Timestamp,
    webhook::{Webhook, WebhookAct, WebhookChange},
    write::{
        command::{Caller, Sharing},
        event::{Event, EventKind, MembersChanged, SubjectKind},
        policy::{PolicyKey, policy_members},
    },
};

/// The subject of events about the policy. No user has it, nor one of the others here: ids of users
/// are UUIDs of version 7.
pub const POLICY_SUBJECT: UserId =
    UserId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

/// The subject of events about the settings.
pub const SETTINGS_SUBJECT: UserId =
    UserId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);

/// The subject of events about a key: its id, and zeros.
pub fn key_subject(id: KeyId) -> UserId {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(id.as_str().bytes()).for_each(|(to, from)| *to = from);
    UserId::from_bytes(bytes)
}

/// The subject of events about a tenant: its number after zeros and a `t`.
pub fn tenant_subject(id: TenantId) -> UserId {
    let [first, second, third, fourth] = id.number().to_be_bytes();
    let end = [b't', first, second, third, fourth];
    let mut bytes = [0; 16];
    bytes.iter_mut().skip(11).zip(end).for_each(|(to, from)| *to = from);
    UserId::from_bytes(bytes)
}

/// What an audit event is about, as its `subject` and the URL below the base URL name it; `None`
/// for other events. A purged tenant has its number after `#`, which no name contains.
pub fn audit_subject(event: &Event) -> Option<String> {
    let bytes = event.user_id.as_bytes();
    Some(match event.kind.subject() {
        SubjectKind::User | SubjectKind::Group | SubjectKind::Schema | SubjectKind::Log => {
            return None;
        }
        SubjectKind::Key => {
            let id = bytes.iter().take_while(|byte| **byte != 0);
            format!("keys/{}", id.map(|byte| char::from(*byte)).collect::<String>())
        }
        SubjectKind::Tenant => {
            let record = json::read(&event.record).ok();
            if let Some(Json::Text(name)) = record.as_ref().and_then(|record| record.member("name"))
            {
                format!("tenants/{name}")
            } else {
                let number = bytes.last_chunk().map_or(0, |number| i32::from_be_bytes(*number));
                format!("tenants/#{number}")
            }
        }
        SubjectKind::Policy => "policy".to_owned(),
        SubjectKind::Settings => "settings".to_owned(),
        SubjectKind::Webhook => format!("webhooks/{}", event.user_id),
    })
}

impl AuditView {
    /// The kinds of which it may show events.
    pub(crate) fn kinds(self) -> EventKinds {
        let shows = |kind: &&EventKind| match self {
            Self::Nothing => !kind.is_audit(),
            Self::Own => kind.subject() != SubjectKind::Tenant,
            Self::Everything => true,
        };
        let kinds = EventKind::ALL.iter().filter(shows);
        kinds.fold(EventKinds::NONE, |kinds, kind| kinds.or(EventKinds::only(*kind)))
    }

    /// Whether it shows an event of the log in which it is used.
    pub fn shows(self, event: &Event) -> bool {
        let subject = event.kind.subject();
        if !subject.is_audit() {
            return true;
        }
        // A key and a webhook of the operator say so.
        let has_all_tenants =
            || json::read(&event.record).is_ok_and(|key| key.member("tenants").is_some());
        let is_of_operator = || subject == SubjectKind::Tenant || has_all_tenants();
        match self {
            Self::Nothing => false,
            Self::Own => !is_of_operator(),
            Self::Everything => true,
        }
    }
}

/// The event of a change of the keys, and the tenant in whose log it is.
pub fn key_event(change: &KeyChange, key: &ApiKey) -> (TenantId, Event) {
    let kind = match change.act {
        KeyAct::Create(_) | KeyAct::CreateFirst(_) => EventKind::KeyCreated,
        KeyAct::Rotate { .. } => EventKind::KeyRotated,
        KeyAct::Revoke { .. } => EventKind::KeyRevoked,
    };
    let tenant = match key.reach {
        Reach::Tenant(tenant) => tenant,
        Reach::All => TenantId::DEFAULT,
    };
    let record = Json::Object(key.members_in_event(change.at));
    let at = change.at.max(key.changed_at());
    (tenant, event(kind, &change.caller, at, (key_subject(key.id), 1), &record))
}

/// The event of a change of a tenant. That of a purge has no record.
pub fn tenant_event(change: &TenantChange, tenant: &Tenant) -> Event {
    let kind = match change.act {
        TenantAct::Create(_) => EventKind::TenantCreated,
        TenantAct::Replace(..) | TenantAct::Patch(..) => EventKind::TenantUpdated,
        TenantAct::Delete(_) => EventKind::TenantDeleted,
        TenantAct::Restore(_) => EventKind::TenantRestored,
        TenantAct::Purge(_) => EventKind::TenantPurged,
    };
    // The purge is a change too, although nothing is left that could have its version.
    let version = tenant.version + i64::from(kind == EventKind::TenantPurged);
    let subject = (tenant_subject(tenant.id), version);
    // Changes at the same time may be made in another order than that of their requests.
    let at = change.at.max(tenant.updated_at);
    let told = event(kind, &change.caller, at, subject, &Json::Object(tenant.members()));
    let record = if kind == EventKind::TenantPurged { Bytes::new() } else { told.record };
    Event { record, ..told }
}

/// The event of a change of a webhook, in the log of its tenant.
pub fn webhook_event(change: &WebhookChange, webhook: &Webhook) -> Event {
    let kind = match change.act {
        WebhookAct::Create { .. } => EventKind::WebhookCreated,
        WebhookAct::Replace(..) | WebhookAct::Patch(..) | WebhookAct::End(..) => {
            EventKind::WebhookUpdated
        }
        WebhookAct::Rotate { .. } => EventKind::WebhookRotated,
        WebhookAct::Replay(..) => EventKind::WebhookReplayed,
        WebhookAct::Delete(_) => EventKind::WebhookDeleted,
    };
    let subject = (webhook.id.0, webhook.version);
    let at = change.at.max(webhook.updated_at);
    event(kind, &change.caller, at, subject, &Json::Object(webhook.members()))
}

/// The event of a change of the policy, which is this one since.
pub fn policy_event(policy: &[(PolicyKey, Sharing)], caller: &Caller, at: Timestamp) -> Event {
    let record = Json::Object(policy_members(policy));
    event(EventKind::PolicyChanged, caller, at, (POLICY_SUBJECT, 1), &record)
}

/// The event of a start with settings of which these have other values than before.
pub fn settings_event(changed: &[String], caller: &Caller, at: Timestamp) -> Event {
    let record = Json::Array(changed.iter().cloned().map(Json::Text).collect());
    event(EventKind::SettingsChanged, caller, at, (SETTINGS_SUBJECT, 1), &record)
}

fn event(
    kind: EventKind,
    caller: &Caller,
    at: Timestamp,
    (user_id, version): (UserId, i64),
    record: &Json,
) -> Event {
    let mut text = Vec::with_capacity(512);
    write_json(&mut text, record);
    Event {
        kind,
        at,
        actor: caller.actor.to_string(),
        request_id: caller.request_id.clone(),
        user_id,
        version,
        changed: Vec::new(),
        members: MembersChanged::default(),
        record: text.into(),
    }
}
