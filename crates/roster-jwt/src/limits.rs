//! Limits for issuers and tokens.
//!
//! The service document and `docs/jwt.md` list them. Times are in milliseconds of the directory's
//! clock.

use std::time::Duration;

/// The maximum number of issuers.
pub const ISSUERS_MAX: usize = 16;
/// The maximum length of a token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// The maximum length of a subject, in characters (OpenID Connect Core section 2).
pub const SUBJECT_LENGTH_MAX: usize = 255;
/// The allowed difference between the clocks of issuer and service, in milliseconds.
pub const LEEWAY_MS: i64 = 60_000;
/// The default for the longest time for which a token may be valid.
pub const LIFETIME_MAX: Duration = Duration::from_hours(24);
/// The maximum number of cached tokens.
pub const REMEMBERED_MAX: usize = 10_000;
/// How long an accepted token is cached, in milliseconds.
pub const REMEMBERED_MS: i64 = 60_000;

/// The time limit for a request to an issuer, including the connection.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);
/// The maximum size of an issuer's response, in bytes.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// The maximum size of everything that an issuer sends for one request, with its heads and
/// informational responses.
pub const ANSWER_TRAFFIC_BYTES_MAX: u64 = 512 * 1024;
/// The maximum number of usable keys of an issuer. Further ones are ignored.
pub const SET_KEYS_MAX: usize = 100;
/// The age at which keys are fetched again, in milliseconds.
pub const TTL_MS: i64 = 10 * 60 * 1000;
/// Keys of this age are used only while the issuer cannot be reached: a request waits for newer
/// ones. Until then they are fetched in the background.
pub const IDLE_MS: i64 = TTL_MS + 60 * 1000;
/// How long keys are used while the issuer cannot be reached.
pub const STALE_MS: i64 = 24 * 60 * 60 * 1000;
/// The minimum time between two fetches, unless there are no usable keys.
pub const COOLDOWN_MS: i64 = 30 * 1000;
/// The minimum time between two fetches while there are no usable keys.
pub const RETRY_MS: i64 = 1000;
