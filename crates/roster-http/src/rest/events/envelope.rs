//! Events as sent to clients: CloudEvents 1.0 in JSON, in the envelope of all lists.
//!
//! `actor`, `requestid` and `tenant` are extension attributes, whose names may contain only
//! lowercase letters and digits. The record is copied as stored; once the user is purged, there is
//! none.

use std::borrow::Cow;

use roster_core::{
    Event, EventsPage, Position, SubjectKind, TenantId, TenantName, UserId, json::write_text,
};

use crate::{
    problem::Problem,
    rest::list::{Envelope, separate},
};

/// The approximate size of an event without its record.
const FRAME_BYTES: usize = 512;

/// Where a response comes from: the base URL, and the tenant unless it is the default one.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) base_url: &'a str,
    pub(super) tenant: Option<&'a TenantName>,
}

/// The page as JSON.
pub(super) fn envelope(
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

/// The events of a page after a position as frames of a stream (HTML, section 9.2.5): each has its
/// position as its id, and no type, so that a client hears of events of all types.
pub(super) fn frames(page: &EventsPage, after: i64, source: Source<'_>, out: &mut Vec<u8>) {
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
    fn of(
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

fn write(
    event: &Event,
    position: Position,
    (base_url, tenant): (Cow<'_, str>, Option<Cow<'_, str>>),
    out: &mut Vec<u8>,
) {
    let Event { kind, at, actor, request_id, user_id, version, changed, members, record } = event;
    let start = format!("{{\"specversion\":\"1.0\",\"id\":\"{position}\",\"source\":");
    out.extend_from_slice(start.as_bytes());
    write_text(out, &base_url);
    let (whose, subject) = match kind.subject() {
        SubjectKind::User => ("user", format!("users/{user_id}")),
        SubjectKind::Group => ("group", format!("groups/{user_id}")),
        SubjectKind::Schema => ("schema", "schema".to_owned()),
        SubjectKind::Log => ("log", "log".to_owned()),
    };
    let id = match kind.subject() {
        SubjectKind::User | SubjectKind::Group => format!("\"{whose}_id\":\"{user_id}\","),
        SubjectKind::Schema | SubjectKind::Log => String::new(),
    };
    let kind = kind.as_str();
    let about = format!(
        ",\"type\":\"{kind}\",\"subject\":\"{subject}\",\"time\":\"{at}\",\
         \"datacontenttype\":\"application/json\",\"actor\":"
    );
    out.extend_from_slice(about.as_bytes());
    write_text(out, actor);
    out.extend_from_slice(b",\"requestid\":");
    write_text(out, request_id);
    if let Some(tenant) = tenant {
        out.extend_from_slice(b",\"tenant\":");
        write_text(out, &tenant);
    }
    let data = format!(",\"data\":{{{id}\"version\":{version},\"changed\":[");
    out.extend_from_slice(data.as_bytes());
    for (index, attribute) in changed.iter().enumerate() {
        separate(index, out);
        write_text(out, attribute.name());
    }
    out.push(b']');
    for (name, ids) in [("added", &members.added), ("removed", &members.removed)] {
        if !ids.is_empty() {
            write_ids(name, ids, out);
        }
    }
    if !record.is_empty() {
        out.extend_from_slice(format!(",\"{whose}\":").as_bytes());
        out.extend_from_slice(record);
    }
    out.extend_from_slice(b"}}");
}

/// The member that was added to or removed from a group.
fn write_ids(name: &str, ids: &[UserId], out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"{name}\":[").as_bytes());
    for (index, id) in ids.iter().enumerate() {
        separate(index, out);
        write_text(out, &id.to_string());
    }
    out.push(b']');
}
