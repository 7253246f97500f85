//! `/bulk/deleted-users`: exports of deleted users.

use axum::{extract::State, response::Response};
use roster_core::{
    Directory, StoreError,
    access::{Permit, ReadDeletedUsers},
    limits::PAGE_SIZE_MAX,
    list::{DeletedKey, DeletedPage, DeletedQuery, Total},
    user::Deleted,
};

use super::export::{self, ExportPage, ExportPart, ExportSource};
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
        part: ExportPart,
    ) -> Result<ExportPage<Deleted, DeletedKey>, StoreError> {
        let limit = if part == ExportPart::Total { 0 } else { self.page.limit };
        let query = DeletedQuery { limit, ..self.page.clone() };
        let DeletedPage { items, next, position, total, .. } =
            directory.list_deleted(may, query).await?;
        Ok(ExportPage { items, next, position, total: Some(Total::Exactly(total)) })
    }

    fn continue_after(&mut self, key: DeletedKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Deleted, out: &mut Vec<u8>) -> Option<()> {
        self.shown.write(item, out)
    }
}
