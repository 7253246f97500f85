//! Checks groups and memberships: every row against its record, both ends of every membership, and
//! the counters.

use roster_core::Group;

use super::{
    CheckReader, Line, each,
    findings::place,
    number,
    rows::{Item, text},
};
use crate::{
    database::{Values, first},
    read::stored_groups::GROUPS_TOTAL,
};

pub(super) const GROUPS: &str = "SELECT id, version, record, name_key, external_id, members, \
     (SELECT count(*) FROM group_members WHERE tenant = groups.tenant AND group_id = groups.id) \
     FROM groups WHERE tenant = $1 AND id > $2 ORDER BY id";

/// Memberships whose group or member does not exist, or whose member has another kind.
const LOOSE: &str = "SELECT m.group_id, m.member_id FROM group_members AS m \
     WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE id = m.tenant AND status >= 2) AND ( \
     NOT EXISTS (SELECT 1 FROM groups WHERE tenant = m.tenant AND id = m.group_id) \
     OR NOT CASE m.kind \
     WHEN 0 THEN EXISTS (SELECT 1 FROM users WHERE tenant = m.tenant AND id = m.member_id) \
     WHEN 1 THEN EXISTS (SELECT 1 FROM groups WHERE tenant = m.tenant AND id = m.member_id) \
     ELSE false END)";

/// Compares a row with its record, and its stored number of members with the memberships.
pub(super) fn check_group(row: &Item, line: &mut Line) {
    let place = place("groups", row.id());
    let (kept, members) = (row.integer(5), row.integer(6));
    let what = format!("members is {kept}, but there are {members}");
    line.require(kept == members, &place, &what);
    let written = |group: &Group| (group.id, group.version, group.to_record());
    if let Some(group) = row.compare(line, &place, Group::from_record(row.record()), written) {
        let what = format!("member_count is {}, but there are {members}", group.member_count);
        line.require(i64::try_from(group.member_count) == Ok(members), &place, &what);
        let made = [
            ("name_key", text(Some(&group.name_key()))),
            ("external_id", text(group.external_id.as_ref())),
        ];
        row.compare_columns(line, &place, made);
    }
}

/// Compares the counter of a tenant with the number of its groups.
pub(super) async fn check_total<R: CheckReader>(
    reader: R,
    counted: u64,
    line: &mut Line,
) -> Result<(), R::Error> {
    let tenant = reader.tenant();
    let kept = first(reader, GROUPS_TOTAL, &[tenant.into()]).await?.unwrap_or_default().integer(0);
    let what = format!("is {kept}, but there are {counted}");
    let place = format!("tenants.groups of {}", tenant.number());
    line.require(u64::try_from(kept) == Ok(counted), &place, &what);
    Ok(())
}

pub(super) async fn check_members<R: CheckReader>(
    reader: R,
    line: &mut Line,
) -> Result<(), R::Error> {
    line.count = number(reader, "SELECT count(*) FROM group_members").await?.unsigned_abs();
    let show = |row: Values| {
        let what = format!("{} does not belong there", place("member", row.octets(1)));
        line.fault(&place("group_members", row.octets(0)), &what);
    };
    each(reader, LOOSE, &[], show).await
}
