//! Erasing the history of a purged user, and everything in a purged tenant, in steps.
//!
//! A purge removes the user and hides its history at once. A short history is erased in the
//! transaction of the purge. A longer one is erased afterwards, a bounded step at a time; until
//! then the store lists the user's id as pending, and no read returns the rest. Nobody can call a
//! purged tenant, so all its rows are erased in steps.

use crate::{id::UserId, tenant::TenantId};

/// The maximum number of events, and of idempotency records, of a user that one transaction erases.
pub const STEP_MAX: i64 = 1000;

/// What is purged and not yet erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// The tenant.
    pub tenant: TenantId,
    /// The user whose history is to be erased; `None` for everything in the tenant.
    pub user: Option<UserId>,
}

/// The state of an erasure after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// More data must be erased.
    Pending,
    /// The next step must wait for something else, such as a step of another process.
    Waiting,
    /// Everything is erased.
    Done,
}
