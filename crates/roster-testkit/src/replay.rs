//! The users and groups that follow from a change log, read from its start.

use std::collections::{BTreeMap, BTreeSet};

use roster_core::{Event, EventKind, Stored, UserId};

/// The live users after these events, which must begin with the first one of the log.
pub fn replay(events: impl IntoIterator<Item = Event>) -> BTreeMap<UserId, Stored> {
    let mut users = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.kind.is_of_user()) {
        let Event { kind, user_id: id, version, record, .. } = event;
        if matches!(kind, EventKind::Deleted | EventKind::Purged) {
            users.remove(&id);
        } else {
            users.insert(id, Stored { id, version, record });
        }
    }
    users
}

/// A group and its members.
pub type Belonging = (Stored, BTreeSet<UserId>);

/// The groups after these events, which must begin with the first one of the log.
pub fn replay_groups(events: impl IntoIterator<Item = Event>) -> BTreeMap<UserId, Belonging> {
    let mut groups: BTreeMap<UserId, (Option<Stored>, BTreeSet<UserId>)> = BTreeMap::new();
    for event in events.into_iter().filter(|event| event.kind.is_of_group()) {
        let Event { kind, user_id: id, version, members, record, .. } = event;
        let (_, mut belonging) = groups.remove(&id).unwrap_or_default();
        if kind == EventKind::GroupDeleted {
            continue;
        }
        belonging.extend(members.added);
        belonging.retain(|id| !members.removed.contains(id));
        groups.insert(id, (Some(Stored { id, version, record }), belonging));
    }
    let whole = |(id, (stored, belonging)): (UserId, (Option<Stored>, BTreeSet<UserId>))| {
        Some((id, (stored?, belonging)))
    };
    groups.into_iter().filter_map(whole).collect()
}
