//! The JSON of a deleted user: the last record, the time of deletion and the time of the purge.

use std::time::Duration;

use roster_core::{Timestamp, project::Members, user::Deleted};

use crate::extract::Fields;

/// The members of deleted users that a response shows.
pub(in crate::rest) struct Shown {
    /// The members of the record; all if `None`.
    members: Option<Members>,
    deleted_at: bool,
    purge_at: bool,
    keep: Option<Duration>,
}

impl Shown {
    pub(in crate::rest) fn new(fields: &Fields, keep: Option<Duration>) -> Self {
        let (deleted_at, purge_at) = (fields.shows("deleted_at"), fields.shows("purge_at"));
        Self { members: fields.members(), deleted_at, purge_at, keep }
    }

    /// Appends the JSON; `None` if the record cannot be read. A user that is never purged has no
    /// `purge_at`.
    pub(in crate::rest) fn write(&self, deleted: &Deleted, out: &mut Vec<u8>) -> Option<()> {
        match &self.members {
            None => out.extend_from_slice(&deleted.stored.record),
            Some(members) => members.project(&deleted.stored.record, out)?,
        }
        // A record is an object with members, so the first added member begins with a comma.
        out.pop();
        if self.deleted_at {
            out.extend_from_slice(format!(",\"deleted_at\":\"{}\"", deleted.at).as_bytes());
        }
        if let Some(keep) = self.keep.filter(|_| self.purge_at) {
            let at = purge_at(deleted.at, keep);
            out.extend_from_slice(format!(",\"purge_at\":\"{at}\"").as_bytes());
        }
        out.push(b'}');
        Some(())
    }
}

/// The maximum size of the added JSON.
pub(in crate::rest) fn size(deleted: &Deleted) -> usize {
    deleted.stored.record.len() + 96
}

/// When something that was deleted is purged.
pub(in crate::rest) fn purge_at(deleted: Timestamp, keep: Duration) -> Timestamp {
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
            let shown = Shown::new(&Fields::of_deleted_users(), keep).write(&deleted, &mut out);
            assert_eq!(shown, Some(()));
            assert!(out.len() <= size(&deleted));
            String::from_utf8(out).expect("UTF-8")
        };
        let left = r#"{"id":"x","version":2,"deleted_at":"2026-09-21T14:13:20.000Z""#;
        assert_eq!(written(None), format!("{left}}}"));
        let end = r#","purge_at":"2026-09-22T14:13:20.000Z"}"#;
        assert_eq!(written(Some(Duration::from_hours(24))), format!("{left}{end}"));
    }
}
