//! The uniqueness policy: which keys live users may share.
//!
//! The policy belongs to the store: all processes that serve it apply the same one. It is set when
//! the store is created, and a command changes it afterwards. A configuration that states another
//! policy is rejected.

use std::fmt;

use crate::{
    id::UserId,
    json::Json,
    write::command::{Rules, Sharing},
};

/// The maximum number of shared keys that a rejected change lists.
pub const SHARED_KEYS_LISTED_MAX: i64 = 10;

/// The maximum number of users that are listed for one shared key.
pub const SHARING_USERS_LISTED_MAX: i64 = 5;

/// A key with a uniqueness policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKey {
    /// The primary e-mail address.
    Email,
    /// The external id.
    ExternalId,
}

impl PolicyKey {
    /// Every key.
    pub const ALL: &[Self] = &[Self::Email, Self::ExternalId];

    /// The name of its policy on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Email => "email-uniqueness",
            Self::ExternalId => "unique-external-id",
        }
    }

    /// The name of its setting.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Email => "email_uniqueness",
            Self::ExternalId => "unique_external_id",
        }
    }

    /// The name under which a store saves its policy.
    pub const fn stored_name(self) -> &'static str {
        match self {
            Self::Email => "email_sharing",
            Self::ExternalId => "external_id_sharing",
        }
    }

    /// The value of its policy on the command line.
    pub const fn value(self, sharing: Sharing) -> &'static str {
        match (self, sharing) {
            (Self::Email, Sharing::Unique) => "primary",
            (Self::Email, Sharing::Shared) => "none",
            (Self::ExternalId, Sharing::Unique) => "true",
            (Self::ExternalId, Sharing::Shared) => "false",
        }
    }

    /// Parses such a value.
    pub fn parse_value(self, text: &str) -> Option<Sharing> {
        [Sharing::Unique, Sharing::Shared].into_iter().find(|sharing| self.value(*sharing) == text)
    }

    const fn plural(self) -> &'static str {
        match self {
            Self::Email => "primary e-mail addresses",
            Self::ExternalId => "external ids",
        }
    }
}

impl Sharing {
    /// The value in a store.
    pub const fn stored(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::Shared => "shared",
        }
    }

    /// Parses a stored value.
    pub fn parse_stored(text: &[u8]) -> Option<Self> {
        [Self::Unique, Self::Shared].into_iter().find(|sharing| sharing.stored().as_bytes() == text)
    }
}

/// The members of the JSON form of a policy: its settings.
pub fn policy_members(policy: &[(PolicyKey, Sharing)]) -> Vec<(String, Json)> {
    let member = |(key, sharing): &(PolicyKey, Sharing)| {
        let value = match key {
            PolicyKey::Email => Json::Text(key.value(*sharing).to_owned()),
            PolicyKey::ExternalId => Json::Bool(*sharing == Sharing::Unique),
        };
        (key.setting().to_owned(), value)
    };
    policy.iter().map(member).collect()
}

impl Rules {
    /// Whether live users may have the same key.
    pub const fn sharing(&self, key: PolicyKey) -> Sharing {
        match key {
            PolicyKey::Email => self.email,
            PolicyKey::ExternalId => self.external_id,
        }
    }

    /// The rules with another policy for a key.
    #[must_use]
    pub const fn with_sharing(mut self, key: PolicyKey, sharing: Sharing) -> Self {
        match key {
            PolicyKey::Email => self.email = sharing,
            PolicyKey::ExternalId => self.external_id = sharing,
        }
        self
    }
}

/// A configuration states another policy than the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyMismatch {
    /// The key.
    pub key: PolicyKey,
    /// The policy of the store.
    pub stored: Sharing,
    /// The policy that the configuration states.
    pub stated: Sharing,
}

impl fmt::Display for PolicyMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, stored, stated } = self;
        let (name, setting) = (key.name(), key.setting());
        let (stored, stated) = (key.value(*stored), key.value(*stated));
        write!(
            f,
            "the setting {setting} is {stated}, but the policy of the store is {stored}: remove \
             the setting, or change the store with `roster policy set {name} {stated}`"
        )
    }
}

impl std::error::Error for PolicyMismatch {}

/// A key cannot become unique because users share it. The text lists ids and no other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedKeys {
    /// The key.
    pub key: PolicyKey,
    /// The number of values that several users have.
    pub count: u64,
    /// Some of the users of each of the first values.
    pub users: Vec<Vec<UserId>>,
}

impl fmt::Display for SharedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plural, count) = (self.key.plural(), self.count);
        write!(f, "{plural} cannot become unique: {count} belong to more than one user")?;
        for (number, users) in self.users.iter().enumerate() {
            f.write_str(if number == 0 { ", such as those of " } else { "; " })?;
            for (number, user) in users.iter().enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                write!(f, "{comma}{user}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SharedKeys {}
