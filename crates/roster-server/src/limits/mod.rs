//! Limits per caller, and admission control of a class of work.
//!
//! The memory of each limit is bounded. The limits do not know how a caller authenticates or what a
//! refusal looks like.

mod attempts;
mod controller;
mod log_budget;
mod moments;
mod quota;
mod rate_limit;

use std::time::Duration;

pub use attempts::{Attempts, LOCKED_TOKEN_CHECKS_PER_S, LOCKED_TOKEN_CHECKS_TOTAL_PER_S};
pub use controller::{AdmissionController, AdmissionGuard};
pub use log_budget::LogBudget;
pub use rate_limit::{RateLimitState, RateLimiter};

/// The maximum number of callers with separate allowances. Further callers share one.
const CALLERS_MAX: usize = 100_000;

/// The maximum time for which a request waits for a place of its class.
pub const QUEUE_WAIT_MAX: Duration = Duration::from_millis(100);

/// The maximum number of requests that wait, per place of a class.
const QUEUE_LENGTH_PER_PLACE: usize = 4;

/// The maximum number of requests that wait for a class, independent of its number of places.
const QUEUE_LENGTH_MAX: usize = 1_024;
