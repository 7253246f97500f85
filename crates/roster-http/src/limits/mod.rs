//! The limits of a request: admission, time, the bytes of its head and its transfers, and what only
//! SCIM limits.

pub(crate) mod admission;
pub(crate) mod head;
pub(crate) mod scim;
pub(crate) mod time_limits;
pub(crate) mod transfers;
