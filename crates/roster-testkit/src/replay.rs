//! What a change log says the users are, read from its start.

use std::collections::BTreeMap;

use roster_core::{Event, EventKind, Stored, UserId};

/// The live users after these events, which begin with the log's first.
pub fn replay(events: impl IntoIterator<Item = Event>) -> BTreeMap<UserId, Stored> {
    let mut users = BTreeMap::new();
    for event in events {
        match event.kind {
            EventKind::Created | EventKind::Updated | EventKind::Restored => {
                let Event { user_id: id, version, record, .. } = event;
                users.insert(id, Stored { id, version, record });
            }
            EventKind::Deleted | EventKind::Purged => {
                users.remove(&event.user_id);
            }
        }
    }
    users
}
