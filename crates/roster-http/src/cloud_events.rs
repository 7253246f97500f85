//! Events as sent to clients: CloudEvents 1.0 in JSON.
//!
//! `actor`, `requestid` and `tenant` are extension attributes, whose names may contain only
//! lowercase letters and digits. The record is copied as stored; once the user is purged, there is
//! none.

use std::borrow::Cow;

use roster_core::{
    Event, EventsPage, Position, SubjectKind, TenantId, TenantName, UserId,
    audit::audit_subject,
    json::{separate, write_text},
};

/// Where a response comes from: the base URL, and the tenant unless it is the default one.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) base_url: &'a str,
    pub(crate) tenant: Option<&'a TenantName>,
}

/// The events of a page as the content of a request to a webhook: one event, or with `is_batch` a
/// list of them (CloudEvents 1.0, JSON batch format). Without records if it `is_thin`.
pub(crate) fn webhook_content(
    page: &EventsPage,
    base_url: &str,
    tenant: Option<&TenantName>,
    (is_batch, is_thin): (bool, bool),
) -> Vec<u8> {
    let source = Source { base_url, tenant };
    let (mut tenants, mut out) = (page.tenants.iter(), Vec::new());
    if is_batch {
        out.push(b'[');
    }
    for (index, (number, event)) in page.events.iter().enumerate() {
        separate(index, &mut out);
        let (position, source) = (page.position(*number), source.of(tenants.next()));
        write_event(event, position, source, is_thin, &mut out);
    }
    if is_batch {
        out.push(b']');
    }
    out
}

/// The events of a page after a position as frames of a stream (HTML, section 9.2.5): each has its
/// position as its id, and no type, so that a client hears of events of all types.
pub(crate) fn frames(page: &EventsPage, after: i64, source: Source<'_>, out: &mut Vec<u8>) {
    let mut tenants = page.tenants.iter();
    for (number, event) in &page.events {
        let tenant = tenants.next();
        if *number <= after {
            continue;
        }
        let position = page.position(*number);
        out.extend_from_slice(format!("id: {position}\ndata: ").as_bytes());
        // JSON has no line breaks.
        write(event, position, source.of(tenant), out);
        out.extend_from_slice(b"\n\n");
    }
}

impl<'a> Source<'a> {
    /// The base URL and the tenant of an event. An event of a purged tenant has the number of the
    /// tenant after `#`, which no name contains.
    pub(crate) fn of(
        &self,
        tenant: Option<&(TenantId, Option<TenantName>)>,
    ) -> (Cow<'a, str>, Option<Cow<'a, str>>) {
        match tenant {
            None => (self.base_url.into(), self.tenant.map(|name| name.as_str().into())),
            Some((id, _)) if id.is_default() => (self.base_url.into(), None),
            Some((_, Some(name))) => (
                format!("{}/tenants/{name}", self.base_url).into(),
                Some(name.as_str().to_owned().into()),
            ),
            Some((id, None)) => (self.base_url.into(), Some(format!("#{}", id.number()).into())),
        }
    }
}

/// Writes an event.
pub(crate) fn write(
    event: &Event,
    position: Position,
    source: (Cow<'_, str>, Option<Cow<'_, str>>),
    out: &mut Vec<u8>,
) {
    write_event(event, position, source, false, out);
}

fn write_event(
    event: &Event,
    position: Position,
    (base_url, tenant): (Cow<'_, str>, Option<Cow<'_, str>>),
    is_thin: bool,
    out: &mut Vec<u8>,
) {
    let Event { kind, at, actor, request_id, changed, members, record, .. } = event;
    let start = format!("{{\"specversion\":\"1.0\",\"id\":\"{position}\",\"source\":");
    out.extend_from_slice(start.as_bytes());
    write_text(out, &base_url);
    let (subject, start, of_record) = about(event);
    let about = format!(
        ",\"type\":\"{}\",\"subject\":\"{subject}\",\"time\":\"{at}\",\
         \"datacontenttype\":\"application/json\",\"actor\":",
        kind.as_str()
    );
    out.extend_from_slice(about.as_bytes());
    write_text(out, actor);
    out.extend_from_slice(b",\"requestid\":");
    write_text(out, request_id);
    if let Some(tenant) = tenant {
        out.extend_from_slice(b",\"tenant\":");
        write_text(out, &tenant);
    }
    out.extend_from_slice(b",\"data\":{");
    out.extend_from_slice(start.as_bytes());
    if !kind.is_audit() {
        out.extend_from_slice(b",\"changed\":[");
        for (index, attribute) in changed.iter().enumerate() {
            separate(index, out);
            write_text(out, attribute.name());
        }
        out.push(b']');
    }
    let removed = if kind.is_of_user() { "groups" } else { "removed" };
    for (name, ids) in [("added", &members.added), (removed, &members.removed)] {
        if !ids.is_empty() {
            write_ids(name, ids, out);
        }
    }
    if !record.is_empty() && !is_thin {
        let comma = if start.is_empty() { "" } else { "," };
        out.extend_from_slice(format!("{comma}\"{of_record}\":").as_bytes());
        out.extend_from_slice(record);
    }
    out.extend_from_slice(b"}}");
}

/// The subject of an event, the first members of its data, and the name of the member that has the
/// record.
fn about(event: &Event) -> (String, String, &'static str) {
    let Event { kind, user_id: id, version, .. } = event;
    let versioned = format!("\"version\":{version}");
    let subject = audit_subject(event).unwrap_or_default();
    match kind.subject() {
        SubjectKind::User => {
            (format!("users/{id}"), format!("\"user_id\":\"{id}\",{versioned}"), "user")
        }
        SubjectKind::Group => {
            (format!("groups/{id}"), format!("\"group_id\":\"{id}\",{versioned}"), "group")
        }
        SubjectKind::Schema => ("schema".to_owned(), versioned, "schema"),
        SubjectKind::Log => ("log".to_owned(), versioned, "log"),
        SubjectKind::Key => {
            let id =
                format!("\"key_id\":\"{}\"", subject.strip_prefix("keys/").unwrap_or_default());
            (subject, id, "key")
        }
        SubjectKind::Webhook => {
            (subject, format!("\"webhook_id\":\"{id}\",{versioned}"), "webhook")
        }
        SubjectKind::Tenant => (subject, versioned, "tenant"),
        SubjectKind::Policy => (subject, String::new(), "policy"),
        SubjectKind::Settings => (subject, String::new(), "settings"),
    }
}

/// The ids of users or groups.
fn write_ids(name: &str, ids: &[UserId], out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"{name}\":[").as_bytes());
    for (index, id) in ids.iter().enumerate() {
        separate(index, out);
        write_text(out, &id.to_string());
    }
    out.push(b']');
}
