//! The only place from which Roster opens connections, except to its database: to issuers of
//! tokens, whose URLs the operator sets, and to webhooks, whose URLs callers set.
//!
//! A request has limits on time and on the bytes of the response. Redirects are not followed, and
//! no proxy is used. A name is resolved once for each request, and only the addresses that the
//! caller of this crate admits are connected to, so a name that changes its address cannot lead
//! elsewhere. The trusted authorities are the system's, found as the environment says
//! (`SSL_CERT_FILE`, `SSL_CERT_DIR`), as by other programs.

mod client;
mod guard;
mod sign;

pub use client::{Answer, Client, Fault, Limits, Target};
pub use tokio_rustls::rustls::RootCertStore;

pub use guard::{is_admitted, is_global, is_listed};
pub use sign::signature;
