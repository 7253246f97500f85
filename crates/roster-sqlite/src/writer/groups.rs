//! Group commands inside a transaction: what one comes to, and the rows of groups and members.
//!
//! Judging writes nothing, so that a dry run comes to exactly what the write would come to.

use std::collections::{BTreeMap, BTreeSet};

use roster_core::{
    Caller, Effect, EventKind, GroupCommand, GroupId, MemberKind, Rules, Stored, Timestamp, UserId,
    group::{Facts, GroupChange, GroupDecision, Levels, Nesting, Newcomer, Sketch, left, sketch},
    limits::GROUP_NESTING_MAX,
};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::{judge::Halt, rows::text};
use crate::{
    columns::id_of,
    groups::{direct, get, group_of, kind_number},
};

pub(crate) const NAME_HOLDER: &str = "SELECT id FROM groups WHERE name_key = ?1 AND id <> ?2";

pub(crate) const COUNT_MEMBERS: &str = "SELECT members FROM groups WHERE id = ?1";

pub(crate) const IS_MEMBER: &str =
    "SELECT 1 FROM group_members WHERE group_id = ?1 AND member_id = ?2";

pub(crate) const ALL_MEMBERS: &str = "SELECT member_id FROM group_members WHERE group_id = ?1";

pub(crate) const IS_USER: &str = "SELECT 1 FROM users WHERE id = ?1";

pub(crate) const IS_GROUP: &str = "SELECT 1 FROM groups WHERE id = ?1";

/// In how many groups somebody is; as many as may be are enough to know.
pub(crate) const COUNT_GROUPS: &str = "SELECT count(*) FROM (SELECT 1 FROM group_members \
     INDEXED BY group_members_member WHERE member_id = ?1 LIMIT 1000)";

pub(crate) const ABOVE: &str = "SELECT group_id FROM group_members \
     INDEXED BY group_members_member WHERE member_id = ?1";

pub(crate) const BELOW: &str = "SELECT member_id FROM group_members \
     INDEXED BY group_members_nested WHERE group_id = ?1 AND kind = 1";

pub(crate) const CREATE: &str = "INSERT INTO groups \
     (id, version, members, name_key, external_id, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

pub(crate) const REPLACE: &str = "UPDATE groups SET version = ?2, members = members + ?3, \
     name_key = ?4, external_id = ?5, record = ?6 WHERE id = ?1";

/// Leaves the indexes alone: what they hold is as it was.
pub(crate) const BUMP: &str =
    "UPDATE groups SET version = ?2, members = members + ?3, record = ?4 WHERE id = ?1";

pub(crate) const DELETE: &str = "DELETE FROM groups WHERE id = ?1";

pub(crate) const JOIN: &str =
    "INSERT INTO group_members (group_id, member_id, kind) VALUES (?1, ?2, ?3)";

pub(crate) const LEAVE: &str = "DELETE FROM group_members WHERE group_id = ?1 AND member_id = ?2";

pub(crate) const EMPTY: &str = "DELETE FROM group_members WHERE group_id = ?1";

pub(crate) const COUNT: &str = "UPDATE groups_head SET total = total + ?1 WHERE id = 1";

/// What a group command comes to.
pub(super) enum GroupJudgement {
    /// Nothing is written.
    Stands(Stored),
    Create(Box<GroupChange>),
    Replace(Box<GroupChange>),
    /// The groups that it was in come first.
    Remove(Box<GroupChange>, Vec<GroupChange>),
}

impl GroupJudgement {
    /// The effect, and the group after it.
    pub(super) fn foretold(self) -> (Effect, Stored) {
        match self {
            Self::Stands(stored) => (Effect::Unchanged, stored),
            Self::Create(change) | Self::Replace(change) | Self::Remove(change, _) => {
                let GroupChange { group, record, event, .. } = *change;
                let stored = Stored { id: group.id, version: group.version, record };
                (Effect::Changed(event.kind), stored)
            }
        }
    }
}

/// Judges a command.
pub(super) fn judge(
    connection: &Connection,
    rules: Rules,
    command: &GroupCommand,
) -> std::result::Result<GroupJudgement, Halt> {
    let id = command.group_id();
    let current = if command.is_about_one_that_is_there() { get(connection, id)? } else { None };
    let group = current.as_ref().map(group_of).transpose()?;
    let sketch = sketch(rules, group.as_ref(), command)?;
    let facts = facts(connection, &sketch)?;
    Ok(match (sketch.settle(&facts)?, current) {
        (GroupDecision::Unchanged, Some(stored)) => GroupJudgement::Stands(stored),
        (GroupDecision::Unchanged, None) => {
            let what = "nothing stayed unchanged".into();
            return Err(roster_core::StoreError::Internal(what).into());
        }
        (GroupDecision::Create(change), _) => GroupJudgement::Create(change),
        (GroupDecision::Replace(change), _) => GroupJudgement::Replace(change),
        (GroupDecision::Remove(change), _) => {
            let others = leaving(connection, id, command.at, &command.caller)?;
            GroupJudgement::Remove(change, others)
        }
    })
}

/// What becomes of the groups whose member is gone.
pub(super) fn leaving(
    connection: &Connection,
    member: UserId,
    at: Timestamp,
    caller: &Caller,
) -> std::result::Result<Vec<GroupChange>, Halt> {
    let groups = direct(connection, member)?;
    Ok(groups.iter().map(|group| left(group, member, at, caller)).collect())
}

/// Writes the rows of a change; the events are not known here. Gives how many members joined or
/// left.
pub(super) fn write(connection: &Connection, change: &GroupChange) -> Result<usize> {
    let GroupChange { group, record, added, removed, event } = change;
    let id = group.id.as_bytes();
    let joined = i64::try_from(added.len()).unwrap_or(i64::MAX);
    let more = joined - i64::try_from(removed.len()).unwrap_or(i64::MAX);
    let record = text(record)?;
    let mut members = added.len() + removed.len();
    match event.kind {
        EventKind::GroupCreated => {
            let key = group.name_key();
            let mut create = connection.prepare_cached(CREATE)?;
            create.execute(params![id, group.version, more, key, group.external_id, record])?;
            connection.prepare_cached(COUNT)?.execute([1])?;
        }
        EventKind::GroupDeleted => {
            members += connection.prepare_cached(EMPTY)?.execute([id])?;
            connection.prepare_cached(DELETE)?.execute([id])?;
            connection.prepare_cached(COUNT)?.execute([-1])?;
        }
        EventKind::GroupUpdated if event.changed.is_empty() => {
            let mut bump = connection.prepare_cached(BUMP)?;
            bump.execute(params![id, group.version, more, record])?;
        }
        EventKind::GroupUpdated
        | EventKind::Created
        | EventKind::Updated
        | EventKind::Deleted
        | EventKind::Restored
        | EventKind::Purged => {
            let key = group.name_key();
            let mut replace = connection.prepare_cached(REPLACE)?;
            replace.execute(params![id, group.version, more, key, group.external_id, record])?;
        }
    }
    let mut leave = connection.prepare_cached(LEAVE)?;
    for member in removed {
        leave.execute([id, member.as_bytes()])?;
    }
    let mut join = connection.prepare_cached(JOIN)?;
    for member in added {
        join.execute(params![id, member.id.as_bytes(), kind_number(member.kind)])?;
    }
    Ok(members)
}

fn facts(connection: &Connection, sketch: &Sketch) -> std::result::Result<Facts, Halt> {
    let id = sketch.id();
    let mut facts = Facts::default();
    if let Some(key) = sketch.name_claim() {
        let mut statement = connection.prepare_cached(NAME_HOLDER)?;
        let mut rows = statement.query(params![key, id.as_bytes()])?;
        if let Some(row) = rows.next()? {
            facts.name_holder = Some(id_of(row.get_ref(0)?, "groups.id")?);
        }
    }
    if !sketch.is_about_members() {
        return Ok(facts);
    }
    if !sketch.is_new() {
        let mut count = connection.prepare_cached(COUNT_MEMBERS)?;
        let members: i64 = count.query_row([id.as_bytes()], |row| row.get(0))?;
        facts.members = members.unsigned_abs();
        facts.present = present(connection, sketch)?;
    }
    for id in sketch.newcomers(&facts.present) {
        if let Some(newcomer) = newcomer(connection, id)? {
            facts.newcomers.insert(id, newcomer);
        }
    }
    let groups = groups_among(&facts.newcomers);
    if !groups.is_empty() {
        let above = walk(connection, ABOVE, BTreeSet::from([id]))?;
        let below = walk(connection, BELOW, groups)?;
        facts.nesting = Nesting { above, below };
    }
    Ok(facts)
}

fn groups_among(newcomers: &BTreeMap<UserId, Newcomer>) -> BTreeSet<GroupId> {
    let groups = newcomers.iter().filter(|(_, of)| of.kind == MemberKind::Group);
    groups.map(|(id, _)| *id).collect()
}

/// Who of those that the sketch speaks of belongs to the group.
fn present(
    connection: &Connection,
    sketch: &Sketch,
) -> std::result::Result<BTreeSet<UserId>, Halt> {
    let group = sketch.id();
    let Some(named) = sketch.named() else {
        let mut present = BTreeSet::new();
        collect(connection, ALL_MEMBERS, group, usize::MAX, &mut present)?;
        return Ok(present);
    };
    let mut statement = connection.prepare_cached(IS_MEMBER)?;
    let mut present = BTreeSet::new();
    for id in named {
        if statement.exists([group.as_bytes(), id.as_bytes()])? {
            present.insert(id);
        }
    }
    Ok(present)
}

fn newcomer(connection: &Connection, id: UserId) -> std::result::Result<Option<Newcomer>, Halt> {
    let is = |sql| connection.prepare_cached(sql)?.exists([id.as_bytes()]);
    let kind = if is(IS_USER)? {
        MemberKind::User
    } else if is(IS_GROUP)? {
        MemberKind::Group
    } else {
        return Ok(None);
    };
    let mut count = connection.prepare_cached(COUNT_GROUPS)?;
    let groups: Option<i64> = count.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
    Ok(Some(Newcomer { kind, groups: groups.unwrap_or_default().unsigned_abs() }))
}

fn walk(
    connection: &Connection,
    sql: &str,
    start: BTreeSet<GroupId>,
) -> std::result::Result<Levels, Halt> {
    let mut levels = Levels::from(start);
    while let Some(front) = levels.front() {
        let mut next = BTreeSet::new();
        for id in front {
            collect(connection, sql, *id, GROUP_NESTING_MAX, &mut next)?;
        }
        if !levels.step(next) {
            break;
        }
    }
    Ok(levels)
}

/// The ids that a statement gives for one, until there are more than so many.
fn collect(
    connection: &Connection,
    sql: &str,
    of: UserId,
    most: usize,
    ids: &mut BTreeSet<UserId>,
) -> std::result::Result<(), Halt> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([of.as_bytes()])?;
    while ids.len() <= most
        && let Some(row) = rows.next()?
    {
        ids.insert(id_of(row.get_ref(0)?, "group_members")?);
    }
    Ok(())
}
