//! Errors: why a command or a query failed.
//!
//! A [`Refusal`] is the caller's error. It has no source, so its text is safe to return. A
//! [`StoreError`] is the service's error: the caller gets a code, and the log gets the causes,
//! once. Interfaces match both without a wildcard, so a new variant does not compile until it has a
//! response.

use std::{error::Error, fmt};

use crate::{id::UserId, user::attribute::Attribute, write::violation::Violations};

/// Why the rules rejected a command. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No user with this id is the kind of user (live or deleted) that the command applies to.
    NotFound,
    /// A precondition failed.
    VersionMismatch {
        /// The user's current version.
        current: i64,
    },
    /// The settings require a precondition and the request has none.
    PreconditionRequired {
        /// The stored members that the write would clear.
        cleared: Vec<Attribute>,
    },
    /// The request was parsed but does not describe a valid user.
    Invalid(Violations),
    /// Another live user has a value that must be unique.
    Taken(Taken),
    /// The id that a create should keep belongs to a user, a deleted user or a group, or to a
    /// purged user whose history is still being erased.
    IdTaken,
    /// The tenant has its maximum number of live users.
    QuotaExceeded,
    /// The tenant was deleted.
    TenantNotFound,
    /// The idempotency key was used before with another request.
    KeyReused,
    /// The function of an edit rejected the change. The code that created the function has the
    /// reason.
    EditRefused,
    /// The rules for groups reject it.
    Group(GroupRefusal),
}

/// Why the rules rejected a change of a group. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRefusal {
    /// No group has this id.
    NotFound,
    /// Another group has the name.
    NameTaken,
    /// These ids (the first ones) belong to neither live users nor groups.
    UnknownMembers(Vec<UserId>),
    /// The user or group to remove is not a member.
    NotMember,
    /// A group would be a member of itself, directly or through other groups.
    Cycle,
    /// Groups would be nested too deep.
    TooDeep,
    /// More groups would contain it, or be contained in it, than the check visits.
    TooWide,
    /// The group has the maximum number of members.
    TooManyMembers,
    /// This user or group is in the maximum number of groups.
    TooManyGroups(UserId),
}

impl From<GroupRefusal> for Refusal {
    fn from(refusal: GroupRefusal) -> Self {
        Self::Group(refusal)
    }
}

/// The values that another live user has. The user is not identified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The username, and its origin.
    pub username: Option<UsernameOrigin>,
    /// The primary e-mail address.
    pub email: bool,
    /// The external id.
    pub external_id: bool,
    /// The members with values that the schema makes unique, as filters name them.
    pub indexed: Vec<String>,
}

impl Taken {
    /// Whether any value is taken.
    pub const fn any(&self) -> bool {
        self.username.is_some() || self.email || self.external_id || !self.indexed.is_empty()
    }
}

/// The origin of a username.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsernameOrigin {
    /// The user has it as its own.
    Given,
    /// The e-mail address, because the user has no username of its own.
    Email,
}

/// An error of a store.
#[derive(Debug)]
pub enum StoreError {
    /// The store is unavailable; a retry may succeed. A write may or may not have happened.
    Unavailable(Source),
    /// The only server that accepts writes was left behind by a failover, or has another log.
    Superseded(Source),
    /// Writes have stopped until a restart, because a sync to disk failed. Reads continue.
    WritesStopped,
    /// The time limit passed.
    TimedOut,
    /// There is no space left to write. Reads continue.
    Full(Source),
    /// Stored data is damaged.
    Corrupt {
        /// The table, column and key, without personal values.
        place: String,
    },
    /// Any other error.
    Internal(Source),
}

/// The cause of a store error, only for the log.
pub type Source = Box<dyn Error + Send + Sync>;

impl StoreError {
    /// Whether the same request may succeed if it is sent again.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Superseded(_) | Self::TimedOut | Self::Full(_) => true,
            Self::WritesStopped | Self::Corrupt { .. } | Self::Internal(_) => false,
        }
    }
}

impl StoreError {
    /// The error and its causes as one text.
    pub fn with_causes(&self) -> String {
        let mut texts = vec![self.to_string()];
        texts.extend(self.causes());
        texts.join(": ")
    }

    /// The same error for another request, which waited for the same result.
    pub fn again(&self) -> Self {
        let causes = || Source::from(self.causes().join(": "));
        match self {
            Self::Unavailable(_) => Self::Unavailable(causes()),
            Self::Superseded(_) => Self::Superseded(causes()),
            Self::WritesStopped => Self::WritesStopped,
            Self::TimedOut => Self::TimedOut,
            Self::Full(_) => Self::Full(causes()),
            Self::Corrupt { place } => Self::Corrupt { place: place.clone() },
            Self::Internal(_) => Self::Internal(causes()),
        }
    }

    fn causes(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut source = self.source();
        while let Some(cause) = source {
            texts.push(cause.to_string());
            source = cause.source();
        }
        texts
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(_) => f.write_str("the store is unavailable"),
            Self::Superseded(_) => f.write_str("another server took the place of the store's"),
            Self::WritesStopped => {
                f.write_str("a sync to disk failed: writes have stopped until a restart")
            }
            Self::TimedOut => f.write_str("the store was too slow"),
            Self::Full(_) => f.write_str("the disk is full"),
            Self::Corrupt { place } => write!(f, "stored bytes are damaged at {place}"),
            Self::Internal(_) => f.write_str("the store failed"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(source)
            | Self::Superseded(source)
            | Self::Full(source)
            | Self::Internal(source) => Some(&**source),
            Self::WritesStopped | Self::TimedOut | Self::Corrupt { .. } => None,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The rules reject it.
    Refused(Refusal),
    /// The store failed.
    Store(StoreError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
