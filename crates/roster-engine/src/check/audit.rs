//! Checks audit events, and that the last one about each key and tenant has what is stored of it.

use roster_core::{
    EventKind, Json, SubjectKind, TenantId, Timestamp, UserId,
    access::KeyView,
    audit::{POLICY_SUBJECT, key_subject, tenant_subject},
    json::{self, write_json},
    policy::policy_members,
};

use super::{CheckReader, Line, log::Span, rows::Entry};
use crate::{
    api_keys::keys,
    database::{Values, first},
    settings::whole_policy,
    tenants::tenant_of_id,
    webhooks::webhooks,
};

const LAST: &str = "SELECT at, record FROM events WHERE tenant = $1 AND subject_id = $2 \
     ORDER BY position DESC LIMIT 1";

/// Checks one audit event by itself.
pub(super) fn check_event(event: &Entry, line: &mut Line) {
    line.count += 1;
    let place = format!("events at {}", event.position);
    let has_user_id = UserId::from_slice(&event.id).is_none_or(UserId::is_version_7);
    let is_of_webhook =
        EventKind::parse(&event.kind).is_some_and(|kind| kind.subject() == SubjectKind::Webhook);
    line.require(has_user_id == is_of_webhook, &place, "an audit event is about a user");
    let is_json = event.record.is_empty() || json::read(&event.record).is_ok();
    line.require(is_json, &place, "its record is no JSON");
}

/// Checks the keys of a tenant, and the tenant itself; for the default one, the keys of the
/// operator.
pub(super) async fn check_stored<R: CheckReader>(
    reader: R,
    span: Span,
    line: &mut Line,
) -> Result<(), R::Error> {
    let (tenant, of_default) = (reader.tenant(), reader.of(TenantId::DEFAULT));
    let view = if tenant.is_default() { KeyView::Operator } else { KeyView::Tenant(tenant) };
    for key in keys(reader, view).await? {
        let last = last(reader, key_subject(key.id)).await?;
        let place = format!("keys of {}", key.id);
        require_last(last, |at| key.members_in_event(at), span, (line, &place));
    }
    for stored in webhooks(reader).await? {
        let last = last(reader, stored.webhook.id.0).await?;
        let place = format!("webhooks of {}", stored.webhook.id);
        require_last(last, |_| stored.webhook.members(), span, (line, &place));
    }
    if tenant.is_default()
        && let (Some(last), Some(policy)) =
            (last(reader, POLICY_SUBJECT).await?, whole_policy(reader).await?)
    {
        let members = |_| policy_members(&policy);
        require_last(Some(last), members, span, (line, "the policy"));
    }
    if !tenant.is_default()
        && let Some(stored) = tenant_of_id(reader).await?
    {
        let last = last(of_default, tenant_subject(tenant)).await?;
        let place = format!("tenants of {}", tenant.number());
        require_last(last, |_| stored.members(), span, (line, &place));
    }
    Ok(())
}

/// The time and the record of the last event about a subject.
async fn last<R: CheckReader>(reader: R, subject: UserId) -> Result<Option<Values>, R::Error> {
    first(reader, LAST, &[reader.tenant().into(), subject.into()]).await
}

/// Requires that the last event has a record with these members, or has outlived its time.
fn require_last(
    last: Option<Values>,
    members: impl FnOnce(Timestamp) -> Vec<(String, Json)>,
    span: Span,
    (line, place): (&mut Line, &str),
) {
    let is_told = match last {
        None => span.is_cut(),
        Some(row) => {
            let at = Timestamp::from_millis(row.integer(0));
            let mut record = Vec::new();
            write_json(&mut record, &Json::Object(members(at)));
            row.octets(1) == record
        }
    };
    line.require(is_told, &place, "the last event about it has another record");
}
