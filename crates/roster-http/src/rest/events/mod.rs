//! The change log, pulled: all of it, or the history of one user.

mod envelope;
mod list;
mod list_query;

pub(super) use list::{list, list_of_user};
