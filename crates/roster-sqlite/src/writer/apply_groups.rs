//! Applying the writes of groups.

use roster_engine::{GroupWrite, GroupWrites, kind_number};
use rusqlite::{Connection, Result, params};

use super::{apply::text, sql};

pub(super) fn apply_groups(connection: &Connection, writes: &GroupWrites) -> Result<()> {
    let mut remove = connection.prepare_cached(sql::REMOVE_MEMBERSHIP)?;
    for (group, member) in &writes.removed {
        remove.execute([group.as_bytes(), member.as_bytes()])?;
    }
    for group in &writes.deleted {
        connection.prepare_cached(sql::REMOVE_MEMBERS_OF_GROUP)?.execute([group.as_bytes()])?;
        connection.prepare_cached(sql::DELETE_GROUP)?.execute([group.as_bytes()])?;
    }
    for GroupWrite { change, members, changes_keys } in writes.updated.values() {
        let (group, record) = (&change.group, text(&change.record)?);
        let id = group.id.as_bytes();
        if *changes_keys {
            let mut update = connection.prepare_cached(sql::UPDATE_GROUP)?;
            let (key, external_id) = (group.name_key(), &group.external_id);
            update.execute(params![id, group.version, members, key, external_id, record])?;
        } else {
            let mut update = connection.prepare_cached(sql::UPDATE_GROUP_WITHOUT_KEYS)?;
            update.execute(params![id, group.version, members, record])?;
        }
    }
    for GroupWrite { change, members, .. } in &writes.created {
        let (group, record) = (&change.group, text(&change.record)?);
        let mut create = connection.prepare_cached(sql::CREATE_GROUP)?;
        let (id, key) = (group.id.as_bytes(), group.name_key());
        create.execute(params![id, group.version, members, key, group.external_id, record])?;
    }
    let mut add = connection.prepare_cached(sql::ADD_MEMBERSHIP)?;
    for (group, member) in &writes.added {
        add.execute(params![group.as_bytes(), member.id.as_bytes(), kind_number(member.kind)])?;
    }
    if writes.count() != 0 {
        connection.prepare_cached(sql::COUNT_GROUPS)?.execute([writes.count()])?;
    }
    Ok(())
}
