//! The settings of the HTTP interfaces.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use crate::description::base_path;
use crate::limits::admission::AdmissionSettings;
use crate::metrics::HousekeepingMetrics;
use crate::webhook_client::WebhookClient;
use roster_jwt::TokenIssuer;
use roster_server::TrustedProxies;

/// The settings of the HTTP interfaces.
pub struct HttpSettings {
    /// The absolute base URL of all routes, without a slash at its end.
    pub base_url: String,
    /// Additional names that `Host` may contain. A name with a port is accepted with that port
    /// only.
    pub hosts: Vec<String>,
    /// The proxies whose `Forwarded` and `X-Forwarded-For` headers name the client's address.
    pub trusted_proxies: TrustedProxies,
    /// What sends requests to webhooks.
    pub webhooks: Arc<WebhookClient>,
    /// The origins whose web pages may call the service, as browsers write them in `Origin`. They
    /// are ignored while the service is open, that is while no credential is needed.
    pub cors_origins: Vec<String>,
    /// The maximum size of a request body in bytes.
    pub body_bytes_max: usize,
    /// The maximum length of path and query in bytes.
    pub uri_bytes_max: usize,
    /// The time limit of a read.
    pub read_wait_max: Duration,
    /// The directory for spill files: unnamed files with the results of an import that its client
    /// has not read yet.
    pub spill_dir: PathBuf,
    /// How long a deleted user is kept. `None` means forever.
    pub deleted_keep: Option<Duration>,
    /// How long an event is kept. `None` means forever.
    pub events_keep: Option<Duration>,
    /// Whether a SCIM filter in a URL is rejected.
    pub scim_filter_guard: bool,
    /// The rate limits of callers and the limits of concurrent work.
    pub admission: AdmissionSettings,
    /// Whether the console is served.
    pub console: bool,
    /// Whether callers without a credential are rejected even before the first key is created.
    pub require_key: bool,
    /// The issuers whose tokens are accepted. If there are any, every caller needs a credential.
    pub issuers: Vec<TokenIssuer>,
    /// Returns whether the disk has room. `/readyz` and the spill files of imports use it.
    pub has_room: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The measurements of housekeeping, for `/metrics`.
    pub housekeeping: HousekeepingMetrics,
}

/// The default of [`HttpSettings::uri_bytes_max`].
pub const URI_BYTES_MAX: usize = 16 * 1024;

impl HttpSettings {
    /// The path of the base URL. It is empty if the service is at the root of its host.
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
