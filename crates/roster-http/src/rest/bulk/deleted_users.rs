//! `/bulk/deleted-users`: exports of deleted users.

use axum::{extract::State, response::Response};
use roster_core::{
    Directory, StoreError,
    access::{Permit, ReadDeletedUsers},
    limits::PAGE_SIZE_MAX,
    list::{DeletedKey, DeletedPage, DeletedQuery, Total},
    user::Deleted,
};

use super::export::{self, ExportPage, ExportSource};
use crate::{
    extract::{NDJSON, negotiate},
    problem::Problem,
    request::Call,
    rest::deleted_users::{DeletedListQuery, Shown},
    state::AppState,
};

/// `GET /bulk/deleted-users`: returns every deleted user that matches, one on each line, in the
/// order of their deletion.
pub(crate) async fn export(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    negotiate(&call.parts.headers, &[NDJSON])?;
    let DeletedListQuery { page, shown, query, .. } = DeletedListQuery::read(&app, &call)?;
    query.refuse_in_exports(false)?;
    export::export(&app, &call, &query, DeletedUsers::new(page, shown)).await
}

/// The deleted users that an export reads, in the order of their deletion.
struct DeletedUsers {
    page: DeletedQuery,
    shown: Shown,
}

impl DeletedUsers {
    fn new(page: DeletedQuery, shown: Shown) -> Self {
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

    async fn total(
        &self,
        directory: &Directory,
        may: Permit<ReadDeletedUsers>,
    ) -> Result<Option<Total>, StoreError> {
        let counting = DeletedQuery { limit: 0, ..self.page.clone() };
        Ok(Some(Total::Exactly(directory.list_deleted(may, counting).await?.total)))
    }

    fn continue_after(&mut self, key: DeletedKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Deleted, out: &mut Vec<u8>) -> Option<()> {
        self.shown.write(item, out)
    }
}
