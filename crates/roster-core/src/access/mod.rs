//! Who may call: the keys of callers, what each key may do, and the proof that a caller may.
//!
//! A key is shown once and kept as a digest. What a caller may do is a set of scopes; a permit is
//! made of them alone, and nothing of the directory is read or changed without the right one, so
//! that a handler which forgets to ask does not compile. Nothing here reads a clock or makes
//! randomness, and nothing here knows how a credential travels.

mod api_key;
mod authority;
mod change;
mod desk;
mod draft;
mod keyring;
mod scope;
mod token;

pub use api_key::{ApiKey, FormerSecret, KeyId, KeyState, SecretDigest};
pub use authority::{
    Authority, MissingScope, Permit, PurgeUsers, ReadEvents, ReadMetrics, ReadUsers, Right,
    RunKeys, SeesDeleted, WriteUsers,
};
pub use change::{KeyAct, KeyChange, KeyDecision, KeyFailure, KeyRefusal, decide_keys};
pub use desk::{KeyDesk, KeyStore};
pub use draft::{Expiry, KeyDraft};
pub use keyring::{Keyring, Unauthentic};
pub use scope::{Scope, Scopes};
pub use token::{Presented, Token};
