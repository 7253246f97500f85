//! Commands: complete requests to change a user, a group or the schema of users.
//!
//! A command contains everything that a decision needs: the time, the new id and the caller. An
//! engine may decide it again on another state without further input.

use std::{fmt, sync::Arc};

use crate::{
    access::KeyId,
    group::GroupAct,
    id::UserId,
    json::Json,
    schema::SchemaDraft,
    timestamp::Timestamp,
    user::{User, draft::Draft},
    write::{edit::Edit, start::Start},
};

/// The settings of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether live users may have the same primary e-mail address (by its key).
    pub email: Sharing,
    /// Whether live users may have the same external id.
    pub external_id: Sharing,
    /// Whether a PUT that clears stored members requires a precondition.
    pub put: Guard,
    /// Whether a DELETE requires a precondition.
    pub delete: Guard,
}

/// Whether several live users may have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// At most one user.
    Unique,
    /// Any number of users.
    Shared,
}

/// Whether a precondition is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It is not required.
    Off,
    /// A write without one is rejected.
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

/// The author of a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// Any caller, while no key exists.
    Anonymous,
    /// The service itself.
    System,
    /// The service itself, because a user has expired.
    Expiry,
    /// An API key.
    Key(KeyId),
    /// The subject of a token.
    Subject {
        /// The issuer's name in the settings.
        issuer: Arc<str>,
        /// The subject, as in the token.
        subject: Arc<str>,
    },
}

impl Actor {
    /// The actor for a log line: of a token only the issuer, since its subject may be a person.
    pub fn without_subject(&self) -> String {
        match self {
            Self::Subject { issuer, .. } => issuer.to_string(),
            Self::Anonymous | Self::System | Self::Expiry | Self::Key(_) => self.to_string(),
        }
    }
}

/// The actor as the change log writes it.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::System => f.write_str("system"),
            Self::Expiry => f.write_str("roster:expiry"),
            Self::Key(id) => write!(f, "key:{id}"),
            Self::Subject { issuer, subject } => write!(f, "{issuer}:{subject}"),
        }
    }
}

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The author of the change.
    pub actor: Actor,
    /// The id of the request.
    pub request_id: String,
}

/// The versions that `If-Match` or `If-None-Match` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// `*`: any existing version.
    Any,
    /// These versions. A tag in another format matches no version and is left out.
    Versions(Vec<i64>),
}

impl Tags {
    /// Whether they include a version.
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
    /// Whether they say which version the client has read, as guarded writes need. `If-None-Match`
    /// only says which versions it does not mean.
    pub const fn name_a_version(&self) -> bool {
        self.if_match.is_some()
    }

    /// Whether they allow a write to a user at this version (RFC 9110 section 13.2.2).
    pub fn allow_write(&self, version: i64) -> bool {
        self.if_match.as_ref().is_none_or(|tags| tags.hold(version))
            && !self.if_none_match.as_ref().is_some_and(|tags| tags.hold(version))
    }
}

/// What a create does if the user exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upsert {
    /// What happens to the user that exists.
    pub on_conflict: OnConflict,
    /// How that user is found.
    pub match_by: MatchBy,
}

impl From<OnConflict> for Upsert {
    fn from(on_conflict: OnConflict) -> Self {
        Self { on_conflict, match_by: MatchBy::default() }
    }
}

/// How a create finds the user that exists. Any other conflict rejects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchBy {
    /// By the values that must be unique: the username, and by policy the primary e-mail address
    /// and the external id.
    #[default]
    Unique,
    /// By the external id alone, which must be unique by policy.
    ExternalId,
    /// By the value in the unique index with this number alone, which the schema names.
    Indexed(i16),
}

/// What happens if another live user has the name or address of a new user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The create is rejected.
    #[default]
    Fail,
    /// The create is skipped.
    Skip,
    /// The other user is replaced. If the name and the address belong to two users, the create is
    /// rejected.
    Replace,
    /// The other user is patched with the body as a JSON Merge Patch. If the name and the address
    /// belong to two users, the create is rejected.
    Merge,
}

/// Identifies a request that may arrive twice and must be executed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Idempotency {
    /// A digest of the caller and the `Idempotency-Key`.
    pub key: [u8; 32],
    /// A digest of everything else in the request that affects its result.
    pub fingerprint: [u8; 32],
}

/// Whether a write is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is stored.
    #[default]
    Write,
    /// It is decided and not stored.
    DryRun,
}

/// The options of a write, apart from the operation.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The caller.
    pub caller: Caller,
    /// The preconditions.
    pub preconditions: Preconditions,
    /// The idempotency key. A dry run stores no idempotency record.
    pub idempotency: Option<Idempotency>,
    /// Whether it is stored.
    pub mode: Mode,
    /// Lets the caller cancel it until it begins, and be charged for its events.
    pub start: Option<Start>,
}

impl Terms {
    /// The default options for a caller.
    pub fn of(caller: Caller) -> Self {
        let (preconditions, mode) = (Preconditions::default(), Mode::Write);
        Self { caller, preconditions, idempotency: None, mode, start: None }
    }
}

/// An operation.
#[derive(Clone, Debug)]
pub enum Act {
    /// On a user.
    User(UserAct),
    /// On a group.
    Group(GroupAct),
    /// Replace the schema of users.
    Schema(Box<SchemaDraft>),
}

impl From<UserAct> for Act {
    fn from(act: UserAct) -> Self {
        Self::User(act)
    }
}

impl From<GroupAct> for Act {
    fn from(act: GroupAct) -> Self {
        Self::Group(act)
    }
}

impl From<SchemaDraft> for Act {
    fn from(draft: SchemaDraft) -> Self {
        Self::Schema(Box::new(draft))
    }
}

/// An operation on a user.
#[derive(Clone, Debug)]
pub enum UserAct {
    /// Create a user with a new id.
    Create {
        /// The new id. Its time is `created_at`.
        id: UserId,
        /// The user.
        draft: Box<Draft>,
        /// What happens if the user exists.
        upsert: Upsert,
    },
    /// Replace a user.
    Replace {
        /// The user's id.
        id: UserId,
        /// The new content.
        draft: Box<Draft>,
    },
    /// Patch a user by JSON Merge Patch (RFC 7396).
    Patch {
        /// The user's id.
        id: UserId,
        /// The patch.
        patch: Arc<Json>,
    },
    /// Replace a user by the result of a function.
    Edit {
        /// The user's id.
        id: UserId,
        /// The function.
        edit: Edit<User, Draft>,
        /// Whether it replaces the user as a whole, which [`Rules::put`] guards.
        replaces: bool,
    },
    /// Delete a user. It is kept among the deleted users.
    Delete {
        /// The user's id.
        id: UserId,
    },
    /// Restore a deleted user.
    Restore {
        /// The user's id.
        id: UserId,
        /// Whether the user joins the groups again that it left when it was deleted.
        joins_groups: bool,
    },
    /// Purge a deleted user and its history.
    Purge {
        /// The user's id.
        id: UserId,
    },
}

/// The user that an operation applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A user that does not exist yet.
    New,
    /// A live user.
    Live,
    /// A deleted user.
    Deleted,
}

/// A request to change the store.
#[derive(Clone, Debug)]
pub struct Command {
    /// The operation.
    pub act: Act,
    /// The preconditions. A create ignores them.
    pub preconditions: Preconditions,
    /// The time of the request.
    pub at: Timestamp,
    /// The caller.
    pub caller: Caller,
    /// The idempotency key, if the request has one.
    pub idempotency: Option<Idempotency>,
    /// Lets the caller cancel the command until it begins, if it is sent alone, and be charged for
    /// its events.
    pub start: Option<Start>,
}

impl Command {
    /// A command without preconditions and without an idempotency key.
    pub fn of(act: impl Into<Act>, at: Timestamp, caller: Caller) -> Self {
        let (act, preconditions) = (act.into(), Preconditions::default());
        Self { act, preconditions, at, caller, idempotency: None, start: None }
    }

    /// Whether the command may be executed. An engine calls this immediately before the execution.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.start.as_ref().is_none_or(Start::begin)
    }

    /// Notes the size of the command's events. A command that is executed again replaces it.
    pub fn note_logged(&self, bytes: usize) {
        if let Some(start) = &self.start {
            start.note_logged(bytes);
        }
    }

    /// The same request with the update that takes the place of a create.
    #[must_use]
    pub fn updating_instead(&self, act: UserAct) -> Self {
        Self { act: act.into(), preconditions: Preconditions::default(), ..self.clone() }
    }
}

impl UserAct {
    /// The id of the user.
    pub const fn id(&self) -> UserId {
        match self {
            Self::Create { id, .. }
            | Self::Replace { id, .. }
            | Self::Patch { id, .. }
            | Self::Edit { id, .. }
            | Self::Delete { id }
            | Self::Restore { id, .. }
            | Self::Purge { id } => *id,
        }
    }

    /// Whether it reads or updates another user that has one of the keys that it claims.
    pub fn follows_holders(&self) -> bool {
        matches!(
            self,
            Self::Create { upsert: Upsert { on_conflict, match_by: MatchBy::Unique }, .. }
                if *on_conflict != OnConflict::Fail
        )
    }

    /// The user that it applies to.
    pub const fn target(&self) -> Target {
        match self {
            Self::Create { .. } => Target::New,
            Self::Replace { .. } | Self::Patch { .. } | Self::Edit { .. } | Self::Delete { .. } => {
                Target::Live
            }
            Self::Restore { .. } | Self::Purge { .. } => Target::Deleted,
        }
    }

    /// What updates the user `id` in place of a create with [`OnConflict::Replace`] or
    /// [`OnConflict::Merge`]; `None` for anything else.
    pub fn updating(&self, id: UserId) -> Option<Self> {
        let Self::Create { draft, upsert, .. } = self else { return None };
        match upsert.on_conflict {
            OnConflict::Fail | OnConflict::Skip => None,
            OnConflict::Replace => {
                // Members that a create ignores are ignored here too.
                let mut draft = draft.clone();
                draft.forget_server_made();
                Some(Self::Replace { id, draft })
            }
            OnConflict::Merge => Some(Self::Patch { id, patch: draft.patch.clone()? }),
        }
    }
}
