//! The query of a list of deleted users, and the deleted users that an export reads.

use std::sync::Arc;

use roster_core::{
    Directory, StoreError,
    access::{Permit, ReadDeletedUsers},
    filter::Filter,
    limits::PAGE_SIZE_MAX,
    list::{DeletedKey, DeletedPage, DeletedQuery, Direction, SortKey},
    user::Deleted,
    words::Search,
};

use super::record::Shown;
use crate::{
    cursor::{List, ListCursors},
    extract::{Fields, invalid, refused, unknown},
    problem::{Fault, Problem},
    request::Call,
    rest::{
        export::{ExportPage, ExportSource},
        list::{ListQuery, unparsed},
    },
    state::AppState,
};

/// The parsed query of a list of deleted users.
pub(super) struct DeletedListQuery<'a> {
    pub(super) page: DeletedQuery,
    pub(super) shown: Shown,
    pub(super) query: ListQuery<'a>,
    pub(super) cursors: ListCursors<'a>,
}

impl<'a> DeletedListQuery<'a> {
    /// Reads a query, and opens its cursor.
    pub(super) fn read(app: &'a AppState, call: &'a Call) -> Result<Self, Problem> {
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
        let filter = filter.map(|text| Filter::parse(&text)).transpose().map_err(unparsed)?;
        let filter = filter.map(Arc::new);
        let sort = match direction {
            Direction::Ascending => "deleted_at",
            Direction::Descending => "-deleted_at",
        };
        let cursors = app.cursors.of(List::DeletedUsers, call.authority().actor());
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

/// The deleted users that an export reads, in the order of their deletion.
pub(super) struct DeletedUsers {
    page: DeletedQuery,
    shown: Shown,
}

impl DeletedUsers {
    pub(super) fn new(page: DeletedQuery, shown: Shown) -> Self {
        Self { page: DeletedQuery { limit: PAGE_SIZE_MAX, ..page }, shown }
    }
}

impl ExportSource for DeletedUsers {
    type Right = ReadDeletedUsers;
    type Item = Deleted;
    type Key = DeletedKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadDeletedUsers>,
    ) -> Result<ExportPage<Deleted, DeletedKey>, StoreError> {
        let page = directory.list_deleted(may, self.page.clone()).await?;
        let DeletedPage { items, next, position, .. } = page;
        Ok(ExportPage { items, next, position })
    }

    fn continue_after(&mut self, key: DeletedKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Deleted, out: &mut Vec<u8>) -> Option<()> {
        self.shown.write(item, out)
    }
}
