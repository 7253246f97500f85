//! The query of a list of deleted users.

use std::sync::Arc;

use roster_core::{
    list::{DeletedKey, DeletedQuery, Direction, SortKey},
    words::Search,
};

use super::record::Shown;
use crate::{
    cursor::{List, ListCursors},
    extract::{Fields, invalid, refused, unknown},
    problem::{Fault, Problem},
    request::Call,
    rest::list::{ListQuery, unparsed},
    state::AppState,
};

/// The parsed query of a list of deleted users.
pub(in crate::rest) struct DeletedListQuery<'a> {
    pub(in crate::rest) page: DeletedQuery,
    pub(in crate::rest) shown: Shown,
    pub(in crate::rest) query: ListQuery<'a>,
    pub(in crate::rest) cursors: ListCursors<'a>,
}

impl<'a> DeletedListQuery<'a> {
    /// Reads a query, and opens its cursor.
    pub(in crate::rest) fn read(app: &'a AppState, call: &'a Call) -> Result<Self, Problem> {
        let (mut direction, mut fields) = (Direction::Descending, Fields::of_deleted_users());
        let (mut filter, mut search) = (None, None);
        let mut query = ListQuery::read(call.parts.uri.query(), |parameter| {
            match (parameter.name.as_ref(), parameter.value().as_ref()) {
                ("fields", names) => fields.add(names)?,
                ("filter", text) => filter = Some(text.to_owned()),
                ("q", text) => search = Search::parse(text),
                ("sort", "deleted_at") => direction = Direction::Ascending,
                ("sort", "-deleted_at") => direction = Direction::Descending,
                ("sort", _) => return Err(invalid("give deleted_at or -deleted_at")),
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        if query.count && (filter.is_some() || search.is_some()) {
            let detail =
                "the total is that of all deleted users; leave count, or filter and q, out";
            let fault = Fault::of_parameter("count", "conflicting-parameter", detail);
            return Err(refused(fault.into()));
        }
        let schema = app.directory.schema();
        let filter = filter.map(|text| schema.filter(&text));
        let filter = filter.transpose().map_err(unparsed)?;
        let filter = filter.map(Arc::new);
        let sort = match direction {
            Direction::Ascending => "deleted_at",
            Direction::Descending => "-deleted_at",
        };
        let cursors = app.cursors_of(List::DeletedUsers, call.authority().actor());
        let words = query.search(search);
        let cursors = cursors.with("sort", Some(sort)).with("filter", &filter).with("q", &words);
        let after = query.after(&cursors, |after| match after.key {
            SortKey::Time(at) => Some(DeletedKey { at, id: after.id }),
            SortKey::Id | SortKey::Text(_) => None,
        })?;
        let first = DeletedQuery::first(query.limit);
        let page = DeletedQuery { after, direction, filter, words, ..first };
        let shown = Shown::new(&fields, app.settings.deleted_keep);
        Ok(Self { page, shown, query, cursors })
    }
}
