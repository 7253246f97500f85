//! The indexes that the schema of users names.
//!
//! A new index is built in steps: they read the users in the order of ids, and write their rows.
//! Writes keep the rows of their users up to date from the declaration on, so a step may meet rows
//! that exist. The rows of a dropped index are deleted in steps too.

use std::sync::Arc;

use roster_core::{
    IndexStep, StoreError, TenantId, UserId, UserSchema,
    schema::{IndexStatus, MemberIndex, VALUE},
    store::{INDEX_KEYS_MAX, PENDING_ERASURES_MAX},
};

use crate::{
    database::{Cell, Database, Values, corrupt, first, rows},
    index_rows::{IndexRows, IndexWriter, NextUsers, Progress},
    settings::{INDEX_WORK_SETTING, INDEXES_SETTING, SCHEMA_SETTING, schema_of, setting},
};

/// The statements of steps that differ between the engines.
#[derive(Clone, Copy, Debug)]
pub struct IndexSql {
    /// The indexes of tenant `$1`, which are locked until the end of the transaction.
    pub lock: &'static str,
    /// The ids and records of the first `$3` users of a tenant after the id `$2`. No write changes
    /// them until the end of the transaction.
    pub users: &'static str,
    /// Deletes the first `$3` rows of the index `$2` of a tenant.
    pub drop: &'static str,
    /// Writes a setting.
    pub keep: &'static str,
    /// The maximum number of rows that a step deletes, or writes in the order of users.
    pub rows_max: i64,
}

/// The tenants whose indexes need steps.
pub const INDEX_WORK: &str =
    "SELECT tenant FROM settings WHERE name = 'index_work' ORDER BY tenant LIMIT $1";

/// Ends the work on the indexes of a tenant.
pub const END_INDEX_WORK: &str = "DELETE FROM settings WHERE tenant = $1 AND name = $2";

/// The keys of values in an index after a key and its user.
pub const INDEX_KEYS: &str = "SELECT key, id FROM further_keys WHERE tenant = $1 AND kind = $2 \
     AND (key, id) > ($3, $4) AND key < '2' ORDER BY kind, key, id LIMIT $5";

/// The stored indexes, and whether one of them has values of another type than the declared one.
pub const INDEX_STATE: &str = "SELECT value, (SELECT id FROM further_keys WHERE tenant = $1 \
     AND kind = $2 AND key = '0' ORDER BY kind, key, id LIMIT 1) FROM settings \
     WHERE tenant = $1 AND name = 'indexes'";

/// The tenants whose indexes need steps.
pub async fn tenants_with_index_work<D: Database>(db: D) -> Result<Vec<TenantId>, D::Error> {
    let limit = i64::try_from(PENDING_ERASURES_MAX).unwrap_or(i64::MAX);
    let rows = rows(db, INDEX_WORK, &[limit.into()]).await?;
    Ok(rows.iter().map(|row| row.tenant(0, "settings.tenant")).collect::<Result<_, _>>()?)
}

/// Executes the next step. Returns the schema if an index has another status afterwards. The step
/// can be the last one of a dropped index only if `may_end` is true. If the transaction fails, what
/// is in `kept` must not be used again.
pub async fn index_step<D: IndexWriter>(
    db: D,
    sql: &IndexSql,
    may_end: bool,
    kept: &mut IndexRows,
) -> Result<(IndexStep, Option<Arc<UserSchema>>), D::Error> {
    let tenant = Cell::from(db.tenant());
    let schema = locked_schema(db, sql).await?;
    let indexes = schema.as_ref().map(|schema| &*schema.indexes).unwrap_or_default();
    let building = indexes.iter().find_map(|index| match &index.status {
        IndexStatus::Building { reached, users } => {
            Some(Progress { last: *reached, users: *users, is_end: false })
        }
        IndexStatus::Checking
        | IndexStatus::Ready
        | IndexStatus::Failed { .. }
        | IndexStatus::Dropped => None,
    });
    if building.is_none() && kept.tenant() == Some(db.tenant()) {
        // They are of an index that was dropped. One that is declared afterwards may have its
        // number.
        kept.clear();
    }
    let Some(mut schema) = schema else { return Ok((IndexStep::Done, None)) };
    if let Some(from) = building {
        if !build(db, sql, &mut schema, from, kept).await? {
            return Ok((IndexStep::Pending, None));
        }
        return Ok((IndexStep::Pending, Some(keep(db, sql, schema).await?)));
    }
    let is_checked = |index: &&MemberIndex| index.status == IndexStatus::Checking;
    if let Some(index) = schema.indexes.iter().find(is_checked) {
        return Ok((IndexStep::Check(index.kind), None));
    }
    let dropped = schema.indexes.iter().position(|index| index.status == IndexStatus::Dropped);
    if let Some(at) = dropped {
        let kind = schema.indexes.get(at).map_or(0, |index| index.kind);
        let room = sql.rows_max;
        let deleted = db.execute(sql.drop, &[tenant, i64::from(kind).into(), room.into()]).await?;
        if deleted >= room.unsigned_abs() {
            return Ok((IndexStep::Pending, None));
        }
        if !may_end {
            return Ok((IndexStep::Waiting, None));
        }
        schema.indexes.remove(at);
        return Ok((IndexStep::Dropped, Some(keep(db, sql, schema).await?)));
    }
    if schema.has_index_work() {
        return Ok((IndexStep::Failed, None));
    }
    Ok((IndexStep::Done, None))
}

/// Ends the work on the indexes of the tenant, unless a change of the schema made more.
pub async fn end_index_work<D: Database>(db: D, sql: &IndexSql) -> Result<(), D::Error> {
    let has_work = locked_schema(db, sql).await?.is_some_and(|schema| schema.has_index_work());
    if !has_work {
        db.execute(END_INDEX_WORK, &[db.tenant().into(), INDEX_WORK_SETTING.into()]).await?;
    }
    Ok(())
}

/// Gives the next users their rows in all indexes that are built from there. Returns whether their
/// status changes.
async fn build<D: IndexWriter>(
    db: D,
    sql: &IndexSql,
    schema: &mut UserSchema,
    from: Progress,
    kept: &mut IndexRows,
) -> Result<bool, D::Error> {
    let is_built = |index: &MemberIndex| {
        let IndexStatus::Building { reached, .. } = index.status else { return false };
        reached == from.last
    };
    let built = schema.indexes.iter().filter(|index| is_built(index)).cloned().collect();
    let next = NextUsers { sql: sql.users, rows_max: sql.rows_max };
    let Some(progress) = kept.step(db, next, built, from).await? else { return Ok(false) };
    for index in schema.indexes.iter_mut().filter(|index| is_built(index)) {
        index.status = if !progress.is_end {
            IndexStatus::Building { reached: progress.last, users: progress.users }
        } else if index.unique {
            IndexStatus::Checking
        } else {
            IndexStatus::Ready
        };
    }
    Ok(true)
}

/// Stores which users share values of a unique index. Returns the schema if its status changes.
pub async fn end_index_check<D: Database>(
    db: D,
    sql: &IndexSql,
    kind: i16,
    shared: Vec<Vec<UserId>>,
) -> Result<Option<Arc<UserSchema>>, D::Error> {
    let Some(mut schema) = locked_schema(db, sql).await? else { return Ok(None) };
    let Some(index) = schema.indexes.iter_mut().find(|index| index.kind == kind) else {
        return Ok(None);
    };
    let is_compared =
        matches!(index.status, IndexStatus::Checking | IndexStatus::Failed { .. }) && index.unique;
    let status =
        if shared.is_empty() { IndexStatus::Ready } else { IndexStatus::Failed { shared } };
    if !is_compared || index.status == status {
        return Ok(None);
    }
    index.status = status;
    Ok(Some(keep(db, sql, schema).await?))
}

/// The schema with its indexes as they are stored, locked; `None` if there are none.
async fn locked_schema<D: Database>(db: D, sql: &IndexSql) -> Result<Option<UserSchema>, D::Error> {
    let Some(indexes) = first(db, sql.lock, &[db.tenant().into()]).await? else { return Ok(None) };
    let schema = setting(db, SCHEMA_SETTING).await?;
    let schema = schema.as_ref().and_then(|row| row.bytes(0, "").ok());
    let schema = schema_of(schema.map(|value| &**value), Some(indexes.bytes(0, INDEXES_SETTING)?))?;
    Ok(Some(UserSchema::clone(&schema)))
}

async fn keep<D: Database>(
    db: D,
    sql: &IndexSql,
    schema: UserSchema,
) -> Result<Arc<UserSchema>, D::Error> {
    let value = schema.indexes_to_json();
    let row = [db.tenant().into(), INDEXES_SETTING.into(), value.as_str().into()];
    db.execute(sql.keep, &row).await?;
    Ok(Arc::new(schema))
}

/// Keys of values in an index after this one, with their users.
pub async fn index_keys<D: Database>(
    db: D,
    kind: i16,
    after: Option<(String, UserId)>,
) -> Result<Vec<(String, UserId)>, D::Error> {
    let (key, id) = after.unwrap_or((VALUE.to_owned(), UserId::from_bytes([0; 16])));
    let limit = i64::try_from(INDEX_KEYS_MAX).unwrap_or(i64::MAX);
    let parameters =
        [db.tenant().into(), i64::from(kind).into(), key.as_str().into(), id.into(), limit.into()];
    let found = rows(db, INDEX_KEYS, &parameters).await?;
    let pair = |row: &Values| {
        Ok((row.text(0, "further_keys.key")?.to_owned(), row.id(1, "further_keys.id")?))
    };
    Ok(found.iter().map(pair).collect::<Result<_, StoreError>>()?)
}

/// Whether the keys of these indexes select the right rows in this snapshot: each index is still
/// the one that the query's schema names, all users have their rows in it, and no value has another
/// type than the declared one.
pub async fn may_select<D: Database>(
    db: D,
    schema: &UserSchema,
    kinds: &[i16],
) -> Result<bool, D::Error> {
    for kind in kinds {
        let row = first(db, INDEX_STATE, &[db.tenant().into(), i64::from(*kind).into()]).await?;
        let Some(row) = row else { return Ok(false) };
        if !is_the_same(schema, *kind, row.bytes(0, INDEXES_SETTING)?)?
            || !matches!(row.0.get(1), Some(Cell::Null))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether stored indexes contain this one as the schema has it, with the rows of all users.
pub fn is_the_same(schema: &UserSchema, kind: i16, stored: &[u8]) -> Result<bool, StoreError> {
    let stored = UserSchema::default().with_indexes(stored);
    let stored = stored.map_err(|_| corrupt(INDEXES_SETTING))?;
    Ok(match (schema.index(kind), stored.index(kind)) {
        (Some(known), Some(stored)) => stored.is_complete() && known.has_rows_of(stored),
        _ => false,
    })
}
