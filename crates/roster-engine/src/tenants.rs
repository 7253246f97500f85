//! Tenants: their table, read and changed one at a time. [`decide_tenant`] has the rules.

use roster_core::{
    Head, Status, StoreError, Tenant, TenantId, TenantName, UserId,
    audit::{tenant_event, tenant_subject},
    limits::TENANTS_MAX,
    page::Flow,
    tenant::{
        TenantAct, TenantChange, TenantCounts, TenantDecision, TenantPage, TenantQuery,
        TenantRefusal, TenantSelection, decide_tenant,
    },
};

use crate::{
    api_keys::revoke_keys,
    audit::append,
    database::{Cell, Database, Dialect, Values, corrupt, first},
    read::page_sql::{Parameters, limit, status_number},
};

/// The columns of a tenant. The default one has no name, so no statement here finds it.
const COLUMNS: &str = "id, name, version, status, display_name, external_id, users_max, \
     created_at, updated_at, active + suspended, deleted, groups, deleted_at";

/// The tenant of a name.
pub fn tenant_of_name() -> String {
    format!("SELECT {COLUMNS} FROM tenants WHERE name = $1")
}

/// A page of tenants, in the order of their names.
pub fn tenants_along<D: Dialect>(query: &TenantQuery, to: &mut Parameters) -> String {
    let after = query.after.as_ref().map_or("", TenantName::as_str);
    let live = "deleted_at IS NULL";
    let (index, condition, order) = match &query.selection {
        TenantSelection::Live => ("tenants_live", live.to_owned(), "name"),
        TenantSelection::ExternalId(id) => {
            let of = format!("{live} AND external_id = {}", to.push(id.as_str()));
            ("tenants_external_id", of, "external_id, name")
        }
        TenantSelection::Deleted => {
            ("tenants_deleted", "deleted_at IS NOT NULL".to_owned(), "name")
        }
    };
    format!(
        "SELECT {COLUMNS} FROM tenants{} WHERE {condition} AND name > {} ORDER BY {order} LIMIT {}",
        D::indexed_by(index),
        to.push(after),
        to.push(limit(query.limit))
    )
}

/// The head of the log, with the sums of the counters of all tenants.
const TOTALS: &str = "SELECT position, CAST((SELECT sum(active) FROM tenants) AS bigint), \
     CAST((SELECT sum(suspended) FROM tenants) AS bigint), \
     CAST((SELECT sum(deleted) FROM tenants) AS bigint) FROM log_head WHERE number = 1";

/// Reads the head of the log, with the sums of the counters of all tenants.
pub async fn totals<D: Database>(db: D) -> Result<Head, D::Error> {
    Ok(first(db, TOTALS, &[]).await?.ok_or_else(|| corrupt("log_head"))?.head(0)?)
}

/// The number of changes of tenants so far.
pub const TENANTS_GENERATION: &str = "SELECT version FROM tenants WHERE id = 0";

/// Counts a change of a tenant.
pub const COUNT_TENANT_CHANGE: &str = "UPDATE tenants SET version = version + 1 WHERE id = 0";

/// Reads the number of changes of tenants so far.
pub async fn tenants_generation<D: Database>(db: D) -> Result<i64, D::Error> {
    let row = first(db, TENANTS_GENERATION, &[]).await?.ok_or_else(|| corrupt("tenants"))?;
    Ok(row.number(0, "tenants.version")?)
}

/// The number of the next tenant, and how many there are besides the default one. A number is never
/// used again.
pub const NEXT_TENANT: &str =
    "SELECT max(id) + 1, (SELECT count(*) FROM tenants WHERE name > '') FROM tenants";

/// How many more live users a tenant may have; NULL if there is no maximum.
pub const USERS_ROOM: &str = "SELECT users_max - active - suspended FROM tenants WHERE id = $1";

/// Creates a tenant.
pub const CREATE_TENANT: &str = "INSERT INTO tenants (id, name, version, status, display_name, \
     external_id, users_max, created_at, updated_at, active, suspended, deleted, groups) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, 0)";

/// Updates a tenant.
pub const UPDATE_TENANT: &str = "UPDATE tenants SET version = $1, status = $2, display_name = $3, \
     external_id = $4, users_max = $5, updated_at = $6, deleted_at = $7 WHERE id = $8";

/// Purges a tenant: from now on nobody can find it, and its counters do not count.
pub const PURGE_TENANT: &str = "UPDATE tenants SET name = NULL, status = 2, display_name = NULL, \
     external_id = NULL, users_max = NULL, active = 0, suspended = 0, deleted = 0, groups = 0 \
     WHERE id = $1";

/// The id in `erasures` that stands for everything in a tenant. No user has it: ids are UUIDs of
/// version 7.
pub(crate) const WHOLE_TENANT: UserId = UserId::from_bytes([0; 16]);

/// Begins the erasure of everything in a tenant, or of the events about one.
pub const BEGIN_ERASURE: &str = "INSERT INTO erasures (tenant, id, reached) VALUES ($1, $2, 0)";

/// Marks a tenant in which everything is erased.
pub const END_TENANT: &str = "UPDATE tenants SET status = 3 WHERE id = $1";

/// Reads the tenant of a name, with its counters.
pub async fn tenant<D: Database>(
    db: D,
    name: &TenantName,
) -> Result<Option<(Tenant, TenantCounts)>, D::Error> {
    let row = first(db, &tenant_of_name(), &[name.as_str().into()]).await?;
    Ok(row.map(|row| tenant_of(&row)).transpose()?)
}

/// Reads a tenant other than the default one.
pub(crate) async fn tenant_of_id<D: Database>(db: D) -> Result<Option<Tenant>, D::Error> {
    let sql = format!("SELECT {COLUMNS} FROM tenants WHERE id = $1");
    let row = first(db, &sql, &[db.tenant().into()]).await?;
    Ok(row.map(|row| tenant_of(&row)).transpose()?.map(|(tenant, _)| tenant))
}

/// Reads the name of a tenant, and whether it is deleted; `None` if it has no name.
pub async fn tenant_name<D: Database>(db: D) -> Result<Option<(TenantName, bool)>, D::Error> {
    const NAME: &str = "SELECT name, deleted_at FROM tenants WHERE id = $1";
    let row = first(db, NAME, &[db.tenant().into()]).await?;
    let name = |row: Values| {
        let name = TenantName::parse(row.text(0, "tenants.name").ok()?)?;
        Some((name, !matches!(row.0.get(1), Some(Cell::Null))))
    };
    Ok(row.and_then(name))
}

/// Reads a page of tenants.
pub async fn tenants<D: Database>(db: D, query: &TenantQuery) -> Result<TenantPage, D::Error> {
    let mut to = Parameters::default();
    let sql = tenants_along::<D>(query, &mut to);
    let (mut page, mut has_more) = (Vec::new(), false);
    let take = |row: Values| {
        if page.len() >= query.limit {
            has_more = true;
            return Ok(Flow::Stop);
        }
        page.push(tenant_of(&row)?);
        Ok(Flow::Next)
    };
    db.each(&sql, &to.0, take).await?;
    Ok(TenantPage { items: page, has_more })
}

/// Decides a change of a tenant and applies it with its event, in a transaction that has locked the
/// head of the log.
pub async fn change_tenant<D: Database>(
    db: D,
    change: &TenantChange,
) -> Result<Result<TenantDecision, TenantRefusal>, D::Error> {
    let stored = match change.act.name() {
        Some(name) => tenant(db, name).await?,
        None => None,
    };
    let is_new = stored.is_none();
    let mut decision = match decide_tenant(stored.as_ref().map(|(tenant, _)| tenant), change) {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if is_new {
        let next = first(db, NEXT_TENANT, &[]).await?.ok_or_else(|| corrupt("tenants"))?;
        decision.tenant.id = next.tenant(0, "tenants.id")?;
        if next.number(1, "tenants")? >= TENANTS_MAX {
            return Ok(Err(TenantRefusal::TooMany));
        }
    }
    if change.is_dry_run || !decision.changes {
        return Ok(Ok(decision));
    }
    db.execute(COUNT_TENANT_CHANGE, &[]).await?;
    append(db.of(TenantId::DEFAULT), &tenant_event(change, &decision.tenant)).await?;
    let Tenant { id, name, version, .. } = &decision.tenant;
    if let TenantAct::Purge(_) = &change.act {
        revoke_keys(db.of(*id), change.at).await?;
        db.execute(PURGE_TENANT, &[(*id).into()]).await?;
        db.execute(BEGIN_ERASURE, &[(*id).into(), WHOLE_TENANT.into()]).await?;
        let events = [TenantId::DEFAULT.into(), tenant_subject(*id).into()];
        db.execute(BEGIN_ERASURE, &events).await?;
        return Ok(Ok(decision));
    }
    let Tenant { status, display_name, external_id, users_max, .. } = &decision.tenant;
    let text = |text: &Option<String>| text.as_deref().map_or(Cell::Null, Cell::from);
    let status = Cell::from(status_number(*status));
    let (display_name, external_id) = (text(display_name), text(external_id));
    let users_max = users_max.map_or(Cell::Null, Cell::from);
    let (id, version) = (Cell::from(*id), Cell::from(*version));
    let updated_at = Cell::from(decision.tenant.updated_at.as_millis());
    if is_new {
        let created_at = decision.tenant.created_at.as_millis().into();
        let (name, end) = (name.as_str().into(), [created_at, updated_at]);
        let row = [id, name, version, status, display_name, external_id, users_max];
        db.execute(CREATE_TENANT, &[row.as_slice(), &end].concat()).await?;
    } else {
        let deleted_at = decision.tenant.deleted_at;
        let deleted_at = deleted_at.map_or(Cell::Null, |at| at.as_millis().into());
        let row = [version, status, display_name, external_id, users_max, updated_at];
        let row = [row.as_slice(), &[deleted_at, id]].concat();
        db.execute(UPDATE_TENANT, &row).await?;
    }
    Ok(Ok(decision))
}

fn tenant_of(row: &Values) -> Result<(Tenant, TenantCounts), StoreError> {
    let place = "tenants";
    let is_null = |index| matches!(row.0.get(index), Some(Cell::Null));
    let optional = |index| -> Result<Option<String>, StoreError> {
        if is_null(index) { Ok(None) } else { Ok(Some(row.text(index, place)?.to_owned())) }
    };
    let status = match row.number(3, place)? {
        0 => Status::Active,
        1 => Status::Suspended,
        _ => return Err(corrupt("tenants.status")),
    };
    let name = TenantName::parse(row.text(1, place)?).ok_or_else(|| corrupt("tenants.name"))?;
    let tenant = Tenant {
        id: row.tenant(0, place)?,
        name,
        version: row.number(2, place)?,
        status,
        display_name: optional(4)?,
        external_id: optional(5)?,
        users_max: if is_null(6) { None } else { Some(row.number(6, place)?) },
        created_at: row.moment(7, place)?,
        updated_at: row.moment(8, place)?,
        deleted_at: if is_null(12) { None } else { Some(row.moment(12, place)?) },
    };
    let counts = TenantCounts {
        users: row.number(9, place)?,
        deleted_users: row.number(10, place)?,
        groups: row.number(11, place)?,
    };
    Ok((tenant, counts))
}
