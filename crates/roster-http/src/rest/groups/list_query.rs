//! The queries of the lists of groups and of members.

use roster_core::{
    GroupId, UserId,
    group::{GroupQuery, MembersQuery, group_name_key},
    limits::{PAGE_SIZE_DEFAULT, TEXT_LENGTH_MAX},
    list::{PageKey, SortKey},
    text::nfc,
};

use crate::{
    cursor::ListCursors,
    extract::{self, Parameter, ParameterFault, boolean, invalid, limit, read_each, unknown},
    problem::{Problem, ProblemCode},
};

/// What the list of groups asks for.
pub(super) struct GroupListQuery<'a> {
    /// The page.
    pub(super) page: GroupQuery,
    given: Vec<Parameter<'a>>,
    cursors: ListCursors<'a>,
}

impl<'a> GroupListQuery<'a> {
    /// Reads a query; opens its cursor.
    pub(super) fn read(query: Option<&'a str>, cursors: ListCursors<'a>) -> Result<Self, Problem> {
        let mut page = GroupQuery::first(PAGE_SIZE_DEFAULT);
        let mut cursor = None;
        let given = read_each(query, |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "limit" => page.limit = limit(&value)?,
                "count" => page.count = boolean(&value)?,
                "display_name" => page.name_key = Some(group_name_key(&text(&value)?)),
                "external_id" => page.external_id = Some(text(&value)?),
                "member_id" => {
                    let id = UserId::parse(&value);
                    let id = id.ok_or_else(|| invalid("give the id of a user or of a group"))?;
                    page.member = Some(id);
                }
                "cursor" => cursor = Some(value.into_owned()),
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        let cursors = cursors
            .with("display_name", &page.name_key)
            .with("external_id", &page.external_id)
            .with("member_id", page.member);
        if let Some(cursor) = cursor {
            page.after = Some(open(&cursors, &cursor)?);
        }
        Ok(Self { page, given, cursors })
    }

    /// The cursor of the next page.
    pub(super) fn seal(&self, after: GroupId) -> Result<String, Problem> {
        self.cursors.seal(&PageKey { key: SortKey::Id, id: after })
    }

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        extract::target(path, &self.given, cursor)
    }
}

/// What the list of members asks for.
pub(super) struct MemberListQuery<'a> {
    /// The page.
    pub(super) page: MembersQuery,
    /// Whether the answer says how many members there are.
    pub(super) count: bool,
    given: Vec<Parameter<'a>>,
    cursors: ListCursors<'a>,
}

impl<'a> MemberListQuery<'a> {
    /// Reads a query about a group; opens its cursor.
    pub(super) fn read(
        group: GroupId,
        query: Option<&'a str>,
        cursors: ListCursors<'a>,
    ) -> Result<Self, Problem> {
        let mut page = MembersQuery { group, after: None, limit: PAGE_SIZE_DEFAULT };
        let (mut count, mut cursor) = (false, None);
        let given = read_each(query, |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "limit" => page.limit = limit(&value)?,
                "count" => count = boolean(&value)?,
                "cursor" => cursor = Some(value.into_owned()),
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        let cursors = cursors.with("group_id", Some(group));
        if let Some(cursor) = cursor {
            page.after = Some(open(&cursors, &cursor)?);
        }
        Ok(Self { page, count, given, cursors })
    }

    /// The cursor of the next page.
    pub(super) fn seal(&self, after: UserId) -> Result<String, Problem> {
        self.cursors.seal(&PageKey { key: SortKey::Id, id: after })
    }

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        extract::target(path, &self.given, cursor)
    }
}

/// The id that a cursor holds.
fn open(cursors: &ListCursors<'_>, cursor: &str) -> Result<UserId, Problem> {
    let after = cursors.open(cursor).filter(|after| after.key == SortKey::Id);
    after.map(|after| after.id).ok_or_else(|| Problem::new(ProblemCode::InvalidCursor))
}

/// A text that is compared.
fn text(value: &str) -> Result<String, ParameterFault> {
    if value.is_empty() || value.chars().nth(TEXT_LENGTH_MAX).is_some() {
        return Err(invalid(&format!("give 1 to {TEXT_LENGTH_MAX} characters")));
    }
    Ok(nfc(value.to_owned()))
}
