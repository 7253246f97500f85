//! `/bulk/users`: exports, imports, changes and deletions of many users.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::{HeaderValue, header::VARY};
use roster_core::{
    Directory, Draft, Failure, Refusal, StoreError, Stored,
    access::{Permit, ReadUsers},
    json,
    limits::PAGE_SIZE_MAX,
    list::{Page, PageKey, PageQuery},
    project::Members,
};

use super::{
    bulk_query::LineKind,
    csv::CsvUsers,
    export::{self, ExportPage, ExportPart, ExportSource},
    matching::{MatchingChange, change_matching},
    write_lines::write_lines,
};
use crate::{
    extract::{BodyKind, CSV, Media, NDJSON, lines_type, negotiate},
    problem::Problem,
    request::{Call, UnreadCall},
    rest::{
        respond::write_record,
        users::{ListForm, UserListQuery},
    },
    state::AppState,
};

/// The number of users per read. A limit above the maximum of a page means for the engine that the
/// read has low priority.
const STREAMED_AT_ONCE: usize = 2 * PAGE_SIZE_MAX;

/// `GET /bulk/users`: returns every user that matches, one on each line or in each row, in the
/// order of ids.
pub(crate) async fn export(State(app): State<AppState>, call: Call) -> Result<Response, Problem> {
    let media = negotiate(&call.parts.headers, &[NDJSON, CSV])?;
    let UserListQuery { mut page, fields, query, .. } =
        UserListQuery::read(&app, &call, ListForm::Lines, |_| Ok(false))?;
    // The total is read separately.
    (page.limit, page.count) = (STREAMED_AT_ONCE, false);
    let members = fields.members();
    let rows = (media == CSV).then(|| CsvUsers::new(members.as_ref(), &app.directory.schema()));
    let mut response = export::export(&app, &call, &query, Users { page, members, rows }).await?;
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// `POST /bulk/users`: creates a user for each line, or updates the one that exists.
pub(crate) async fn import(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, Problem> {
    write_lines(&app, call, LineKind::CREATE).await
}

/// `PATCH /bulk/users`: changes the users that the lines name or that match the query.
pub(crate) async fn patch(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, Problem> {
    if has_lines(&call) {
        return write_lines(&app, call, LineKind::Patch).await;
    }
    let bytes_max = app.settings.body_bytes_max;
    let body = call.read_and_authorize(&app, BodyKind::PatchOfMany, bytes_max, json::read);
    let (call, patch, facts) = body.await?;
    Draft::check_patch_of_many(&patch, facts.bytes)
        .map_err(|found| Failure::from(Refusal::Invalid(found)))?;
    change_matching(&app, &call, MatchingChange::Patch(Arc::new(patch))).await
}

/// `DELETE /bulk/users`: deletes the users that the lines name or that match the query.
pub(crate) async fn delete(
    State(app): State<AppState>,
    call: UnreadCall,
) -> Result<Response, Problem> {
    if has_lines(&call) {
        return write_lines(&app, call, LineKind::Delete).await;
    }
    change_matching(&app, &call.without_body(&app).await?, MatchingChange::Delete).await
}

/// Whether lines name the users, and not conditions in the query.
fn has_lines(call: &UnreadCall) -> bool {
    lines_type(&call.parts.headers).is_some()
}

/// The users that an export reads.
struct Users {
    page: PageQuery,
    members: Option<Members>,
    /// How they are written, if they are rows of CSV.
    rows: Option<CsvUsers>,
}

impl ExportSource for Users {
    type Right = ReadUsers;
    type Item = Stored;
    type Key = PageKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadUsers>,
        part: ExportPart,
    ) -> Result<ExportPage<Stored, PageKey>, StoreError> {
        let mut page = self.page.clone();
        if part == ExportPart::Total {
            (page.limit, page.count) = (0, true);
        }
        let Page { items, next, position, total, .. } = directory.list(may, page).await?;
        Ok(ExportPage { items, next, position, total })
    }

    fn continue_after(&mut self, key: PageKey) {
        self.page.after = Some(key);
    }

    fn form(&self) -> (Media, Vec<u8>) {
        self.rows.as_ref().map_or((NDJSON, Vec::new()), |rows| (CSV, rows.header()))
    }

    fn write(&self, item: &Stored, out: &mut Vec<u8>) -> Option<()> {
        match &self.rows {
            Some(rows) => {
                rows.write(&item.record, out)?;
                out.push(b'\r');
                Some(())
            }
            None => write_record(item, self.members.as_ref(), out),
        }
    }
}
