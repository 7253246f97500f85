//! `/bulk/groups`: exports and imports of groups with their members.

use axum::{extract::State, response::Response};
use roster_core::{
    Directory, Member, OnConflict, StoreError, Stored, UserId,
    access::{Permit, ReadUsers},
    group::{GroupPage, GroupQuery, MembersPage, MembersQuery},
    json::write_text,
    limits::PAGE_SIZE_MAX,
    list::{PageKey, SortKey},
    project::Members,
};

use super::{
    bulk_query::LineKind,
    export::{self, ExportPage, ExportPart, ExportSource},
    group_line::{CONTINUED, MEMBERS},
    write_lines::write_lines,
};
use crate::{
    extract::{NDJSON, negotiate},
    problem::Problem,
    request::{Call, UnreadCall},
    rest::{groups::GroupListQuery, respond::write_record},
    state::AppState,
};

/// The number of members on one line. A group that has more continues on further lines, each of
/// which an import accepts.
const MEMBERS_OF_LINE: usize = 1_500;
/// A page has no further group once it has so many members.
const MEMBERS_AT_ONCE: usize = 20_000;

/// `GET /bulk/groups`: returns every group that matches, one on each line, in the order of ids.
pub(crate) async fn export(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    negotiate(&call.parts.headers, &[NDJSON])?;
    let GroupListQuery { page, fields, query, .. } = GroupListQuery::read(&app, &call)?;
    query.refuse_in_exports(true)?;
    // A limit above the maximum of a page means for the engine that the read has low priority.
    let page = GroupQuery { limit: 2 * PAGE_SIZE_MAX, count: false, ..page };
    let members = fields.members();
    let groups = Groups { page, shows_members: members.is_none(), members, rest: None };
    export::export(&app, &call, &query, groups).await
}

/// `POST /bulk/groups`: creates a group for each line, or changes the one that has its name.
pub(crate) async fn import(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, Problem> {
    write_lines(&app, call, LineKind::Group(OnConflict::Fail)).await
}

/// The groups that an export reads.
struct Groups {
    page: GroupQuery,
    members: Option<Members>,
    shows_members: bool,
    rest: Option<Rest>,
}

/// The group whose further members come next.
#[derive(Clone)]
struct Rest {
    group: Stored,
    after: UserId,
}

/// The position after a line.
struct LineKey {
    /// The last group of which a line was read; `None` at the start.
    after: Option<PageKey>,
    rest: Option<Rest>,
}

/// A line: a group and its first members, or further members of the group before.
struct GroupLine {
    group: Stored,
    /// `None` if members are not shown.
    members: Option<Vec<Member>>,
    is_continued: bool,
}

impl Groups {
    /// A page of the members of a group; `None` if it does not exist any more.
    async fn members_of(
        directory: &Directory,
        may: Permit<ReadUsers>,
        group: UserId,
        after: Option<UserId>,
    ) -> Result<Option<MembersPage>, StoreError> {
        let query = MembersQuery { group, after, limit: MEMBERS_OF_LINE };
        directory.list_members(may, query).await
    }
}

impl ExportSource for Groups {
    type Right = ReadUsers;
    type Item = GroupLine;
    type Key = LineKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadUsers>,
        part: ExportPart,
    ) -> Result<ExportPage<GroupLine, LineKey>, StoreError> {
        let mut items = Vec::new();
        if part == ExportPart::Total {
            let counting = GroupQuery { limit: 0, count: true, ..self.page.clone() };
            let GroupPage { position, total, .. } = directory.list_groups(may, counting).await?;
            return Ok(ExportPage { items, next: None, position, total });
        }
        let page_of = |items, next, position| ExportPage { items, next, position, total: None };
        if let Some(Rest { group, after }) = &self.rest
            && let Some(page) = Self::members_of(directory, may, group.id, Some(*after)).await?
        {
            let (group, position) = (group.clone(), page.position);
            let rest = page.next.map(|after| Rest { group: group.clone(), after });
            items.push(GroupLine { group, members: Some(page.items), is_continued: true });
            let next = Some(LineKey { after: self.page.after.clone(), rest });
            return Ok(page_of(items, next, position));
        }
        let page = directory.list_groups(may, self.page.clone()).await?;
        let GroupPage { items: groups, next, position, .. } = page;
        let mut members_read = 0;
        for group in groups {
            if !self.shows_members {
                items.push(GroupLine { group, members: None, is_continued: false });
                continue;
            }
            let Some(page) = Self::members_of(directory, may, group.id, None).await? else {
                continue;
            };
            let after = Some(PageKey { key: SortKey::Id, id: group.id });
            let rest = page.next.map(|after| Rest { group: group.clone(), after });
            members_read += page.items.len();
            items.push(GroupLine { group, members: Some(page.items), is_continued: false });
            if rest.is_some() || members_read >= MEMBERS_AT_ONCE {
                return Ok(page_of(items, Some(LineKey { after, rest }), position));
            }
        }
        let next = next.map(|after| LineKey { after: Some(after), rest: None });
        Ok(page_of(items, next, position))
    }

    fn begins(&self, item: &GroupLine) -> bool {
        !item.is_continued
    }

    fn continues(&self, key: &LineKey) -> bool {
        key.rest.is_some()
    }

    fn continue_after(&mut self, LineKey { after, rest }: LineKey) {
        (self.page.after, self.rest) = (after, rest);
    }

    fn write(&self, item: &GroupLine, out: &mut Vec<u8>) -> Option<()> {
        let GroupLine { group, members, is_continued } = item;
        if *is_continued {
            let name = roster_core::Group::from_record(&group.record).ok()?.display_name;
            out.extend_from_slice(
                format!("{{\"id\":\"{}\",\"display_name\":", group.id).as_bytes(),
            );
            write_text(out, &name);
            out.extend_from_slice(format!(",\"{CONTINUED}\":true}}").as_bytes());
        } else {
            write_record(group, self.members.as_ref(), out)?;
        }
        let Some(members) = members else { return Some(()) };
        // The members come before the end of the object.
        out.pop();
        out.extend_from_slice(format!(",\"{MEMBERS}\":[").as_bytes());
        for (index, member) in members.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            out.extend_from_slice(format!("{separator}\"{}\"", member.id).as_bytes());
        }
        out.extend_from_slice(b"]}");
        Some(())
    }
}
