//! The steps of the indexes that the schema of users names.
//!
//! A step locks the indexes of its tenant, and the users whose rows it adds. It waits for no lock
//! of a user, because a write that has one may wait for this step. After the last step of an index,
//! the era ends, so that every process reads that the index is complete.

use std::sync::Arc;

use roster_core::{
    IndexStep, StoreError, UserId, UserSchema,
    schema::{IndexStatus, MemberIndex},
};
use roster_engine::{IndexRows, IndexSql, end_index_check, end_index_work, index_step};

use crate::{
    connection::Connection,
    failure::{QueryError, Remedy, remedy},
    in_force::begin_era_of_tenant,
    pool::LONG,
    postgres::Postgres,
    reads::rows::Rows,
    uniqueness::KEEP,
};

pub(crate) const SQL: IndexSql = IndexSql {
    lock: "SELECT value FROM settings WHERE tenant = $1 AND name = 'indexes' FOR UPDATE",
    users: "SELECT id, record FROM users WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3 \
         FOR SHARE NOWAIT",
    drop: "DELETE FROM further_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM further_keys \
         WHERE tenant = $1 AND kind = $2 ORDER BY kind, key, id LIMIT $3))",
    keep: KEEP,
    // It shares the processors and the disk with other writes.
    rows_max: 100,
};

/// Executes the next step of a tenant.
pub(crate) async fn step(store: &Postgres) -> Result<IndexStep, StoreError> {
    let tenant = store.tenant;
    let work = |c: Arc<Connection>| async move {
        let rows = Rows(&c, tenant);
        match c.transaction("BEGIN", index_step(rows, &SQL, true, &mut IndexRows::default())).await
        {
            Err(QueryError::Database(error)) if remedy(&error.0) == Remedy::Wait => {
                // The pool gets back a connection without a transaction.
                c.client().batch_execute("ROLLBACK").await?;
                Ok((IndexStep::Busy, None))
            }
            step => step,
        }
    };
    let (step, schema) = store.exclusive.run(LONG, work).await?;
    if step == IndexStep::Done {
        end_work(store).await?;
    }
    let Some(schema) = schema else { return Ok(step) };
    let complete = |schema: &UserSchema| -> Vec<(i16, bool)> {
        schema.indexes.iter().map(|index| (index.kind, index.is_complete())).collect()
    };
    let known = store.in_force.known(tenant).schema;
    let completes = known.is_some_and(|known| complete(&known) != complete(&schema));
    store.in_force.note_index_progress(tenant, schema);
    if completes {
        end_era(store).await?;
    }
    Ok(step)
}

/// Ends the era before the values of an index are compared for the first time: a write that looked
/// for the holder of a value before the index was complete is executed again, and finds it.
pub(crate) async fn begin_check(store: &Postgres, kind: i16) -> Result<(), StoreError> {
    let was_checked = store.in_force.known(store.tenant).schema.is_some_and(|schema| {
        let is_failed = |index: &MemberIndex| matches!(index.status, IndexStatus::Failed { .. });
        schema.indexes.iter().any(|index| index.kind == kind && is_failed(index))
    });
    if was_checked { Ok(()) } else { end_era(store).await }
}

/// Stores the result of a comparison.
pub(crate) async fn end_check(
    store: &Postgres,
    kind: i16,
    shared: Vec<Vec<UserId>>,
) -> Result<(), StoreError> {
    let tenant = store.tenant;
    let work = |c: Arc<Connection>| {
        let shared = shared.clone();
        async move {
            let rows = Rows(&c, tenant);
            c.transaction("BEGIN", end_index_check(rows, &SQL, kind, shared)).await
        }
    };
    if store.exclusive.run(LONG, work).await?.is_some() {
        end_era(store).await?;
    }
    Ok(())
}

/// Ends the work on the indexes, and the era: a process may have ended before it told the others
/// that an index is complete.
async fn end_work(store: &Postgres) -> Result<(), StoreError> {
    let tenant = store.tenant;
    let end = |c: Arc<Connection>| async move {
        let rows = Rows(&c, tenant);
        let work = async {
            begin_era_of_tenant(rows).await?;
            end_index_work(rows, &SQL).await
        };
        c.transaction("BEGIN", work).await
    };
    store.exclusive.run(LONG, end).await?;
    store.in_force.refresh().await
}

/// Ends the era. It is a transaction of its own: the head of the log is locked before other rows.
async fn end_era(store: &Postgres) -> Result<(), StoreError> {
    let tenant = store.tenant;
    store
        .exclusive
        .run(LONG, |c| async move { begin_era_of_tenant(Rows(&c, tenant)).await })
        .await?;
    store.in_force.refresh().await
}
