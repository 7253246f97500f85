//! Why a command was not carried out, or a question not answered.
//!
//! A [`Refusal`] is the caller's business: it carries no source, so its text is safe to send. A
//! [`StoreError`] is ours: a caller sees a code, the chain goes to the log, once. Faces match both
//! without a wildcard, so that a new variant breaks their build until it has an answer.

use std::{error::Error, fmt};

use crate::{attribute::Attribute, id::UserId, violation::Violations};

/// Why a command was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No live user has that id.
    NotFound,
    /// A precondition does not hold.
    VersionMismatch {
        /// The version that the user is at.
        current: i64,
    },
    /// The setting asks for a precondition and there is none.
    PreconditionRequired {
        /// The stored members that the write would have cleared.
        cleared: Vec<Attribute>,
    },
    /// The words were read, but do not make a valid user.
    Invalid(Violations),
    /// Another live user holds what must be unique.
    Taken(Taken),
    /// The idempotency key came before, with another request.
    KeyReused,
    /// The function of an edit refused. The code that made the function has the reason.
    EditRefused,
    /// What is asked of a group cannot be.
    Group(GroupRefusal),
}

/// Why a change of a group was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRefusal {
    /// No group has that id.
    NotFound,
    /// Another group has the name.
    NameTaken,
    /// These are neither live users nor groups; the first of them.
    UnknownMembers(Vec<UserId>),
    /// The one that is to leave is not a member.
    NotMember,
    /// A group would be its own member, at however many removes.
    Cycle,
    /// Groups would stand within groups deeper than they may.
    TooDeep,
    /// More groups stand above and below than may be looked at.
    TooWide,
    /// The group has as many members as it may.
    TooManyMembers,
    /// This user or group is in as many groups as it may be.
    TooManyGroups(UserId),
}

impl From<GroupRefusal> for Refusal {
    fn from(refusal: GroupRefusal) -> Self {
        Self::Group(refusal)
    }
}

/// What another live user holds. Who it is, is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The user name, and where it came from.
    pub username: Option<UsernameOrigin>,
    /// The primary e-mail address.
    pub email: bool,
    /// The external id.
    pub external_id: bool,
}

impl Taken {
    /// Whether anything is taken.
    pub const fn any(self) -> bool {
        self.username.is_some() || self.email || self.external_id
    }
}

/// Where a user's name came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsernameOrigin {
    /// It was sent, or stored before.
    Given,
    /// None was sent: the e-mail address serves.
    Email,
}

/// What went wrong inside a store.
#[derive(Debug)]
pub enum StoreError {
    /// Not now; a retry may succeed. A write may or may not have happened.
    Unavailable(Source),
    /// Writes have stopped until a restart, because a sync to disk failed. Reads go on.
    WritesStopped,
    /// Too slow.
    TimedOut,
    /// No room left to write. Reads go on.
    Full(Source),
    /// Stored bytes are not what they must be.
    Corrupt {
        /// Where: table, column and key, without any value of a person.
        place: String,
    },
    /// Anything else.
    Internal(Source),
}

/// The cause behind a store error, for the log alone.
pub type Source = Box<dyn Error + Send + Sync>;

impl StoreError {
    /// Whether the same request may succeed when it is sent again.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::TimedOut | Self::Full(_) => true,
            Self::WritesStopped | Self::Corrupt { .. } | Self::Internal(_) => false,
        }
    }
}

impl StoreError {
    /// The error and its causes in one text, for several who get the same one.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        text
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(_) => f.write_str("the store is unavailable"),
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
            Self::Unavailable(source) | Self::Full(source) | Self::Internal(source) => {
                Some(&**source)
            }
            Self::WritesStopped | Self::TimedOut | Self::Corrupt { .. } => None,
        }
    }
}

/// Why a command gave no outcome.
#[derive(Debug)]
pub enum Failure {
    /// The rules refuse it.
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
