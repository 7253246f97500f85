//! The settings of the HTTP interfaces: their URL, whom they serve, and their limits.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::admission::AdmissionSettings;
use crate::description::base_path;
use crate::metrics::HousekeepingMetrics;
use roster_jwt::TokenIssuer;
use roster_server::TrustedProxies;

/// The settings of the HTTP interfaces.
pub struct HttpSettings {
    /// The absolute URL that all routes are below, without a slash at its end.
    pub base_url: String,
    /// Further names that may stand in `Host`; with a port, that port alone.
    pub hosts: Vec<String>,
    /// Proxies whose word on the client's address is believed.
    pub trusted_proxies: TrustedProxies,
    /// Origins whose web pages may call once there is a key, as browsers write them.
    pub cors_origins: Vec<String>,
    /// Most bytes of a request body.
    pub body_bytes_max: usize,
    /// Most bytes of path and query.
    pub uri_bytes_max: usize,
    /// The longest that a reading may take.
    pub read_wait_max: Duration,
    /// Where verdicts of an import are put aside while nobody reads them, in files without names.
    pub spill_dir: PathBuf,
    /// How long a deleted user is kept; for ever without.
    pub deleted_keep: Option<Duration>,
    /// How long an event is kept; for ever without.
    pub events_keep: Option<Duration>,
    /// Whether a filter of SCIM in a URL is refused.
    pub scim_filter_guard: bool,
    /// What callers may cost.
    pub admission: AdmissionSettings,
    /// Whether callers without a credential are refused also before the first key.
    pub require_key: bool,
    /// Whose tokens let callers in; with any of them the service is closed to everybody else.
    pub issuers: Vec<TokenIssuer>,
    /// Whether there is room on the disk, for `/readyz`.
    pub has_room: Arc<dyn Fn() -> bool + Send + Sync>,
    /// What housekeeping measures, for `/metrics`.
    pub housekeeping: HousekeepingMetrics,
}

/// Most bytes of path and query when nothing else is set.
pub const URI_BYTES_MAX: usize = 16 * 1024;

impl HttpSettings {
    /// The path of the base URL: empty where the service is at the root of its host.
    pub fn base_path(&self) -> &str {
        base_path(&self.base_url)
    }

    /// The host name of the base URL, without its port.
    pub(crate) fn base_host(&self) -> Option<String> {
        let url: http::Uri = self.base_url.parse().ok()?;
        url.host().map(str::to_owned)
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}
