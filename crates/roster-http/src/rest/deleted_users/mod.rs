//! Users that have left the collection and are kept for a while: they may come back, or be
//! forgotten for good.

mod get;
mod list;
mod list_query;
mod purge;
mod record;
mod restore;

pub(super) use get::get;
pub(super) use list::list;
pub(super) use purge::purge;
pub(super) use restore::restore;
