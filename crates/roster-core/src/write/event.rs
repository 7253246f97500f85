//! The change log: one event for each change, written in the transaction of the change.
//!
//! Positions start at 1, have no gaps and follow commit order: no event ever appears before one
//! that was already read. A replay from the start results in exactly the stored users and groups.
//! The event of a group lists the members that joined and left, not all members.

use std::fmt::{self, Write as _};

use bytes::Bytes;

use crate::{id::UserId, timestamp::Timestamp, user::attribute::Attribute};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A user.
    User,
    /// A group.
    Group,
    /// The schema of users.
    Schema,
    /// The change log itself.
    Log,
    /// An API key.
    Key,
    /// A tenant.
    Tenant,
    /// The uniqueness policy.
    Policy,
    /// The settings of the service.
    Settings,
    /// A webhook.
    Webhook,
}

impl SubjectKind {
    /// Whether it is about how the service is run, which only some callers may read.
    pub const fn is_audit(self) -> bool {
        match self {
            Self::User | Self::Group | Self::Schema | Self::Log => false,
            Self::Key | Self::Tenant | Self::Policy | Self::Settings | Self::Webhook => true,
        }
    }

    /// Whether it is about the whole service, so that only the log of the default tenant has its
    /// events.
    pub const fn is_of_service(self) -> bool {
        match self {
            Self::Tenant | Self::Policy | Self::Settings => true,
            Self::User | Self::Group | Self::Schema | Self::Log | Self::Key | Self::Webhook => {
                false
            }
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $subject:ident $text:literal,)*) => {
        /// The kind of the change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The kind's name in the log.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// What its events are about.
            pub const fn subject(self) -> SubjectKind {
                match self {
                    $(Self::$variant => SubjectKind::$subject,)*
                }
            }
        }
    };
}

kinds! {
    /// A user was created.
    Created User "user.created",
    /// A user was updated.
    Updated User "user.updated",
    /// A user was deleted.
    Deleted User "user.deleted",
    /// A deleted user was restored.
    Restored User "user.restored",
    /// A deleted user was purged, with all its records in the log.
    Purged User "user.purged",
    /// A group was created.
    GroupCreated Group "group.created",
    /// A group or its members changed.
    GroupUpdated Group "group.updated",
    /// A group was deleted.
    GroupDeleted Group "group.deleted",
    /// The schema of users was replaced.
    SchemaUpdated Schema "schema.updated",
    /// The log continues another one, some of whose last events may be lost.
    LogForked Log "log.forked",
    /// A key was created.
    KeyCreated Key "key.created",
    /// A key got a new secret.
    KeyRotated Key "key.rotated",
    /// A key was revoked.
    KeyRevoked Key "key.revoked",
    /// A tenant was created.
    TenantCreated Tenant "tenant.created",
    /// A tenant was updated.
    TenantUpdated Tenant "tenant.updated",
    /// A tenant was deleted.
    TenantDeleted Tenant "tenant.deleted",
    /// A deleted tenant was restored.
    TenantRestored Tenant "tenant.restored",
    /// A deleted tenant was purged, with all records in its log and about it.
    TenantPurged Tenant "tenant.purged",
    /// The uniqueness policy was changed.
    PolicyChanged Policy "policy.changed",
    /// The service was started with other settings than before.
    SettingsChanged Settings "settings.changed",
    /// A webhook was created.
    WebhookCreated Webhook "webhook.created",
    /// A webhook was updated, also by the service.
    WebhookUpdated Webhook "webhook.updated",
    /// A webhook got a new secret.
    WebhookRotated Webhook "webhook.rotated",
    /// A webhook got another position.
    WebhookReplayed Webhook "webhook.replayed",
    /// A webhook was deleted.
    WebhookDeleted Webhook "webhook.deleted",
}

impl EventKind {
    /// The kind with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// Whether it is a kind for groups.
    pub const fn is_of_group(self) -> bool {
        matches!(self.subject(), SubjectKind::Group)
    }

    /// Whether it is a kind for users.
    pub const fn is_of_user(self) -> bool {
        matches!(self.subject(), SubjectKind::User)
    }

    /// Whether it is a kind for how the service is run, which only some callers may read.
    pub const fn is_audit(self) -> bool {
        self.subject().is_audit()
    }
}

/// The id of the log as the subject of an event.
pub const LOG_SUBJECT: UserId =
    UserId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// The members that joined and left a group, in the order of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersChanged {
    /// The members that joined.
    pub added: Vec<UserId>,
    /// The members that left.
    pub removed: Vec<UserId>,
}

impl MembersChanged {
    /// Whether no member joined or left.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// The bytes of an id in the text of an event, with its quotation marks and comma.
const ID_BYTES: usize = 39;

/// One entry of the change log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of the change.
    pub kind: EventKind,
    /// The time of the change.
    pub at: Timestamp,
    /// The author of the change.
    pub actor: String,
    /// The id of the request.
    pub request_id: String,
    /// The user's id; the group's id if the kind is one for groups; [`SCHEMA_ID`] for the schema,
    /// [`LOG_SUBJECT`] for the log; those of [`audit`] for its kinds.
    ///
    /// [`SCHEMA_ID`]: crate::schema::SCHEMA_ID
    /// [`audit`]: crate::audit
    pub user_id: UserId,
    /// The version after the change. That of a log is the number of logs so far. Keys, the policy
    /// and the settings have none, and theirs is 1.
    pub version: i64,
    /// The changed members of the record, with their REST names, without the members that the
    /// server sets.
    pub changed: Vec<Attribute>,
    /// The members that joined and left, if the kind is one for groups. A deleted user has in
    /// `removed` the groups that it left.
    pub members: MembersChanged,
    /// The canonical JSON after the change; empty once the user is purged.
    pub record: Bytes,
}

impl Event {
    /// The approximate size in bytes, without the frame.
    pub const fn bytes(&self) -> usize {
        let ids = self.members.added.len() + self.members.removed.len();
        self.record.len() + ids * ID_BYTES
    }
}

/// The changes in one text, as engines store it: the names of changed members, then `+` and the id
/// of each member that joined, `-` and the id of each that left, separated by commas.
pub fn changed_text(changed: &[Attribute], members: &MembersChanged) -> String {
    let ids = members.added.len() + members.removed.len();
    let mut text = String::with_capacity(changed.len() * 12 + ids * ID_BYTES);
    let mut next = |part: &dyn fmt::Display| {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{comma}{part}");
    };
    for attribute in changed {
        next(&attribute.name());
    }
    for id in &members.added {
        next(&format_args!("+{id}"));
    }
    for id in &members.removed {
        next(&format_args!("-{id}"));
    }
    text
}

/// Parses such a text; `None` if it has any other form.
pub fn changed_of(text: &str) -> Option<(Vec<Attribute>, MembersChanged)> {
    let (mut changed, mut members) = (Vec::new(), MembersChanged::default());
    for part in text.split(',').filter(|part| !part.is_empty()) {
        if let Some(id) = part.strip_prefix('+') {
            members.added.push(UserId::parse(id)?);
        } else if let Some(id) = part.strip_prefix('-') {
            members.removed.push(UserId::parse(id)?);
        } else {
            changed.push(Attribute::from_name(part)?);
        }
    }
    Some((changed, members))
}
