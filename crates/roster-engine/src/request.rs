//! A queued command, with a decision that may be made before its execution.

use std::sync::{Arc, Mutex, PoisonError};

use roster_core::{
    Act, Command, Decision, GroupCommand, Idempotency, Refusal, Rules, SchemaCommand, Start,
    Target, Timestamp, UserSchema, decide,
};

use crate::facts::Current;

/// A queued command.
#[derive(Debug)]
pub enum Request {
    /// About a user.
    User(UserRequest),
    /// About a group.
    Group(GroupCommand),
    /// About the schema of users.
    Schema(SchemaCommand),
}

/// A command about a user.
#[derive(Debug)]
pub struct UserRequest {
    pub(crate) command: Command,
    precomputed: Mutex<Option<Precomputed>>,
}

/// A decision made on a record under these rules and this version of the schema. It is used only if
/// the stored record has the same bytes. An equal version is not enough, because the record may
/// come from a transaction that was never committed.
#[derive(Clone, Debug)]
struct Precomputed {
    on: Option<Arc<Current>>,
    rules: Rules,
    schema: i64,
    decision: Result<Decision, Refusal>,
}

impl Request {
    /// Whether the command may be executed because its caller still waits for it.
    pub fn begin(&self) -> bool {
        match self {
            Self::User(request) => request.command.begin(),
            Self::Group(command) => command.begin(),
            Self::Schema(command) => command.start.as_ref().is_none_or(Start::begin),
        }
    }

    /// Notes the bytes that the command adds to the change log.
    pub(crate) fn note_logged(&self, bytes: usize) {
        let start = match self {
            Self::User(request) => &request.command.start,
            Self::Group(command) => &command.start,
            Self::Schema(command) => &command.start,
        };
        if let Some(start) = start {
            start.note_logged(bytes);
        }
    }

    /// Whether the command may be executed in one batch with others of this kind.
    pub(crate) const fn shares_batch(&self) -> bool {
        match self {
            Self::User(UserRequest { command, .. }) => {
                !matches!(command.act, Act::Restore { joins_groups: true, .. })
            }
            Self::Group(_) | Self::Schema(_) => false,
        }
    }

    /// The time of the request, and its idempotency key.
    pub(crate) const fn idempotency(&self) -> (Timestamp, Option<&Idempotency>) {
        match self {
            Self::User(UserRequest { command, .. }) => (command.at, command.idempotency.as_ref()),
            Self::Group(command) => (command.at, command.idempotency.as_ref()),
            Self::Schema(command) => (command.at, command.idempotency.as_ref()),
        }
    }

    /// The record that the command was decided on in advance.
    pub fn decided_on(&self) -> Option<Arc<Current>> {
        let Self::User(request) = self else { return None };
        request.precomputed()?.on
    }
}

impl UserRequest {
    /// A command that is decided now if it creates a user, and otherwise when it is executed.
    pub fn new(rules: Rules, schema: &UserSchema, command: Command) -> Self {
        let is_new = command.target() == Target::New;
        let request = Self { command, precomputed: Mutex::default() };
        if is_new {
            drop(request.decide(rules, schema, None));
        }
        request
    }

    /// A command that is decided now, on what is probably the stored record.
    pub fn decided_on(
        rules: Rules,
        schema: &UserSchema,
        command: Command,
        current: Current,
    ) -> Self {
        let request = Self { command, precomputed: Mutex::default() };
        drop(request.decide(rules, schema, Some(&Arc::new(current))));
        request
    }

    /// The decision on that user: the precomputed one if it was made on the same record.
    pub(crate) fn decision(
        &self,
        rules: Rules,
        schema: &UserSchema,
        current: Option<&Arc<Current>>,
    ) -> Result<Decision, Refusal> {
        let record = current.map(|current| &current.record);
        match self.precomputed() {
            Some(Precomputed { on, rules: under, schema: version, decision })
                if under == rules
                    && version == schema.version
                    && on.as_ref().map(|on| &on.record) == record =>
            {
                decision
            }
            _ => self.decide(rules, schema, current),
        }
    }

    fn decide(
        &self,
        rules: Rules,
        schema: &UserSchema,
        current: Option<&Arc<Current>>,
    ) -> Result<Decision, Refusal> {
        let decision = decide(rules, schema, current.map(|current| &current.user), &self.command);
        let (on, version) = (current.cloned(), schema.version);
        let precomputed = Precomputed { on, rules, schema: version, decision: decision.clone() };
        *self.precomputed.lock().unwrap_or_else(PoisonError::into_inner) = Some(precomputed);
        decision
    }

    fn precomputed(&self) -> Option<Precomputed> {
        self.precomputed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
