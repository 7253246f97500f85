//! Applying the writes of a batch.

use std::{collections::HashMap, sync::Arc};

use roster_core::{
    Change, Event, Keys, Rules, SearchKeys, UserId, erasure::STEP_MAX, event::changed_text,
};
use roster_engine::{
    Counts, Current, GroupWrite, GroupWrites, INDEX_WORK_SETTING, INDEXES_SETTING, SCHEMA_SETTING,
    Writes, further_keys, kind_number,
};
use rusqlite::{Connection, Error, Result, params, types::ToSqlOutput};

use super::{shared::Schemas, sql};
use crate::purge::erasure;
use crate::{
    cache::Touched,
    columns::{KEY_COLUMNS, key_values},
    policy::WRITE_SETTING,
    purge::mark,
    reads::rows::Rows,
};

/// The changes of a transaction that the rest of the engine must know.
pub(super) struct Applied {
    /// The position of the log after it.
    pub(super) position: i64,
    /// The users whose rows it changed.
    pub(super) touched: Vec<Touched>,
    /// The position of the last purge for which the files must be swept.
    pub(super) purged: Option<i64>,
    /// The rules in force in it.
    pub(super) rules: Rules,
    /// The schemas of users that it replaced.
    pub(super) schemas: Schemas,
    /// How much more of the histories of purged users may be erased in this transaction.
    erasure_room: i64,
}

impl Applied {
    pub(super) fn new(position: i64, rules: Rules) -> Self {
        let (touched, schemas) = (Vec::new(), Schemas::new());
        Self { position, touched, purged: None, rules, schemas, erasure_room: STEP_MAX }
    }

    /// Applies the writes of a batch, given the numbers of the rows that it read.
    pub(super) fn apply(
        &mut self,
        rows: Rows<'_>,
        writes: &Writes,
        row_numbers: &HashMap<UserId, i64>,
        is_import: bool,
    ) -> Result<()> {
        let (Rows(connection, id), before) = (rows, self.position);
        let tenant = id.number();
        apply_users(rows, writes, row_numbers)?;
        self.begin_erasures(rows, writes)?;
        apply_groups(rows, &writes.groups)?;
        let mut append = connection.prepare_cached(sql::APPEND_EVENT)?;
        for event in &writes.events {
            self.position += 1;
            let Event { kind, at, actor, request_id, user_id, version, .. } = &**event;
            append.execute(params![
                self.position,
                tenant,
                kind.as_str(),
                at.as_millis(),
                actor,
                request_id,
                user_id.as_bytes(),
                version,
                changed_text(&event.changed, &event.members),
                text(&event.record)?,
            ])?;
        }
        insert_idempotency_records(rows, writes, before)?;
        if let Some(schema) = &writes.schema {
            let mut write = connection.prepare_cached(WRITE_SETTING)?;
            write.execute(params![tenant, SCHEMA_SETTING, text(&schema.to_record())?])?;
            write.execute(params![tenant, INDEXES_SETTING, schema.indexes_to_json()])?;
            if schema.has_index_work() {
                write.execute(params![tenant, INDEX_WORK_SETTING, ""])?;
            }
            self.schemas.insert(id, Arc::clone(schema));
        }
        let (counts, groups) = (writes.counts, writes.groups.count());
        if counts != Counts::default() || groups != 0 {
            let Counts { active, suspended, deleted } = counts;
            let mut count = connection.prepare_cached(sql::COUNT)?;
            count.execute((tenant, active, suspended, deleted, groups))?;
        }
        let known = writes.users.iter().filter(|(_, write)| write.keys_before().is_some());
        self.touched.extend(known.map(|(id, write)| {
            let current = |change: &Arc<Change>| Current {
                user: Arc::clone(&change.user),
                record: change.record.clone(),
            };
            Touched { tenant: rows.1, id: *id, live: write.after().map(current), is_import }
        }));
        Ok(())
    }

    /// Erases the histories of purged users, or leaves the long ones to be erased in steps.
    fn begin_erasures(&mut self, rows: Rows<'_>, writes: &Writes) -> Result<()> {
        let Rows(connection, tenant) = rows;
        for (id, nth) in &writes.purged {
            // A longer history marks the files with its last step.
            if let Some(erased) = erasure::begin(connection, tenant, *id, self.erasure_room)? {
                self.erasure_room -= erased;
                let position = self.position + nth;
                // In the same transaction, so that the files are cleaned even after a crash.
                mark::set(connection, position)?;
                self.purged = Some(position);
            }
        }
        Ok(())
    }
}

/// Rows are deleted before others are written: another user may take their keys.
fn apply_users(rows: Rows<'_>, writes: &Writes, row_numbers: &HashMap<UserId, i64>) -> Result<()> {
    let (connection, tenant) = (rows.0, rows.1.number());
    let number = |id| row_numbers.get(id).ok_or(Error::QueryReturnedNoRows);
    for (id, write) in &writes.users {
        if write.keys_before().is_some() && write.after().is_none() {
            connection.prepare_cached(sql::DELETE)?.execute([number(id)?])?;
        }
    }
    for (id, write) in &writes.deleted_users {
        if write.existed {
            connection.prepare_cached(sql::DROP_DELETED)?.execute([number(id)?])?;
        }
        if let Some(change) = &write.row {
            let Change { user, record, keys, .. } = &**change;
            connection.prepare_cached(sql::KEEP_DELETED)?.execute(params![
                tenant,
                id.as_bytes(),
                user.version,
                user.updated_at.as_millis(),
                keys.username,
                keys.email,
                keys.external_id,
                text(record)?,
            ])?;
        }
    }
    for (id, write) in &writes.users {
        if let (Some(keys_before), Some(change)) = (write.keys_before(), write.after()) {
            update(connection, keys_before, change, *number(id)?)?;
        }
        write_search_rows(rows, DROP, *id, &write.index().removed)?;
    }
    let mut create = connection.prepare_cached(sql::CREATE)?;
    for (id, write) in &writes.users {
        if let (None, Some(change)) = (write.keys_before(), write.after()) {
            let Change { user, record, keys, .. } = &**change;
            let [status, username, email, phone_number, external_id, family_name, name, expires] =
                key_values(keys).map(ToSqlOutput::Borrowed);
            create.execute(params![
                tenant,
                id.as_bytes(),
                user.version,
                status,
                user.updated_at.as_millis(),
                username,
                email,
                phone_number,
                external_id,
                family_name,
                name,
                expires,
                text(record)?,
            ])?;
        }
        write_search_rows(rows, ADD, *id, &write.index().added)?;
    }
    Ok(())
}

/// The statements that add a word and a further key, and those that delete them.
const ADD: [&str; 2] = [sql::ADD_WORD, sql::ADD_KEY];
const DROP: [&str; 2] = [sql::DROP_WORD, sql::DROP_KEY];

/// Adds or deletes the rows of search keys: words, and the keys of further addresses and numbers.
fn write_search_rows(
    Rows(connection, tenant): Rows<'_>,
    [for_word, for_key]: [&str; 2],
    id: UserId,
    keys: &SearchKeys,
) -> Result<()> {
    let (tenant, id) = (tenant.number(), id.as_bytes());
    if !keys.words.is_empty() {
        let mut statement = connection.prepare_cached(for_word)?;
        for word in &keys.words {
            statement.execute(params![tenant, word, id])?;
        }
    }
    for (kind, key) in further_keys(keys) {
        connection.prepare_cached(for_key)?.execute(params![tenant, kind, key, id])?;
    }
    Ok(())
}

/// Updates a row. Of the key columns, only those with changed keys.
fn update(connection: &Connection, before: &Keys, change: &Change, number: i64) -> Result<()> {
    let Change { user, record, keys, .. } = change;
    let values = key_values(before).into_iter().zip(key_values(keys));
    let differing = KEY_COLUMNS.into_iter().zip(values).filter(|(_, (old, new))| old != new);
    let set: Vec<_> = differing.map(|(column, (_, new))| (column, new)).collect();
    let update = sql::update(set.iter().map(|(column, _)| *column));
    let mut statement = connection.prepare_cached(&update)?;
    statement.raw_bind_parameter(1, number)?;
    statement.raw_bind_parameter(2, user.version)?;
    statement.raw_bind_parameter(3, user.updated_at.as_millis())?;
    statement.raw_bind_parameter(4, text(record)?)?;
    for ((parameter, _), value) in set {
        statement.raw_bind_parameter(parameter, ToSqlOutput::Borrowed(value))?;
    }
    statement.raw_execute()?;
    Ok(())
}

fn apply_groups(rows: Rows<'_>, writes: &GroupWrites) -> Result<()> {
    let (connection, tenant) = (rows.0, rows.1.number());
    let mut remove = connection.prepare_cached(sql::REMOVE_MEMBERSHIP)?;
    for (group, member) in &writes.removed {
        remove.execute((tenant, group.as_bytes(), member.as_bytes()))?;
    }
    for group in &writes.deleted {
        let group = (tenant, group.as_bytes());
        connection.prepare_cached(sql::REMOVE_MEMBERS_OF_GROUP)?.execute(group)?;
        connection.prepare_cached(sql::DELETE_GROUP)?.execute(group)?;
    }
    for GroupWrite { change, members, changes_keys } in writes.updated.values() {
        let (group, record) = (&change.group, text(&change.record)?);
        let id = group.id.as_bytes();
        if *changes_keys {
            let mut update = connection.prepare_cached(sql::UPDATE_GROUP)?;
            let (key, external_id) = (group.name_key(), &group.external_id);
            update.execute(params![
                tenant,
                id,
                group.version,
                members,
                key,
                external_id,
                record
            ])?;
        } else {
            let mut update = connection.prepare_cached(sql::UPDATE_GROUP_WITHOUT_KEYS)?;
            update.execute(params![tenant, id, group.version, members, record])?;
        }
    }
    for GroupWrite { change, members, .. } in &writes.created {
        let (group, record) = (&change.group, text(&change.record)?);
        let mut create = connection.prepare_cached(sql::CREATE_GROUP)?;
        let (id, key) = (group.id.as_bytes(), group.name_key());
        let (version, external_id) = (group.version, &group.external_id);
        create.execute(params![tenant, id, version, members, key, external_id, record])?;
    }
    let mut add = connection.prepare_cached(sql::ADD_MEMBERSHIP)?;
    for (group, member) in &writes.added {
        let (group, kind) = (group.as_bytes(), kind_number(member.kind));
        add.execute(params![tenant, group, member.id.as_bytes(), kind])?;
    }
    Ok(())
}

fn insert_idempotency_records(
    Rows(connection, tenant): Rows<'_>,
    writes: &Writes,
    before: i64,
) -> Result<()> {
    for (key, new) in &writes.idempotency {
        let (effect, record) = new.effect_and_record();
        connection.prepare_cached(sql::INSERT_IDEMPOTENCY)?.execute(params![
            tenant.number(),
            key,
            new.fingerprint,
            new.at.as_millis(),
            new.stored.id.as_bytes(),
            new.stored.version,
            before + new.nth,
            effect,
            record.map(text).transpose()?,
        ])?;
    }
    Ok(())
}

fn text(record: &[u8]) -> Result<&str> {
    std::str::from_utf8(record).map_err(|error| Error::ToSqlConversionFailure(error.into()))
}
