//! `GET /users` as `application/x-ndjson`: every user of the collection, in the order of ids.

use axum::response::Response;
use roster_core::{
    Directory, StoreError, Stored,
    access::{Permit, ReadUsers},
    limits::PAGE_SIZE_MAX,
    list::{Page, PageKey, PageQuery},
    project::Members,
};

use super::super::list_query::{ListForm, UserListQuery};
use crate::{
    problem::Problem,
    request::Call,
    rest::{
        export::{self, ExportPage, ExportSource, read_again},
        respond::write_record,
    },
    state::AppState,
};

/// The number of users per read. A limit above the maximum of a page means for the engine that the
/// read has low priority.
const STREAMED_AT_ONCE: usize = 2 * PAGE_SIZE_MAX;

pub(crate) async fn export(app: &AppState, call: &Call) -> Result<Response, Problem> {
    let UserListQuery { mut page, fields, query, .. } =
        UserListQuery::read(app, call, ListForm::Lines, |_| Ok(false))?;
    page.limit = STREAMED_AT_ONCE;
    export::export(app, call, &query, Users { page, members: fields.members() }).await
}

/// Reads a page. After a transient error it reads again.
pub(super) async fn read_page(
    directory: &Directory,
    may: Permit<ReadUsers>,
    query: &PageQuery,
) -> Result<Page, StoreError> {
    read_again(|| directory.list(may, query.clone())).await
}

/// The users that an export reads.
struct Users {
    page: PageQuery,
    members: Option<Members>,
}

impl ExportSource for Users {
    type Right = ReadUsers;
    type Item = Stored;
    type Key = PageKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadUsers>,
    ) -> Result<ExportPage<Stored, PageKey>, StoreError> {
        let Page { items, next, position, .. } = directory.list(may, self.page.clone()).await?;
        Ok(ExportPage { items, next, position })
    }

    fn continue_after(&mut self, key: PageKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Stored, out: &mut Vec<u8>) -> Option<()> {
        write_record(item, self.members.as_ref(), out)
    }
}
