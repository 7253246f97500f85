//! The harness of a case: an empty store, its clock, and short methods for requests.
//!
//! A conforming store returns no store errors, so each of them fails the case at once. Refusals are
//! returned. This module does not know which engine it uses.

use std::{future::Future, sync::Arc, time::Duration};

use roster_core::{
    Act, Actor, Caller, Clock as _, Command, Directory, Draft, Failure, Idempotency, IndexStep,
    Json, OnConflict, Outcome, Outlived, Preconditions, Refusal, Rules, Store, Stored, Upsert,
    UserAct, UserId, ViolationCode, json,
};
use serde_json::Value;

use crate::{TestClock, runtime::block_on};

/// A store under test, with everything that must exist as long as it does.
pub struct Subject {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Dropped after the store: a directory or a server.
    pub keep: Box<dyn Send>,
}

impl Subject {
    /// A store that needs nothing else.
    pub fn new(store: impl Store) -> Self {
        Self { store: Arc::new(store), keep: Box::new(()) }
    }
}

/// Runs a case on a fresh subject.
pub fn run<F: Future<Output = ()>>(
    subject: fn(Rules) -> Subject,
    rules: Rules,
    case: impl FnOnce(Harness) -> F,
) {
    block_on(async {
        let subject = subject(rules);
        case(Harness::new(Arc::clone(&subject.store))).await;
    });
}

/// An operation with its preconditions.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// The operation.
    pub act: Act,
    /// Its preconditions.
    pub preconditions: Preconditions,
}

impl<A: Into<Act>> From<A> for Conditional {
    fn from(act: A) -> Self {
        only_if(act, Preconditions::default())
    }
}

/// An operation with these preconditions.
pub fn only_if(act: impl Into<Act>, preconditions: Preconditions) -> Conditional {
    Conditional { act: act.into(), preconditions }
}

/// A store, its clock, and short methods for requests.
#[derive(Clone)]
pub struct Harness {
    store: Arc<dyn Store>,
    /// The clock for commands and ids.
    pub clock: Arc<TestClock>,
}

impl Harness {
    /// A harness on a store, with a new clock.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, clock: Arc::new(TestClock::new()) }
    }

    /// A harness on another store, with the same clock.
    pub fn on(&self, store: Arc<dyn Store>) -> Self {
        Self { store, clock: Arc::clone(&self.clock) }
    }

    /// The store itself.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// A directory on the store.
    pub fn directory(&self) -> Directory {
        let clock: Arc<TestClock> = Arc::clone(&self.clock);
        Directory::new(Arc::clone(&self.store), clock)
    }

    /// Executes steps of the indexes, and compares unique values, at most `steps` times.
    pub async fn build_indexes(&self, steps: usize) {
        for _ in 0..steps {
            match self.store.indexes().index_step().await.expect("a step") {
                IndexStep::Pending | IndexStep::Dropped | IndexStep::Busy => {}
                // An engine that sweeps its files waits for the end of a sweep.
                IndexStep::Waiting => tokio::time::sleep(Duration::from_millis(5)).await,
                IndexStep::Check(kind) => {
                    self.directory().check_index(kind, usize::MAX).await.expect("keys");
                }
                IndexStep::Failed | IndexStep::Done => return,
            }
        }
    }

    /// A new, unused id.
    pub fn new_id(&self) -> UserId {
        self.clock.new_id()
    }

    /// A command at the clock's time.
    pub fn command(&self, act: impl Into<Conditional>) -> Command {
        let Conditional { act, preconditions } = act.into();
        let caller = Caller { actor: Actor::Anonymous, request_id: "request".to_owned() };
        Command { preconditions, ..Command::of(act, self.clock.now(), caller) }
    }

    /// A command at the clock's time, with an idempotency key and the fingerprint of its request.
    pub fn marked(&self, act: impl Into<Conditional>, key: u8, fingerprint: u8) -> Command {
        let mark = Idempotency { key: [key; 32], fingerprint: [fingerprint; 32] };
        Command { idempotency: Some(mark), ..self.command(act) }
    }

    /// Executes several acts in one batch.
    pub async fn apply(&self, acts: Vec<impl Into<Conditional>>) -> Vec<Result<Outcome, Refusal>> {
        self.execute(acts.into_iter().map(|act| self.command(act)).collect()).await
    }

    /// Executes several commands in one batch.
    pub async fn execute(&self, commands: Vec<Command>) -> Vec<Result<Outcome, Refusal>> {
        let expected = commands.len();
        let results = self.store.apply(commands).await;
        assert_eq!(results.len(), expected, "one result for each command");
        results.into_iter().map(refused).collect()
    }

    /// Executes one act.
    pub async fn act(&self, act: impl Into<Conditional>) -> Result<Outcome, Refusal> {
        self.apply(vec![act]).await.pop().expect("one result for each command")
    }

    /// Executes one act with an idempotency key.
    pub async fn act_once(
        &self,
        act: impl Into<Conditional>,
        key: u8,
        fingerprint: u8,
    ) -> Result<Outcome, Refusal> {
        let mut results = self.execute(vec![self.marked(act, key, fingerprint)]).await;
        results.pop().expect("one result for each command")
    }

    /// The stored result of a request: the replay of a command that would otherwise be rejected.
    pub async fn recall(&self, key: u8, fingerprint: u8) -> Result<Option<Outcome>, Refusal> {
        match self.act_once(deleting(self.new_id()), key, fingerprint).await {
            Err(Refusal::NotFound) => Ok(None),
            result => result.map(Some),
        }
    }

    /// The act of creating a user, with a new id.
    pub fn creating(&self, body: &Value) -> UserAct {
        self.creating_or(body, OnConflict::Fail)
    }

    /// The act of creating a user, and what to do if another user holds its username or address.
    pub fn creating_or(&self, body: &Value, upsert: impl Into<Upsert>) -> UserAct {
        let draft = Box::new(Draft::parse_mergeable(tree(body)));
        UserAct::Create { id: self.clock.new_id(), draft, upsert: upsert.into() }
    }

    /// Creates a user.
    pub async fn create(&self, body: Value) -> Result<Outcome, Refusal> {
        self.act(self.creating(&body)).await
    }

    /// Creates a user, which must succeed.
    pub async fn user(&self, body: Value) -> Stored {
        self.create(body.clone()).await.unwrap_or_else(|no| panic!("{body}: {no:?}")).stored
    }

    /// Replaces a user, without a precondition.
    pub async fn replace(&self, id: UserId, body: Value) -> Result<Outcome, Refusal> {
        self.replace_if(id, body, Preconditions::default()).await
    }

    /// Replaces a user if the preconditions hold.
    pub async fn replace_if(
        &self,
        id: UserId,
        body: Value,
        preconditions: Preconditions,
    ) -> Result<Outcome, Refusal> {
        self.act(only_if(replacing(id, &body), preconditions)).await
    }

    /// Patches a user, without a precondition.
    pub async fn patch(&self, id: UserId, body: Value) -> Result<Outcome, Refusal> {
        self.patch_if(id, body, Preconditions::default()).await
    }

    /// Patches a user if the preconditions hold.
    pub async fn patch_if(
        &self,
        id: UserId,
        body: Value,
        preconditions: Preconditions,
    ) -> Result<Outcome, Refusal> {
        self.act(only_if(patching(id, &body), preconditions)).await
    }

    /// Deletes a user, without a precondition.
    pub async fn delete(&self, id: UserId) -> Result<Outcome, Refusal> {
        self.delete_if(id, Preconditions::default()).await
    }

    /// Deletes a user if the preconditions hold.
    pub async fn delete_if(
        &self,
        id: UserId,
        preconditions: Preconditions,
    ) -> Result<Outcome, Refusal> {
        self.act(only_if(deleting(id), preconditions)).await
    }

    /// Restores a deleted user, without a precondition.
    pub async fn restore(&self, id: UserId) -> Result<Outcome, Refusal> {
        self.act(restoring(id)).await
    }

    /// Purges a deleted user, without a precondition.
    pub async fn purge(&self, id: UserId) -> Result<Outcome, Refusal> {
        self.act(purging(id)).await
    }

    /// The outcome of a dry run of an act.
    pub async fn preview(&self, act: impl Into<Conditional>) -> Result<Outcome, Refusal> {
        self.preview_command(self.command(act)).await
    }

    /// The outcome of a dry run of a command.
    pub async fn preview_command(&self, command: Command) -> Result<Outcome, Refusal> {
        refused(self.store.preview(command).await)
    }

    /// Deletes the records and events before these times, step by step. Returns how many.
    pub async fn forget(&self, before: Outlived) -> u64 {
        let mut deleted = 0;
        loop {
            let step = self.store.forget(before).await.expect("the store answers");
            if step == 0 {
                return deleted;
            }
            deleted += step;
        }
    }
}

/// The sender of the requests that change keys and tenants.
pub(crate) fn caller() -> Caller {
    Caller { actor: Actor::System, request_id: "audit".to_owned() }
}

/// The act of replacing a user.
pub fn replacing(id: UserId, body: &Value) -> UserAct {
    UserAct::Replace { id, draft: Box::new(draft(body)) }
}

/// The act of deleting a user.
pub fn deleting(id: UserId) -> UserAct {
    UserAct::Delete { id }
}

/// The act of patching a user.
pub fn patching(id: UserId, body: &Value) -> UserAct {
    UserAct::Patch { id, patch: Arc::new(tree(body)) }
}

/// The act of restoring a deleted user.
pub fn restoring(id: UserId) -> UserAct {
    UserAct::Restore { id, joins_groups: false }
}

/// The act of purging a deleted user.
pub fn purging(id: UserId) -> UserAct {
    UserAct::Purge { id }
}

/// A body as parsed from a request.
pub fn tree(body: &Value) -> Json {
    json::read(body.to_string().as_bytes()).expect("the body of the case is valid JSON")
}

pub(super) fn draft(body: &Value) -> Draft {
    Draft::parse(tree(body))
}

/// A stored record, parsed.
pub fn view(stored: &Stored) -> Value {
    serde_json::from_slice(&stored.record).expect("a record is JSON")
}

/// A result without store errors, which fail the case.
pub fn refused<T>(result: Result<T, Failure>) -> Result<T, Refusal> {
    match result {
        Ok(value) => Ok(value),
        Err(Failure::Refused(refusal)) => Err(refusal),
        Err(Failure::Store(error)) => panic!("the store failed: {error:?}"),
    }
}

/// The pointers and codes of an invalid user.
pub fn faults(result: Result<Outcome, Refusal>) -> Vec<(String, ViolationCode)> {
    match result {
        Err(Refusal::Invalid(violations)) => {
            violations.into_iter().map(|violation| (violation.pointer, violation.code)).collect()
        }
        other => panic!("expected an invalid user, got {other:?}"),
    }
}
