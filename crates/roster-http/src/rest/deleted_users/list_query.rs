//! The query of the list of deleted users.

use roster_core::{
    limits::PAGE_SIZE_DEFAULT,
    list::{DeletedKey, DeletedQuery, Direction, PageKey, SortKey},
};

use crate::{
    cursor::ListCursors,
    extract::{self, Parameter, boolean, invalid, limit, read_each, unknown},
    problem::{Problem, ProblemCode},
};

/// What the list of deleted users asks for.
pub(super) struct DeletedListQuery<'a> {
    /// The page.
    pub(super) page: DeletedQuery,
    /// Whether the answer says how many deleted users are kept.
    pub(super) count: bool,
    given: Vec<Parameter<'a>>,
    cursors: ListCursors<'a>,
}

impl<'a> DeletedListQuery<'a> {
    /// Reads a query; opens its cursor.
    pub(super) fn read(query: Option<&'a str>, cursors: ListCursors<'a>) -> Result<Self, Problem> {
        let mut page = DeletedQuery::first(PAGE_SIZE_DEFAULT);
        let (mut count, mut cursor) = (false, None);
        let given = read_each(query, |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "limit" => page.limit = limit(&value)?,
                "sort" => {
                    page.direction = match value.as_ref() {
                        "deleted_at" => Direction::Ascending,
                        "-deleted_at" => Direction::Descending,
                        _ => return Err(invalid("give deleted_at or -deleted_at")),
                    }
                }
                "count" => count = boolean(&value)?,
                "cursor" => cursor = Some(value.into_owned()),
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        let sort = match page.direction {
            Direction::Ascending => "deleted_at",
            Direction::Descending => "-deleted_at",
        };
        let cursors = cursors.with("sort", Some(sort));
        if let Some(cursor) = cursor {
            let place = cursors.open(&cursor).and_then(|place| match place.key {
                SortKey::Time(at) => Some(DeletedKey { at, id: place.id }),
                SortKey::Id | SortKey::Text(_) => None,
            });
            page.after = Some(place.ok_or_else(|| Problem::new(ProblemCode::InvalidCursor))?);
        }
        Ok(Self { page, count, given, cursors })
    }

    /// The cursor of the next page.
    pub(super) fn seal(&self, after: DeletedKey) -> Result<String, Problem> {
        self.cursors.seal(&PageKey { key: SortKey::Time(after.at), id: after.id })
    }

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        extract::target(path, &self.given, cursor)
    }
}
