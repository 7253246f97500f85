//! Creating and changing a webhook, as a pure function of the stored one, so that every engine
//! applies the same rules.

use super::{
    Progress, StoredWebhook, Webhook, WebhookDraft, WebhookId, WebhookSecret, WebhookSecrets,
    WebhookStatus,
};
use crate::{
    access::AuditView,
    failure::StoreError,
    json::{Json, merge},
    timestamp::Timestamp,
    write::{
        command::{Caller, Preconditions},
        position::Position,
        violation::{Violation, ViolationCode, Violations},
    },
};

/// An operation on a webhook.
#[derive(Clone, Debug)]
pub enum WebhookAct {
    /// Create a webhook.
    Create {
        /// The id of the new one.
        id: WebhookId,
        /// Its description.
        draft: WebhookDraft,
        /// Its secret.
        secret: WebhookSecret,
    },
    /// Replace what its caller may set.
    Replace(WebhookId, WebhookDraft),
    /// Patch it by JSON Merge Patch (RFC 7396).
    Patch(WebhookId, Json),
    /// Delete it.
    Delete(WebhookId),
    /// Replace its secret. The former one signs too for a limited time.
    Rotate {
        /// Its id.
        id: WebhookId,
        /// The new secret.
        secret: WebhookSecret,
        /// For how many milliseconds the former one signs too.
        overlap_ms: i64,
    },
    /// Send the events after a position, some of them again.
    Replay(WebhookId, Position),
    /// Send nothing more, because its receiver is gone or the events are.
    End(WebhookId, WebhookStatus),
}

impl WebhookAct {
    /// The id of its webhook.
    pub const fn id(&self) -> WebhookId {
        match self {
            Self::Create { id, .. }
            | Self::Replace(id, _)
            | Self::Patch(id, _)
            | Self::Delete(id)
            | Self::Rotate { id, .. }
            | Self::Replay(id, _)
            | Self::End(id, _) => *id,
        }
    }
}

/// A requested change of a webhook.
#[derive(Clone, Debug)]
pub struct WebhookChange {
    /// The operation.
    pub act: WebhookAct,
    /// The preconditions of the request.
    pub preconditions: Preconditions,
    /// The time of the request.
    pub at: Timestamp,
    /// The sender of the request.
    pub caller: Caller,
    /// Which audit events the sender may read.
    pub audit: AuditView,
    /// Whether the sender may know of webhooks for all tenants.
    pub all_tenants: bool,
    /// Whether nothing is stored.
    pub is_dry_run: bool,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDecision {
    /// The webhook after the change; for a deletion, the one that is deleted.
    pub stored: StoredWebhook,
    /// Whether anything must be written.
    pub changes: bool,
}

/// Why a change of a webhook was rejected. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookRefusal {
    /// The tenant was deleted.
    TenantNotFound,
    /// The tenant has no such webhook.
    NotFound,
    /// The webhook is at this version, which the preconditions exclude.
    VersionMismatch(i64),
    /// The body breaks rules.
    Invalid(Violations),
    /// The maximum number of webhooks exists.
    TooMany,
    /// The events after its position are no longer in the log: it goes on only after a replay.
    Stale,
}

/// Why a change of a webhook failed.
#[derive(Debug)]
pub enum WebhookFailure {
    /// The rules reject it.
    Refused(WebhookRefusal),
    /// The store failed.
    Store(StoreError),
}

impl From<WebhookRefusal> for WebhookFailure {
    fn from(refusal: WebhookRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for WebhookFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Decides a change, given the webhook with its id and the end of the log.
pub fn decide_webhook(
    stored: Option<&StoredWebhook>,
    head: Position,
    change: &WebhookChange,
) -> Result<WebhookDecision, WebhookRefusal> {
    if let WebhookAct::Create { id, draft, secret } = &change.act {
        return create(*id, draft, *secret, head, change);
    }
    let stored = stored.filter(|stored| change.all_tenants || !stored.webhook.all_tenants);
    let stored = stored.ok_or(WebhookRefusal::NotFound)?;
    // A change is made once more if the connection to the database is lost at its commit.
    let is_made = match &change.act {
        WebhookAct::End(_, status) => stored.webhook.status == *status,
        WebhookAct::Rotate { secret, .. } => stored.secrets.newest == *secret,
        WebhookAct::Create { .. }
        | WebhookAct::Replace(..)
        | WebhookAct::Patch(..)
        | WebhookAct::Delete(_)
        | WebhookAct::Replay(..) => false,
    };
    if is_made {
        return Ok(WebhookDecision { stored: stored.clone(), changes: false });
    }
    if !change.preconditions.allow_write(stored.webhook.version) {
        return Err(WebhookRefusal::VersionMismatch(stored.webhook.version));
    }
    let patched;
    let after = match &change.act {
        WebhookAct::Create { .. } | WebhookAct::Delete(_) => stored.clone(),
        WebhookAct::Replace(_, draft) => described(stored, draft, change)?,
        WebhookAct::Patch(_, patch) => {
            // The merge drops what is `null`, so the patch itself is checked first.
            WebhookDraft::parse(patch).map_err(WebhookRefusal::Invalid)?;
            let tree = merge(WebhookDraft::tree_of(&stored.webhook), patch.clone());
            patched = WebhookDraft::parse(&tree).map_err(WebhookRefusal::Invalid)?;
            // A PUT may send back what a create returned.
            refuse_secret(&patched)?;
            if patch.member("after").is_some_and(|after| *after != Json::Null) {
                return Err(after_is_for_new());
            }
            described(stored, &patched, change)?
        }
        WebhookAct::Rotate { secret, overlap_ms, .. } => {
            let until = change.at.as_millis().saturating_add(*overlap_ms);
            let former = Some((stored.secrets.newest, Timestamp::from_millis(until)));
            let secrets = WebhookSecrets { newest: *secret, former };
            StoredWebhook { secrets, ..stored.clone() }
        }
        WebhookAct::End(_, status) => {
            let webhook = Webhook { status: *status, ..stored.webhook.clone() };
            StoredWebhook { webhook, ..stored.clone() }
        }
        WebhookAct::Replay(_, position) => {
            let mut webhook = stored.webhook.clone();
            if webhook.status == WebhookStatus::Stale {
                webhook.status = WebhookStatus::Active;
            }
            StoredWebhook { webhook, progress: Progress::at(*position), ..stored.clone() }
        }
    };
    Ok(next(stored, after, change))
}

/// The decision for a webhook as it is after the change: with the next version, if it differs.
fn next(
    stored: &StoredWebhook,
    mut after: StoredWebhook,
    change: &WebhookChange,
) -> WebhookDecision {
    let is_deletion = matches!(change.act, WebhookAct::Delete(_));
    // The stored position may be behind what was sent, so a replay from it is one too, unless it is
    // the same change once more.
    let is_replay =
        matches!(change.act, WebhookAct::Replay(..)) && change.at != stored.webhook.updated_at;
    let changes = is_deletion || is_replay || after != *stored;
    if changes && !is_deletion {
        after.webhook.version += 1;
        after.webhook.updated_at = change.at.max(stored.webhook.updated_at);
    }
    WebhookDecision { stored: after, changes }
}

/// The stored webhook with the members of a draft.
fn described(
    stored: &StoredWebhook,
    draft: &WebhookDraft,
    change: &WebhookChange,
) -> Result<StoredWebhook, WebhookRefusal> {
    let old = &stored.webhook;
    if draft.version.is_some_and(|version| version != old.version) {
        return Err(WebhookRefusal::VersionMismatch(old.version));
    }
    if draft.id.as_ref().is_some_and(|id| *id != old.id.to_string()) {
        return Err(invalid("id", ViolationCode::IdMismatch, "the path names another webhook"));
    }
    let (name, url) = required(draft)?;
    if draft.after.is_some() {
        return Err(after_is_for_new());
    }
    let status = draft.status.unwrap_or(old.status);
    if status != old.status {
        if old.status == WebhookStatus::Stale {
            return Err(WebhookRefusal::Stale);
        }
        refuse_own_status(status)?;
    }
    let webhook = Webhook {
        name,
        url,
        types: draft.types.clone(),
        all_tenants: draft.all_tenants,
        payload: draft.payload,
        batch_max: draft.batch_max,
        status,
        ..old.clone()
    };
    let mut progress = stored.progress;
    // A failed request is sent again with the same events, which are others now, or at another URL.
    let is_other = webhook.types != old.types || webhook.url != old.url;
    if is_other || (status == WebhookStatus::Active && old.status != status) {
        progress = Progress::at(progress.position);
    }
    // The audit events are those that the caller of the last change may read.
    let audit = if webhook == *old { old.audit } else { change.audit };
    Ok(StoredWebhook { webhook: Webhook { audit, ..webhook }, progress, ..stored.clone() })
}

fn after_is_for_new() -> WebhookRefusal {
    let detail = "it is for a new webhook; send another position to /replay";
    invalid("after", ViolationCode::InvalidValue, detail)
}

fn refuse_secret(draft: &WebhookDraft) -> Result<(), WebhookRefusal> {
    if !draft.has_secret {
        return Ok(());
    }
    let detail = "the service makes the secret, and returns it; rotate the webhook for another";
    Err(invalid("secret", ViolationCode::InvalidValue, detail))
}

fn create(
    id: WebhookId,
    draft: &WebhookDraft,
    secret: WebhookSecret,
    head: Position,
    change: &WebhookChange,
) -> Result<WebhookDecision, WebhookRefusal> {
    let (name, url) = required(draft)?;
    let status = draft.status.unwrap_or_default();
    refuse_own_status(status)?;
    refuse_secret(draft)?;
    // Who makes a webhook of one that was read would miss the events after its position.
    if draft.has_position && draft.after.is_none() {
        let detail = "a new webhook begins at the end of the log: send the position as after, or \
                      leave it out";
        return Err(invalid("position", ViolationCode::InvalidValue, detail));
    }
    let webhook = Webhook {
        id,
        version: 1,
        name,
        url,
        types: draft.types.clone(),
        all_tenants: draft.all_tenants,
        payload: draft.payload,
        batch_max: draft.batch_max,
        status,
        audit: change.audit,
        created_by: change.caller.actor.to_string(),
        created_at: change.at,
        updated_at: change.at,
    };
    let secrets = WebhookSecrets { newest: secret, former: None };
    let progress = Progress::at(draft.after.unwrap_or(head));
    let stored = StoredWebhook { webhook, secrets, progress };
    Ok(WebhookDecision { stored, changes: true })
}

/// The members that every webhook has.
fn required(draft: &WebhookDraft) -> Result<(String, super::WebhookUrl), WebhookRefusal> {
    let mut violations = Violations::default();
    for (member, is_there) in [("name", draft.name.is_some()), ("url", draft.url.is_some())] {
        if !is_there {
            violations.push(|| {
                Violation::of_member(member, ViolationCode::Required, "every webhook has it")
            });
        }
    }
    match (&draft.name, &draft.url) {
        (Some(name), Some(url)) => Ok((name.clone(), url.clone())),
        _ => Err(WebhookRefusal::Invalid(violations)),
    }
}

/// Rejects a status that only the service sets.
fn refuse_own_status(status: WebhookStatus) -> Result<(), WebhookRefusal> {
    match status {
        WebhookStatus::Active | WebhookStatus::Paused => Ok(()),
        WebhookStatus::Parked | WebhookStatus::Stale => {
            let detail = "active or paused; the service sets the others";
            Err(invalid("status", ViolationCode::InvalidValue, detail))
        }
    }
}

fn invalid(member: &str, code: ViolationCode, detail: &'static str) -> WebhookRefusal {
    WebhookRefusal::Invalid(Violation::of_member(member, code, detail).into())
}
