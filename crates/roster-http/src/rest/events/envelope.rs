//! Events as sent to clients: CloudEvents 1.0 in JSON, in the envelope of all lists.
//!
//! `actor`, `requestid` and `tenant` are extension attributes, whose names may contain only
//! lowercase letters and digits. The record is copied as stored; once the user is purged, there is
//! none.

use roster_core::{Event, EventsPage, LogId, Position, TenantName, UserId, json::write_text};

use crate::{
    problem::Problem,
    rest::list::{Envelope, separate},
};

/// The approximate size of an event without its record.
const FRAME_BYTES: usize = 512;

/// The page as JSON. An event of a purged tenant has the number of the tenant after `#`, which no
/// name contains.
pub(super) fn envelope(
    page: &EventsPage,
    log: LogId,
    source: (&str, Option<&TenantName>),
    next_cursor: Option<&str>,
) -> Result<Vec<u8>, Problem> {
    let bytes = page.events.iter().map(|(_, event)| event.bytes() + FRAME_BYTES).sum();
    let envelope = Envelope { next_cursor, ..Envelope::default() };
    let mut tenants = page.tenants.iter();
    envelope.write(&page.events, bytes, |(number, event), out| {
        let position = Position { log, number: *number };
        match tenants.next() {
            None => write(event, position, (source.0, source.1.map(TenantName::as_str)), out),
            Some((id, _)) if id.is_default() => write(event, position, (source.0, None), out),
            Some((_, Some(name))) => {
                let base_url = format!("{}/tenants/{name}", source.0);
                write(event, position, (&base_url, Some(name.as_str())), out);
            }
            Some((id, None)) => {
                write(event, position, (source.0, Some(&format!("#{}", id.number()))), out);
            }
        }
        Some(())
    })
}

fn write(
    event: &Event,
    position: Position,
    (base_url, tenant): (&str, Option<&str>),
    out: &mut Vec<u8>,
) {
    let Event { kind, at, actor, request_id, user_id, version, changed, members, record } = event;
    let start = format!("{{\"specversion\":\"1.0\",\"id\":\"{position}\",\"source\":");
    out.extend_from_slice(start.as_bytes());
    write_text(out, base_url);
    let (whose, subject) = if kind.is_of_group() {
        ("group", format!("groups/{user_id}"))
    } else if kind.is_of_user() {
        ("user", format!("users/{user_id}"))
    } else {
        ("schema", "schema".to_owned())
    };
    let id = match whose {
        "schema" => String::new(),
        whose => format!("\"{whose}_id\":\"{user_id}\","),
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
        write_text(out, tenant);
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
