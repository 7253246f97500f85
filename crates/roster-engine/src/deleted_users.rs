//! Reading deleted users, in the order of their deletion.

use roster_core::{
    Deleted, Head, StoreError, UserId,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction},
    page::Flow,
};

use crate::database::{Cell, Database, Dialect, Values, first};

/// The deleted user of an id.
pub const DELETED_USER: &str =
    "SELECT id, version, record, deleted_at FROM deleted_users WHERE id = $1";

/// The deleted user of an id.
pub async fn deleted_user<D: Database>(db: D, id: UserId) -> Result<Option<Deleted>, D::Error> {
    let row = first(db, DELETED_USER, &[id.into()]).await?;
    Ok(row.as_ref().map(deleted_of).transpose()?)
}

/// The statement of a page of deleted users in the order of their deletion.
pub fn deleted_users<D: Dialect>(direction: Direction, after: bool, before: bool) -> String {
    let (comparison, way) = match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    let after_key = format!("(deleted_at, id) {comparison} ($1, $2)");
    let (condition, limit) = match (after, before) {
        (false, false) => (String::new(), "$1"),
        (true, false) => (format!("WHERE {after_key} "), "$3"),
        (false, true) => ("WHERE deleted_at < $1 ".to_owned(), "$2"),
        (true, true) => (format!("WHERE {after_key} AND deleted_at < $3 "), "$4"),
    };
    let by_moment = D::indexed_by("deleted_users_deleted_at");
    format!(
        "SELECT id, version, record, deleted_at FROM deleted_users{by_moment} {condition}\
         ORDER BY deleted_at{way}, id{way} LIMIT {limit}"
    )
}

/// Reads a page of deleted users.
pub async fn deleted_page<D: Database>(
    db: D,
    head: Head,
    query: &DeletedQuery,
) -> Result<DeletedPage, D::Error> {
    let total = head.deleted.unsigned_abs();
    let mut page = DeletedPage { items: Vec::new(), next: None, position: head.position, total };
    if query.limit == 0 {
        return Ok(page);
    }
    let (after, before) = query.bounds();
    let mut parameters = Vec::new();
    if let Some(DeletedKey { at, id }) = after {
        parameters.extend([at.as_millis().into(), id.into()]);
    }
    parameters.extend(before.map(|before| Cell::from(before.as_millis())));
    parameters.push(i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1).into());
    let (mut last, mut bytes) = (None, 0);
    let take = |row: Values| {
        if page.items.len() >= query.limit || bytes >= query.bytes_max {
            page.next = last;
            return Ok(Flow::Stop);
        }
        let found = deleted_of(&row)?;
        bytes += found.stored.record.len();
        last = Some(DeletedKey { at: found.at, id: found.stored.id });
        page.items.push(found);
        Ok(Flow::Next)
    };
    let sql = deleted_users::<D>(query.direction, after.is_some(), before.is_some());
    db.each(&sql, &parameters, take).await?;
    Ok(page)
}

fn deleted_of(row: &Values) -> Result<Deleted, StoreError> {
    let at = row.moment(3, "deleted_users.deleted_at")?;
    Ok(Deleted { stored: row.stored("deleted_users")?, at })
}
