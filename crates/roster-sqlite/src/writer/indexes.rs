//! The steps of the indexes that the schema of users names.

use roster_core::{IndexStep, StoreError, TenantId};
use roster_engine::{INDEX_WORK_SETTING, IndexRows, IndexSql, end_index_work, index_step, setting};

use super::Writer;
use crate::{
    failure::ReadResult,
    policy::WRITE_SETTING,
    purge::mark,
    reads::rows::{Rows, run},
};

/// The steps of the indexes that the schema of users names.
pub(crate) const INDEX_SQL: IndexSql = IndexSql {
    lock: "SELECT value FROM settings WHERE tenant = $1 AND name = 'indexes'",
    users: "SELECT id, record FROM users INDEXED BY users_id WHERE tenant = $1 AND id > $2 \
         ORDER BY id LIMIT $3",
    drop: "DELETE FROM further_keys WHERE (tenant, kind, key, id) IN \
         (SELECT tenant, kind, key, id FROM further_keys WHERE tenant = $1 AND kind = $2 \
         ORDER BY kind, key, id LIMIT $3)",
    keep: WRITE_SETTING,
    // In the order of users each row is on another page of the index. Other writes wait for the
    // step, and for the checkpoints of its pages.
    rows_max: 8,
};

impl Writer {
    /// Executes the next step for the indexes of a tenant. After the last row of a dropped index,
    /// the files are swept: a user who was purged meanwhile may have been in it.
    pub(crate) fn index_step(&self, tenant: TenantId) -> Result<IndexStep, StoreError> {
        let (position, checkpoints) = (self.shared.position(), &self.shared.checkpoints);
        let is_free = checkpoints.last_purged().is_none_or(|purged| purged < position);
        let mut kept = self.index_rows.borrow_mut();
        let mut of_this_step = IndexRows::default();
        let written = self.write(|connection| -> ReadResult<_> {
            let rows = Rows(connection, tenant);
            // The memory is for one tenant, whose work need not begin again after steps of others.
            let is_taken = match kept.tenant().filter(|owner| *owner != tenant) {
                Some(owner) => run(setting(Rows(connection, owner), INDEX_WORK_SETTING))?.is_some(),
                None => false,
            };
            let kept = if is_taken { &mut of_this_step } else { &mut kept };
            let (step, schema) = run(index_step(rows, &INDEX_SQL, is_free, kept))?;
            if step == IndexStep::Dropped {
                mark::set(connection, position)?;
            }
            if step == IndexStep::Done {
                run(end_index_work(rows, &INDEX_SQL))?;
            }
            Ok((step, schema))
        });
        if written.is_err() {
            kept.clear();
        }
        let (step, schema) = written?;
        self.shared.replace_schema(tenant, schema);
        if step == IndexStep::Dropped {
            checkpoints.purged(position);
        }
        Ok(step)
    }
}
