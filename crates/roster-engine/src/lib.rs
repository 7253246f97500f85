//! What the engines share: the queue before the writers, and the execution of queued commands.
//!
//! An engine takes requests from the [`Queue`], reads [`Facts`] from its database, and has [`run`]
//! decide the requests on them. It applies the resulting [`Writes`] in one transaction, commits,
//! and answers. No rule about users or groups is in an engine. No database is used here, and only
//! [`check`] has SQL, which every engine can run. [`Table`] is the form in which a store is copied
//! from one engine to another. [`read_page`] has the steps of a page, which an engine runs as
//! statements ([`PageReader`]).

mod batch;
mod check;
mod facts;
mod group;
mod idempotency;
mod page;
mod queue;
mod request;
mod tables;
#[cfg(test)]
mod tests;
mod writes;

pub use batch::{Completed, Executed, MEMBERSHIPS_MAX, batches, preview, run};
pub use check::{Cell, CheckReader, Findings, Line, SearchRow, Values, check, check_counters};
pub use facts::{ClaimKind, CommandError, Current, Facts, StoredGroup};
pub use idempotency::{IdempotencyRecord, LogPosition, UNCHANGED};
pub use page::{FEW, IdStep, PageReader, read_few, read_page};
pub use queue::{Answered, Job, Queue, Results, TRANSACTION_COMMANDS_MAX, Work};
pub use request::{Request, UserRequest};
pub use tables::{ColumnKind, Table, TableDigest, append_field, split_field};
pub use writes::{
    Counts, DeletedWrite, GroupWrite, GroupWrites, NewIdempotencyRecord, UserWrite, Writes,
};
