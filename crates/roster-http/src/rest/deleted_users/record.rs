//! The JSON of a deleted user: the last record, the time of deletion and the time of the purge.

use std::time::Duration;

use roster_core::{Timestamp, user::Deleted};

/// Appends the JSON. A user that is never purged has no `purge_at`.
pub(super) fn write(deleted: &Deleted, keep: Option<Duration>, out: &mut Vec<u8>) {
    let record = &deleted.stored.record;
    // A record is an object with members, so the first added member begins with a comma.
    out.extend_from_slice(record.strip_suffix(b"}").unwrap_or(record));
    out.extend_from_slice(format!(",\"deleted_at\":\"{}\"", deleted.at).as_bytes());
    if let Some(at) = keep.map(|keep| purge_at(deleted.at, keep)) {
        out.extend_from_slice(format!(",\"purge_at\":\"{at}\"").as_bytes());
    }
    out.push(b'}');
}

/// The maximum size of the added JSON.
pub(super) fn size(deleted: &Deleted) -> usize {
    deleted.stored.record.len() + 96
}

fn purge_at(deleted: Timestamp, keep: Duration) -> Timestamp {
    let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(deleted.as_millis().saturating_add(keep))
}

#[cfg(test)]
mod tests {
    use roster_core::{Stored, UserId};

    use super::*;

    #[test]
    fn what_is_kept_for_ever_has_no_end() {
        let record = bytes::Bytes::from_static(b"{\"id\":\"x\",\"version\":2}");
        let stored = Stored { id: UserId::from_bytes([0; 16]), version: 2, record };
        let deleted = Deleted { stored, at: Timestamp::from_millis(1_790_000_000_000) };
        let written = |keep| {
            let mut out = Vec::new();
            write(&deleted, keep, &mut out);
            assert!(out.len() <= size(&deleted));
            String::from_utf8(out).expect("UTF-8")
        };
        let left = r#"{"id":"x","version":2,"deleted_at":"2026-09-21T14:13:20.000Z""#;
        assert_eq!(written(None), format!("{left}}}"));
        let end = r#","purge_at":"2026-09-22T14:13:20.000Z"}"#;
        assert_eq!(written(Some(Duration::from_hours(24))), format!("{left}{end}"));
    }
}
