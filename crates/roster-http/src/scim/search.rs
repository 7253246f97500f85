//! `POST /scim/v2/.search`: one page of all that there is, the users before the groups (RFC 7644
//! sections 3.4.2.1 and 3.4.3).
//!
//! A filter that speaks of what one kind does not have finds none of that kind; where neither has
//! it, it is refused. Pages go by index alone.

use axum::extract::State;
use roster_core::Json;
use roster_scim::{
    ListRequest, ScimError, ScimType,
    list::{COUNT_DEFAULT, Envelope},
    schema::{GROUP, USER},
};

use super::{
    Answered, Refused,
    answer::text,
    asked::{body, media},
    groups, users,
};
use crate::{
    extract::Media,
    patience::{ReadLimit, in_time},
    request::{Call, UnreadCall},
    state::AppState,
};

/// What one kind gives to a page.
#[derive(Default)]
pub(crate) struct Part {
    /// How many match in all.
    pub(super) total: u64,
    /// How many are here.
    pub(super) items: usize,
    /// Whether none of this kind follows.
    pub(super) ends: bool,
    /// They, with commas between them.
    pub(super) text: Vec<u8>,
}

pub(crate) async fn search(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let media = media(&call.parts)?;
    let (call, tree, _) = body(app, call, |tree| tree).await?;
    let limit = ReadLimit::of(app.settings.read_wait_max, &call.parts.headers);
    in_time(limit, page(app, &call, tree, media)).await?
}

async fn page(app: &AppState, call: &Call, tree: Json, media: Media) -> Answered {
    let (may, actor, profile) = (call.permit()?, call.authority().actor(), call.profile());
    let of_users = ListRequest::of_body(&USER, tree.clone(), profile)?;
    let mut of_groups = ListRequest::of_body(&GROUP, tree, profile)?;
    if of_users.cursor.is_some() {
        let detail = "a walk by cursor is one of /Users or of /Groups; here pages go by startIndex";
        return Err(ScimError::new(ScimType::InvalidCursor, detail).into());
    }
    let (start, count) = (of_users.start_index, of_users.count.unwrap_or(COUNT_DEFAULT));
    let first = Box::pin(users::part(app, may, actor, profile, &of_users)).await;
    let known = first.as_ref().map_or(0, |part| part.total);
    let here = first.as_ref().map_or(0, |part| part.items);
    let room = count.saturating_sub(here);
    // A page of users may end early by its bytes: those left out come first.
    let is_their_turn = first.as_ref().map_or(true, |part| part.ends);
    of_groups.start_index = start.saturating_sub(known).max(1);
    of_groups.count = Some(if is_their_turn { room } else { 0 });
    let second = Box::pin(groups::part(app, may, actor, profile, &of_groups)).await;
    let (first, second) = match (first, second) {
        (Err(refused), Err(_)) => return Err(refused),
        (first, second) => (unless_unknown(first)?, unless_unknown(second)?),
    };
    let envelope = Envelope {
        total: Some(first.total.saturating_add(second.total)),
        start_index: Some(start),
        items: first.items + second.items,
        next_cursor: None,
    };
    let mut out = Vec::with_capacity(first.text.len() + second.text.len() + 256);
    envelope.open(&mut out);
    out.extend_from_slice(&first.text);
    if first.items > 0 && second.items > 0 {
        out.push(b',');
    }
    out.extend_from_slice(&second.text);
    Envelope::close(&mut out);
    Ok(text(out, media))
}

/// Nothing, where a filter names what this kind does not have.
fn unless_unknown(part: Result<Part, Refused>) -> Result<Part, Refused> {
    match part {
        Err(Refused::Scim(error)) if error.scim_type == Some(ScimType::InvalidFilter) => {
            Ok(Part::default())
        }
        part => part,
    }
}
