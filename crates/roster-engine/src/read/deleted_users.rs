//! Reading deleted users, in the order of their deletion.

use roster_core::{
    Deleted, Head, StoreError, Stored, TenantId, Timestamp, UserId,
    filter::Memberships,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
    page::{Flow, Residual},
};

use crate::{
    database::{Database, Dialect, Values, corrupt_record, first},
    read::{
        examined::{Examined, PORTION},
        page_sql::Parameters,
    },
};

/// The deleted user of an id.
pub const DELETED_USER: &str =
    "SELECT id, version, record, deleted_at FROM deleted_users WHERE tenant = $1 AND id = $2";

/// The deleted user of an id.
pub async fn deleted_user<D: Database>(db: D, id: UserId) -> Result<Option<Deleted>, D::Error> {
    let row = first(db, DELETED_USER, &[db.tenant().into(), id.into()]).await?;
    Ok(row.as_ref().map(deleted_of).transpose()?)
}

/// The statement of a page of deleted users in the order of their deletion.
pub fn deleted_users<D: Dialect>(
    tenant: TenantId,
    direction: Direction,
    (after, before): (Option<DeletedKey>, Option<Timestamp>),
    limit: usize,
    to: &mut Parameters,
) -> String {
    let (comparison, way) = match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let of_tenant = format!("tenant = {}", to.push(tenant));
    let after = after.map(|DeletedKey { at, id }| {
        format!("(deleted_at, id) {comparison} ({}, {})", to.push(at.as_millis()), to.push(id))
    });
    let before = before.map(|before| format!("deleted_at < {}", to.push(before.as_millis())));
    let conditions: Vec<_> = [of_tenant].into_iter().chain(after).chain(before).collect();
    let by_moment = D::indexed_by("deleted_users_deleted_at");
    format!(
        "SELECT id, version, record, deleted_at FROM deleted_users{by_moment} WHERE {} \
         ORDER BY deleted_at{way}, id{way} LIMIT {}",
        conditions.join(" AND "),
        to.limit(limit)
    )
}

/// Reads a page of deleted users. Rows that are tested are read in portions.
pub async fn deleted_page<D: Database>(
    db: D,
    head: Head,
    query: &DeletedQuery,
) -> Result<DeletedPage, D::Error> {
    let mut walk = Walk::new(query, head);
    if query.limit == 0 {
        return Ok(walk.page);
    }
    let portion = if query.has_tests() { PORTION } else { query.limit.saturating_add(1) };
    let mut begin = query.clone();
    loop {
        let mut to = Parameters::default();
        let sql =
            deleted_users::<D>(db.tenant(), query.direction, begin.bounds(), portion, &mut to);
        let (mut flow, mut count) = (Flow::Next, 0);
        let take = |row: Values| {
            count += 1;
            flow = walk.take(deleted_of(&row)?)?;
            Ok(flow)
        };
        db.each(&sql, &to.0, take).await?;
        if flow == Flow::Stop || count < portion {
            return Ok(walk.page);
        }
        begin.after = walk.examined.last;
    }
}

/// A page under construction.
struct Walk<'q> {
    query: &'q DeletedQuery,
    page: DeletedPage,
    residual: Residual<'q>,
    examined: Examined<DeletedKey>,
    bytes: usize,
}

impl<'q> Walk<'q> {
    fn new(query: &'q DeletedQuery, head: Head) -> Self {
        let (position, total) = (head.position, head.deleted.unsigned_abs());
        let page = DeletedPage { items: Vec::new(), next: None, position, total, examined: None };
        let residual = Residual::new(query.filter.as_deref().cloned(), &query.words);
        let examined = Examined::new(query.examined_max, query.comparisons_max);
        Self { query, page, residual, examined, bytes: 0 }
    }

    fn take(&mut self, found: Deleted) -> Result<Flow, StoreError> {
        let Self { query, page, residual, examined, .. } = self;
        let is_full = page.items.len() >= query.limit || self.bytes >= query.bytes_max;
        if !residual.is_empty() {
            if !examined.may_go_on() {
                page.examined = (!is_full).then_some(examined.count);
                page.next = examined.last;
                return Ok(Flow::Stop);
            }
            examined.note(key_of(&found));
            let Stored { id, record, .. } = &found.stored;
            let matched = residual.matches(record, &Memberships::default(), &examined.work);
            if !matched.map_err(|fault| corrupt_record("deleted_users", *id, &fault.member))? {
                return Ok(Flow::Next);
            }
        }
        if is_full {
            page.next = page.items.last().map(key_of);
            return Ok(Flow::Stop);
        }
        self.bytes += found.stored.record.len();
        page.items.push(found);
        Ok(Flow::Next)
    }
}

const fn key_of(deleted: &Deleted) -> DeletedKey {
    DeletedKey { at: deleted.at, id: deleted.stored.id }
}

fn deleted_of(row: &Values) -> Result<Deleted, StoreError> {
    let at = row.moment(3, "deleted_users.deleted_at")?;
    Ok(Deleted { stored: row.stored("deleted_users")?, at })
}
