//! Many writes of one request.

use std::{collections::BTreeSet, sync::Arc};

use super::Directory;
use crate::{
    access::{Permit, WriteUsers},
    failure::{Failure, StoreError},
    group::{GroupAct, GroupDraft, GroupEdit, MembersEdit, StatedKinds},
    id::UserId,
    json::Json,
    read::events::EventsQuery,
    user::draft::Draft,
    write::{
        command::{Act, Caller, Command, Mode, Preconditions, Upsert, UserAct},
        event::EventKind,
        outcome::Outcome,
        start::Start,
    },
};

/// One write of a request that has many.
#[derive(Clone, Debug)]
pub enum BulkWrite {
    /// Create a user, or update the one that exists.
    Create(Draft, Upsert),
    /// Patch a user by JSON Merge Patch.
    Patch(UserId, Preconditions, Arc<Json>),
    /// Delete a user.
    Delete(UserId, Preconditions),
    /// Create a group with these members, or change the one that has its name.
    Group {
        /// The group.
        draft: Box<GroupDraft>,
        /// Its members.
        members: BTreeSet<UserId>,
        /// What the line says they are.
        kinds: StatedKinds,
        /// The change of the group that has the name; `None` to reject the write then.
        otherwise: Option<Box<(GroupEdit, MembersEdit)>>,
    },
}

/// A write of such a request, and what belongs to it alone.
#[derive(Clone, Debug)]
pub struct BulkLine {
    /// The write.
    pub write: BulkWrite,
    /// Charges for its events, and lets its caller cancel it.
    pub start: Option<Start>,
    /// The request id of its events, if it is not that of the caller.
    pub request_id: Option<String>,
}

impl From<BulkWrite> for BulkLine {
    fn from(write: BulkWrite) -> Self {
        Self { write, start: None, request_id: None }
    }
}

impl Directory {
    /// Executes writes in order, each independently, with shared commits. The results have the
    /// order of the writes.
    pub async fn write_many(
        &self,
        _may: Permit<WriteUsers>,
        lines: Vec<BulkLine>,
        mode: Mode,
        caller: &Caller,
    ) -> Vec<Result<Outcome, Failure>> {
        let at = self.clock.now();
        let command = |BulkLine { write, start, request_id }| {
            let mut caller = caller.clone();
            if let Some(request_id) = request_id {
                caller.request_id = request_id;
            }
            let (act, preconditions): (Act, _) = match write {
                BulkWrite::Create(draft, upsert) => (self.new_user(draft, upsert).into(), None),
                BulkWrite::Patch(id, preconditions, patch) => {
                    (UserAct::Patch { id, patch }.into(), Some(preconditions))
                }
                BulkWrite::Delete(id, preconditions) => {
                    (UserAct::Delete { id }.into(), Some(preconditions))
                }
                BulkWrite::Group { draft, members, kinds, otherwise } => {
                    let id = self.clock.new_id();
                    (GroupAct::Create { id, draft, members, kinds, otherwise }.into(), None)
                }
            };
            Command {
                act,
                preconditions: preconditions.unwrap_or_default(),
                at,
                caller,
                idempotency: None,
                start,
            }
        };
        let commands: Vec<Command> = lines.into_iter().map(command).collect();
        match mode {
            Mode::Write => self.store.apply(commands).await,
            Mode::DryRun => {
                let mut results = Vec::with_capacity(commands.len());
                for command in commands {
                    results.push(self.store.preview(command).await);
                }
                results
            }
        }
    }

    /// Whether a user was created by this caller in a request with this id, as far as the change
    /// log goes back.
    pub async fn is_created_in(
        &self,
        _may: Permit<WriteUsers>,
        id: UserId,
        caller: &Caller,
        request_id: &str,
    ) -> Result<bool, StoreError> {
        let query = EventsQuery { user_id: Some(id), ..EventsQuery::after(0, 1) };
        let events = self.store.events(query).await?.events;
        Ok(events.first().is_some_and(|(_, event)| {
            event.kind == EventKind::Created
                && event.request_id == request_id
                && event.actor == caller.actor.to_string()
        }))
    }
}
