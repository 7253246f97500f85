//! SCIM cursors (RFC 9865): the place where a page ended, its size and when the cursor was issued.

use roster_core::list::PageKey;
use roster_scim::{ScimError, ScimType};

use crate::limits::scim::CURSOR_KEEP_MS;
use crate::{cursor::ListCursors, problem::Problem, state::AppState};

/// The cursor of the page after this key.
pub(super) fn seal(
    app: &AppState,
    cursors: &ListCursors<'_>,
    after: &PageKey,
    count: usize,
) -> Result<String, Problem> {
    cursors.seal_scim(after, count, app.directory.now())
}

/// The position where the page of a cursor begins, and the size of the page. `count` is the size
/// that the request wants.
pub(super) fn open(
    app: &AppState,
    cursors: &ListCursors<'_>,
    cursor: &str,
    count: Option<usize>,
) -> Result<(PageKey, usize), ScimError> {
    let Some((after, size, issued)) = cursors.open_scim(cursor) else {
        // An altered cursor and a cursor of another caller get the same error text (RFC 9865
        // section 5.2).
        let detail = "cursor: it does not belong to this list and caller";
        return Err(ScimError::new(ScimType::InvalidCursor, detail));
    };
    if app.directory.now().as_millis().saturating_sub(issued.as_millis()) > CURSOR_KEEP_MS {
        let detail = "cursor: it is older than a day; begin again";
        return Err(ScimError::new(ScimType::ExpiredCursor, detail));
    }
    if count.is_some_and(|count| count != size) {
        let detail = "count: a walk by cursor keeps the count that it began with";
        return Err(ScimError::new(ScimType::InvalidCount, detail));
    }
    Ok((after, size))
}
