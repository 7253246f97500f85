//! Access: API keys, their scopes, and permits.
//!
//! A key is returned once and stored as a digest. Scopes determine what a caller may do. A permit
//! is created from scopes only, and functions of the directory that read or change data for a
//! caller require the right one, so a handler that does not check does not compile. This module
//! reads no clock, creates no randomness and does not know how a credential is transported.

mod api_key;
mod authority;
mod change;
mod draft;
mod keyring;
mod scope;
pub(crate) mod service;
mod token;

pub use api_key::{ApiKey, FormerSecret, KeyId, KeyState, Reach, SecretDigest};
pub use authority::{
    AuditView, Authority, MissingScope, Permit, PreviewPurges, PurgeUsers, ReadDeletedUsers,
    ReadEvents, ReadMetrics, ReadUsers, RestoreIds, Right, RunKeys, RunTenants, RunWebhooks,
    SeesDeleted, WriteSchema, WriteUsers,
};
pub use change::{KeyAct, KeyChange, KeyDecision, KeyFailure, KeyRefusal, KeyView, decide_keys};
pub use draft::{Expiry, KeyDraft};
pub use keyring::{Keyring, Unauthentic};
pub use scope::{Scope, Scopes};
pub use service::KeyService;
pub use token::{Presented, Token};
