//! An API key: its name, its scopes and the digest of its secret.

use std::{fmt, str};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::scope::Scopes;
use crate::{
    json::{Json, present},
    tenant::TenantId,
    timestamp::Timestamp,
};

/// Characters of a key's id.
pub(super) const KEY_ID_LENGTH: usize = 10;

/// The id of a key: ten letters and digits, case-sensitive. It is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; KEY_ID_LENGTH]);

impl KeyId {
    /// Parses an id; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; KEY_ID_LENGTH] = text.as_bytes().try_into().ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(Self(bytes))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        // It contains only letters and digits, so it is valid UTF-8.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The SHA-256 digest of a secret. A secret has at least 190 random bits, so a slow hash would add
/// no protection.
#[derive(Clone, Copy)]
pub struct SecretDigest(pub [u8; 32]);

impl SecretDigest {
    /// The digest of a secret.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Whether both digests are equal, compared in constant time.
    pub fn equals(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl PartialEq for SecretDigest {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for SecretDigest {}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest")
    }
}

/// A key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// What it is for, as its creator wrote it.
    pub name: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// The tenants in which it has them.
    pub reach: Reach,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who created it, in the form that the change log uses for actors.
    pub created_by: String,
    /// When it expires, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When its secret was last replaced.
    pub rotated_at: Option<Timestamp>,
    /// When it was last used, to the minute. It is stored separately, so using a key does not
    /// change the key.
    pub last_used_at: Option<Timestamp>,
    /// The digest of its secret.
    pub secret: SecretDigest,
    /// The previous secret, which stays valid for a limited time.
    pub former: Option<FormerSecret>,
}

/// The tenants in which a credential has its scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// One tenant.
    Tenant(TenantId),
    /// All tenants: a credential of the operator.
    All,
}

impl Reach {
    /// Whether it includes a tenant.
    pub fn includes(self, tenant: TenantId) -> bool {
        match self {
            Self::Tenant(own) => own == tenant,
            Self::All => true,
        }
    }
}

impl Default for Reach {
    fn default() -> Self {
        Self::Tenant(TenantId::DEFAULT)
    }
}

/// A secret that a newer one has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerSecret {
    /// The digest of the secret.
    pub secret: SecretDigest,
    /// When it stops being valid.
    pub until: Timestamp,
}

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is valid.
    Active,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl KeyState {
    /// The state in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    /// The members of its JSON form at this time, without its secret. Members without a value are
    /// left out.
    pub fn members(&self, now: Timestamp) -> Vec<(String, Json)> {
        let text = |text: &str| Some(Json::Text(text.to_owned()));
        let time = |moment: Timestamp| Json::Text(moment.to_string());
        let scopes =
            self.scopes.iter().map(|scope| Json::Text(scope.as_str().to_owned())).collect();
        let former = self.former.filter(|former| former.until > now);
        let state = self.state(now).as_str();
        let members = [
            ("id", text(self.id.as_str())),
            ("name", text(&self.name)),
            ("state", text(state)),
            // The same value under the member name that users have.
            ("status", text(state)),
            ("scopes", Some(Json::Array(scopes))),
            ("tenants", (self.reach == Reach::All).then(|| Json::Text("all".to_owned()))),
            ("created_at", Some(time(self.created_at))),
            ("created_by", text(&self.created_by)),
            ("expires_at", self.expires_at.map(time)),
            ("rotated_at", self.rotated_at.map(time)),
            ("former_secret_until", former.map(|former| time(former.until))),
            ("revoked_at", self.revoked_at.map(time)),
            ("last_used_at", self.last_used_at.map(time)),
        ];
        present(members)
    }

    /// The same members in an event. The use of a key is no event, so they do not show it.
    pub fn members_in_event(&self, at: Timestamp) -> Vec<(String, Json)> {
        Self { last_used_at: None, ..self.clone() }.members(at)
    }

    /// When it was last changed.
    pub fn changed_at(&self) -> Timestamp {
        let changes = self.rotated_at.into_iter().chain(self.revoked_at);
        changes.fold(self.created_at, Timestamp::max)
    }

    /// The state at this time.
    pub fn state(&self, now: Timestamp) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_ten_letters_and_digits() {
        assert_eq!(
            KeyId::parse("aZ09aZ09aZ").map(|id| id.to_string()).as_deref(),
            Some("aZ09aZ09aZ")
        );
        for other in ["", "aZ09aZ09a", "aZ09aZ09aZ0", "aZ09aZ09a-", "aZ09aZ09é"] {
            assert_eq!(KeyId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_digest_is_never_printed() {
        assert_eq!(format!("{:?}", SecretDigest::of("secret")), "SecretDigest");
    }
}
