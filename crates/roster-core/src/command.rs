//! Commands: what is to be done to one user, with all that the decision needs.
//!
//! A command is complete: the moment, the new id, who asks. An engine may run it again on another
//! state without asking anybody.

use std::{fmt, sync::Arc};

use crate::{
    access::KeyId, draft::Draft, failure::Refusal, id::UserId, json::Json, start::Start,
    timestamp::Timestamp, user::User,
};

/// The settings that the rules depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether live users may share the key of their primary e-mail address.
    pub email: Sharing,
    /// Whether live users may share an external id.
    pub external_id: Sharing,
    /// Whether a PUT without any precondition may clear stored members.
    pub put: Guard,
    /// Whether a DELETE may come without any precondition.
    pub delete: Guard,
}

/// Whether several live users may hold the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One user at most.
    Unique,
    /// Any number of users.
    Shared,
}

/// Whether a precondition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It is not.
    Off,
    /// A write without one is refused.
    On,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            email: Sharing::Unique,
            external_id: Sharing::Shared,
            put: Guard::Off,
            delete: Guard::Off,
        }
    }
}

/// Who makes a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// Anybody: the service is open.
    Anonymous,
    /// The service itself.
    System,
    /// Whoever holds that key.
    Key(KeyId),
    /// Whom an issuer of tokens calls that.
    Subject {
        /// The issuer, by the name that the settings give it.
        issuer: Arc<str>,
        /// The subject, as the issuer spells it.
        subject: Arc<str>,
    },
}

/// The actor as the log spells it.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::System => f.write_str("system"),
            Self::Key(id) => write!(f, "key:{id}"),
            Self::Subject { issuer, subject } => write!(f, "{issuer}:{subject}"),
        }
    }
}

/// Who asks, and under which request id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who makes the change.
    pub actor: Actor,
    /// The id of the request that asked for it.
    pub request_id: String,
}

/// The versions that an `If-Match` or `If-None-Match` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// `*`: any version that there is.
    Any,
    /// These versions. A tag that is none of ours names no version and is left out.
    Versions(Vec<i64>),
}

impl Tags {
    /// Whether the version is among them.
    pub fn hold(&self, version: i64) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.contains(&version),
        }
    }
}

/// The preconditions of a request (RFC 9110 section 13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// `If-Match`.
    pub if_match: Option<Tags>,
    /// `If-None-Match`.
    pub if_none_match: Option<Tags>,
}

impl Preconditions {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether a write on a user of this version may go on (RFC 9110 section 13.2.2).
    pub fn allow_write(&self, version: i64) -> bool {
        self.if_match.as_ref().is_none_or(|tags| tags.hold(version))
            && !self.if_none_match.as_ref().is_some_and(|tags| tags.hold(version))
    }
}

/// What becomes of a user to be created whose name or address another live user holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// It is refused.
    #[default]
    Fail,
    /// It is passed over.
    Skip,
    /// The one user who holds them is replaced; where two users do, it is refused.
    Replace,
}

/// Marks a request that may come twice and must happen once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Idempotency {
    /// A digest of the caller and the key that was sent.
    pub key: [u8; 32],
    /// A digest of all else in the request that decides what it comes to.
    pub fingerprint: [u8; 32],
}

/// Whether a write is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is.
    #[default]
    Write,
    /// Everything is judged and nothing stored.
    DryRun,
}

/// The terms of a write, beside what is to be done.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Who asks.
    pub caller: Caller,
    /// What must hold first.
    pub preconditions: Preconditions,
    /// What marks a request that may come twice. A dry run leaves no mark.
    pub idempotency: Option<Idempotency>,
    /// Whether it is stored.
    pub mode: Mode,
    /// Where it can be given up as long as it is not begun.
    pub start: Option<Start>,
}

impl Terms {
    /// No terms but who asks.
    pub fn of(caller: Caller) -> Self {
        let (preconditions, mode) = (Preconditions::default(), Mode::Write);
        Self { caller, preconditions, idempotency: None, mode, start: None }
    }
}

/// A change that is computed from the stored record when the command is decided, such as a SCIM
/// PATCH. It is a pure function, since a command may be decided several times. It returns `None` if
/// it refuses; the code that made it keeps the reason.
pub struct Edit<R, C>(Arc<EditFn<R, C>>);

type EditFn<R, C> = dyn Fn(&R) -> Option<C> + Send + Sync;

impl<R, C> Edit<R, C> {
    /// A change that this function computes.
    pub fn new(change: impl Fn(&R) -> Option<C> + Send + Sync + 'static) -> Self {
        Self(Arc::new(change))
    }

    /// What becomes of a record.
    pub(crate) fn apply(&self, record: &R) -> Result<C, Refusal> {
        (self.0)(record).ok_or(Refusal::EditRefused)
    }
}

impl<R, C> Clone for Edit<R, C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R, C> fmt::Debug for Edit<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edit")
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Act {
    /// Create a user under a new id.
    Create {
        /// The new id; its moment is `created_at`.
        id: UserId,
        /// The user.
        draft: Box<Draft>,
        /// What becomes of it where another user holds its name or address.
        on_conflict: OnConflict,
    },
    /// Replace the whole of a user.
    Replace {
        /// Which user.
        id: UserId,
        /// What it becomes.
        draft: Box<Draft>,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Patch a user by JSON Merge Patch (RFC 7396).
    Patch {
        /// Which user.
        id: UserId,
        /// The patch.
        patch: Box<Json>,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Replace the whole of a user by what a function makes of it.
    Edit {
        /// Which user.
        id: UserId,
        /// The function.
        edit: Edit<User, Draft>,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Delete a user: it leaves the collection and is kept aside.
    Delete {
        /// Which user.
        id: UserId,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Bring a deleted user back into the collection.
    Restore {
        /// Which user.
        id: UserId,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Forget a deleted user for good, its history included.
    Purge {
        /// Which user.
        id: UserId,
        /// What must hold first.
        preconditions: Preconditions,
    },
}

/// The user that a command applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A user that does not exist yet.
    New,
    /// A user of the collection.
    Live,
    /// A deleted user that is kept.
    Deleted,
}

/// A change that somebody asked for.
#[derive(Clone, Debug)]
pub struct Command {
    /// What is to be done.
    pub act: Act,
    /// When it was asked for.
    pub at: Timestamp,
    /// Who asked.
    pub caller: Caller,
    /// What marks a request that may come twice.
    pub idempotency: Option<Idempotency>,
    /// Where it can be given up as long as it is not begun; for commands that come alone.
    pub start: Option<Start>,
}

impl Command {
    /// Whether it may be carried out: an engine asks once it is to be, and right before.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.start.as_ref().is_none_or(Start::begin)
    }

    /// The user that the command is about.
    pub const fn user_id(&self) -> UserId {
        match &self.act {
            Act::Create { id, .. }
            | Act::Replace { id, .. }
            | Act::Patch { id, .. }
            | Act::Edit { id, .. }
            | Act::Delete { id, .. }
            | Act::Restore { id, .. }
            | Act::Purge { id, .. } => *id,
        }
    }

    /// The user that the command applies to.
    pub const fn target(&self) -> Target {
        match &self.act {
            Act::Create { .. } => Target::New,
            Act::Replace { .. } | Act::Patch { .. } | Act::Edit { .. } | Act::Delete { .. } => {
                Target::Live
            }
            Act::Restore { .. } | Act::Purge { .. } => Target::Deleted,
        }
    }

    /// The command that a create comes to where its name or address is held by that one user
    /// and is to replace it; `None` for anything else.
    pub fn replacing(&self, holder: UserId) -> Option<Self> {
        let Act::Create { draft, on_conflict: OnConflict::Replace, .. } = &self.act else {
            return None;
        };
        // What a create ignores is ignored here too.
        let mut draft = draft.clone();
        draft.forget_server_made();
        let preconditions = Preconditions::default();
        Some(Self { act: Act::Replace { id: holder, draft, preconditions }, ..self.clone() })
    }
}
