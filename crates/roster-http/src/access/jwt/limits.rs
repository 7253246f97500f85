//! What issuers and their tokens may cost, and how old things may be: every limit by its name.
//!
//! The service document tells them to callers and `docs/jwt.md` to people. Times of the directory's
//! clock are in milliseconds.

use std::time::Duration;

/// Most issuers.
pub const ISSUERS_MAX: usize = 16;
/// Most bytes of a token.
pub(crate) const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// Most characters of a subject (OpenID Connect Core section 2).
pub(crate) const SUBJECT_LENGTH_MAX: usize = 255;
/// How far the clocks of issuer and service may be apart, in milliseconds.
pub(crate) const LEEWAY_MS: i64 = 60_000;
/// Most accepted tokens that are remembered.
pub(crate) const REMEMBERED_MAX: usize = 10_000;
/// Longest time that an accepted token is remembered, in milliseconds.
pub(crate) const REMEMBERED_MS: i64 = 60_000;

/// The longest that an issuer's answer may take, everything included.
pub(crate) const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);
/// Most bytes of an issuer's answer.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Most keys that an issuer may publish.
pub(crate) const SET_KEYS_MAX: usize = 100;
/// From which age on keys are fetched again, in milliseconds.
pub(crate) const TTL_MS: i64 = 10 * 60 * 1000;
/// Keys that nobody looked at for so long are fetched before they say yes.
pub(crate) const IDLE_MS: i64 = 2 * TTL_MS;
/// How long keys serve while the issuer is away.
pub(crate) const STALE_MS: i64 = 24 * 60 * 60 * 1000;
/// Least time between two fetches, unless there is nothing that could serve.
pub(crate) const COOLDOWN_MS: i64 = 30 * 1000;
/// Least time between two fetches while there is nothing that could serve.
pub(crate) const RETRY_MS: i64 = 1000;
