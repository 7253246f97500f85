//! Reads: the steps of a page, and the statements that both engines run.

pub(crate) mod deleted_users;
pub(crate) mod examined;
pub(crate) mod page;
pub(crate) mod page_rows;
pub(crate) mod page_sql;
pub(crate) mod stored_groups;
