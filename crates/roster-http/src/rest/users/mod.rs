//! The collection of users and the single user.

mod bulk;
mod create;
mod delete;
mod get;
mod list;
mod list_query;
mod patch;
mod replace;

pub(crate) use bulk::{
    Bulk, EXPORTS_MAX, EXPORTS_PER_CALLER_MAX, IMPORTS_MAX, IMPORTS_PER_CALLER_MAX,
};
pub(super) use create::create;
pub(super) use delete::delete;
pub(super) use get::get;
pub(super) use list::list;
pub(super) use patch::patch;
pub(super) use replace::replace;
