//! `/bulk/groups`: exports of groups.

use axum::{extract::State, response::Response};
use roster_core::{
    Directory, StoreError, Stored,
    access::{Permit, ReadUsers},
    group::{GroupPage, GroupQuery},
    limits::PAGE_SIZE_MAX,
    list::PageKey,
    project::Members,
};

use super::export::{self, ExportPage, ExportSource};
use crate::{
    extract::{Fields, NDJSON, negotiate},
    problem::Problem,
    request::Call,
    rest::{groups::GroupListQuery, respond::write_record},
    state::AppState,
};

/// `GET /bulk/groups`: returns every group that matches, one on each line, in the order of ids.
pub(crate) async fn export(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    negotiate(&call.parts.headers, &[NDJSON])?;
    let GroupListQuery { page, fields, query, .. } = GroupListQuery::read(&app, &call)?;
    query.refuse_in_exports(page.sort != GroupQuery::first(0).sort)?;
    export::export(&app, &call, &query, Groups::new(page, &fields)).await
}

/// The groups that an export reads.
struct Groups {
    page: GroupQuery,
    members: Option<Members>,
}

impl Groups {
    fn new(page: GroupQuery, fields: &Fields) -> Self {
        // A limit above the maximum of a page means for the engine that the read has low priority.
        Self { page: GroupQuery { limit: 2 * PAGE_SIZE_MAX, ..page }, members: fields.members() }
    }
}

impl ExportSource for Groups {
    type Right = ReadUsers;
    type Item = Stored;
    type Key = PageKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadUsers>,
    ) -> Result<ExportPage<Stored, PageKey>, StoreError> {
        let page = directory.list_groups(may, self.page.clone()).await?;
        let GroupPage { items, next, position, .. } = page;
        Ok(ExportPage { items, next, position })
    }

    fn continue_after(&mut self, key: PageKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Stored, out: &mut Vec<u8>) -> Option<()> {
        write_record(item, self.members.as_ref(), out)
    }
}
