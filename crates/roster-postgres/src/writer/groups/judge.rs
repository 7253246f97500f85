//! What a group command comes to: what has to be known is asked, statement by statement, and
//! nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use roster_core::{
    Effect, Failure, Group, GroupCommand, GroupId, MemberKind, Rules, StoreError, Stored, UserId,
    group::{Facts, GroupChange, GroupDecision, Levels, Nesting, Newcomer, Sketch, left, sketch},
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::{
    columns::{column, corrupt, id_column, uuid},
    connect::Connection,
    groups::{DIRECT, group_of, stored_at},
    pool::Miss,
};

pub(crate) const GET_WITH_COUNT: &str =
    "SELECT id, version, record, members FROM groups WHERE id = $1";

pub(crate) const NAME_HOLDER: &str = "SELECT id FROM groups WHERE name_key = $1";

/// The group is told as a range, so that no other index serves as well.
pub(crate) const AMONG_MEMBERS: &str = "SELECT member_id FROM group_members \
     WHERE member_id = ANY($2) AND group_id BETWEEN $1 AND $1";

pub(crate) const ALL_MEMBERS: &str = "SELECT member_id FROM group_members WHERE group_id = $1";

/// Who is what, and in how many groups; as many as may be are enough to know.
pub(crate) const NEWCOMERS: &str = "SELECT named.id, \
     CASE WHEN users.id IS NOT NULL THEN 0 WHEN groups.id IS NOT NULL THEN 1 END, \
     (SELECT count(*) FROM (SELECT FROM group_members AS m WHERE m.member_id = named.id \
     LIMIT 1000) AS few) FROM unnest($1::uuid[]) AS named (id) \
     LEFT JOIN users ON users.id = named.id LEFT JOIN groups ON groups.id = named.id";

/// One more than may be met is enough to know.
pub(crate) const ABOVE: &str =
    "SELECT DISTINCT group_id FROM group_members WHERE member_id = ANY($1) LIMIT 10001";

pub(crate) const BELOW: &str = "SELECT DISTINCT member_id FROM group_members \
     WHERE group_id = ANY($1) AND kind = 1 LIMIT 10001";

/// What a group command comes to.
pub(super) enum GroupJudgement {
    /// Nothing is written.
    Stands(Stored),
    /// The groups that it was in come first, where it is gone.
    Writes(Vec<GroupChange>, Box<GroupChange>),
}

impl GroupJudgement {
    /// The effect, and the group after it.
    pub(super) fn foretold(&self) -> (Effect, Stored) {
        match self {
            Self::Stands(stored) => (Effect::Unchanged, stored.clone()),
            Self::Writes(_, change) => {
                let GroupChange { group, record, event, .. } = &**change;
                let stored =
                    Stored { id: group.id, version: group.version, record: record.clone() };
                (Effect::Changed(event.kind), stored)
            }
        }
    }
}

/// Judges a command; to be asked in one transaction, under the lock or in one snapshot.
pub(super) async fn judge(
    connection: &Connection,
    rules: Rules,
    command: &GroupCommand,
) -> Result<Result<GroupJudgement, Failure>, Miss> {
    let id = command.group_id();
    let current =
        if command.is_about_one_that_is_there() { get(connection, id).await? } else { None };
    let group = current.as_ref().map(|(stored, _)| group_of(stored)).transpose()?;
    let sketch = match sketch(rules, group.as_ref(), command) {
        Ok(sketch) => sketch,
        Err(refusal) => return Ok(Err(refusal.into())),
    };
    let members = current.as_ref().map_or(0, |(_, members)| *members);
    let facts = facts(connection, &sketch, members).await?;
    let decision = match sketch.settle(&facts) {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal.into())),
    };
    Ok(Ok(match decision {
        GroupDecision::Unchanged => {
            let gone = || StoreError::Internal("nothing stayed unchanged".into());
            let (stored, _) = current.ok_or_else(gone)?;
            GroupJudgement::Stands(stored)
        }
        GroupDecision::Create(change) | GroupDecision::Replace(change) => {
            GroupJudgement::Writes(Vec::new(), change)
        }
        GroupDecision::Remove(change) => {
            let others = direct(connection, id).await?;
            let (at, caller) = (command.at, &command.caller);
            let others = others.iter().map(|group| left(group, id, at, caller)).collect();
            GroupJudgement::Writes(others, change)
        }
    }))
}

async fn get(connection: &Connection, id: GroupId) -> Result<Option<(Stored, u64)>, Miss> {
    let statement = connection.prepare(GET_WITH_COUNT).await?;
    let row = connection.client().query_opt(&statement, &[&uuid(id)]).await?;
    let Some(row) = row else { return Ok(None) };
    let members: i64 = column(&row, 3, "groups.members")?;
    Ok(Some((stored_at(&row, 0)?, members.unsigned_abs())))
}

/// The groups that it is a direct member of, in the order of ids.
async fn direct(connection: &Connection, member: UserId) -> Result<Vec<Group>, Miss> {
    let statement = connection.prepare(DIRECT).await?;
    let rows = connection.client().query(&statement, &[&vec![uuid(member)]]).await?;
    let groups: Result<Vec<Group>, StoreError> =
        rows.iter().map(|row| group_of(&stored_at(row, 1)?)).collect();
    let mut groups = groups?;
    groups.sort_unstable_by_key(|group| group.id);
    Ok(groups)
}

async fn facts(connection: &Connection, sketch: &Sketch, members: u64) -> Result<Facts, Miss> {
    let id = sketch.id();
    let mut facts = Facts { members, ..Facts::default() };
    if let Some(key) = sketch.name_claim() {
        let holder = ids(connection, NAME_HOLDER, &[&key.as_bytes()]).await?;
        facts.name_holder = holder.first().copied();
    }
    if !sketch.is_about_members() {
        return Ok(facts);
    }
    if !sketch.is_new() {
        facts.present = match sketch.named() {
            Some(named) => {
                let named = uuids(&named);
                ids(connection, AMONG_MEMBERS, &[&uuid(id), &named]).await?
            }
            None => ids(connection, ALL_MEMBERS, &[&uuid(id)]).await?,
        };
    }
    facts.newcomers = newcomers(connection, &sketch.newcomers(&facts.present)).await?;
    let groups = facts.newcomers.iter().filter(|(_, of)| of.kind == MemberKind::Group);
    let groups: BTreeSet<GroupId> = groups.map(|(id, _)| *id).collect();
    if !groups.is_empty() {
        let above = walk(connection, ABOVE, BTreeSet::from([id])).await?;
        facts.nesting = Nesting { above, below: walk(connection, BELOW, groups).await? };
    }
    Ok(facts)
}

async fn newcomers(
    connection: &Connection,
    named: &BTreeSet<UserId>,
) -> Result<BTreeMap<UserId, Newcomer>, Miss> {
    let mut newcomers = BTreeMap::new();
    if named.is_empty() {
        return Ok(newcomers);
    }
    let statement = connection.prepare(NEWCOMERS).await?;
    for row in connection.client().query(&statement, &[&uuids(named)]).await? {
        let kind: Option<i32> = column(&row, 1, "group_members.kind")?;
        let kind = match kind {
            Some(0) => MemberKind::User,
            Some(1) => MemberKind::Group,
            Some(_) => return Err(corrupt("group_members.kind").into()),
            None => continue,
        };
        let groups: i64 = column(&row, 2, "group_members")?;
        let newcomer = Newcomer { kind, groups: groups.unsigned_abs() };
        newcomers.insert(id_column(&row, 0, "group_members.member_id")?, newcomer);
    }
    Ok(newcomers)
}

async fn walk(
    connection: &Connection,
    sql: &str,
    start: BTreeSet<GroupId>,
) -> Result<Levels, Miss> {
    let mut levels = Levels::from(start);
    while let Some(front) = levels.front() {
        let front = uuids(front);
        if !levels.step(ids(connection, sql, &[&front]).await?) {
            break;
        }
    }
    Ok(levels)
}

fn uuids(ids: &BTreeSet<UserId>) -> Vec<Uuid> {
    ids.iter().copied().map(uuid).collect()
}

async fn ids(
    connection: &Connection,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<BTreeSet<UserId>, Miss> {
    let statement = connection.prepare(sql).await?;
    let rows = connection.client().query(&statement, parameters).await?;
    let ids: Result<BTreeSet<UserId>, StoreError> =
        rows.iter().map(|row| id_column(row, 0, "group_members")).collect();
    Ok(ids?)
}
