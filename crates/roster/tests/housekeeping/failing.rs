//! A store whose writes fail while a test wants it to.

use std::{
    future,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use roster_core::{
    Answer, Command, Deleted, EventsPage, EventsQuery, Failure, GroupCommand, GroupId, GroupStore,
    Head, Idempotency, LogId, Outcome, Outlived, Rules, Store, StoreError, Stored, Timestamp,
    UserId,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyStore, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::Secret,
    walk::WalkStore,
};
use roster_testkit::Oracle;

/// The oracle behind a switch.
pub(crate) struct Failing {
    store: Oracle,
    fails: AtomicBool,
    failures: AtomicU64,
}

impl Failing {
    pub(crate) fn new(store: Oracle) -> Self {
        Self { store, fails: AtomicBool::new(false), failures: AtomicU64::new(0) }
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// How many writes failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// The error of a write, if it is to fail.
    fn error(&self) -> Option<StoreError> {
        let fails = self.fails.load(Ordering::SeqCst);
        fails.then(|| {
            self.failures.fetch_add(1, Ordering::SeqCst);
            StoreError::Unavailable("the test wants it so".into())
        })
    }
}

impl GroupStore for Failing {
    fn change_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>> {
        self.store.change_group(command)
    }

    fn preview_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>> {
        self.store.preview_group(command)
    }

    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.group(id)
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        self.store.groups(query)
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        self.store.members(query)
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        self.store.groups_of(users)
    }
}

impl KeyStore for Failing {
    fn keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        self.store.keys(known)
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        self.store.change_keys(change)
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        self.store.note_key_use(uses)
    }
}

impl Store for Failing {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        match self.error() {
            Some(error) => Box::pin(future::ready(vec![Err(Failure::Store(error))])),
            None => self.store.apply(commands),
        }
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        match self.error() {
            Some(error) => Box::pin(future::ready(Err(error))),
            None => self.store.forget(before),
        }
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        self.store.preview(command)
    }

    fn recall(
        &self,
        mark: Idempotency,
        at: Timestamp,
    ) -> Answer<'_, Result<Option<Outcome>, Failure>> {
        self.store.recall(mark, at)
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        self.store.get(id)
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        self.store.get_deleted(id)
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        self.store.page(query)
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        self.store.deleted_page(query)
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        self.store.head()
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        self.store.events(query)
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        self.store.health()
    }

    fn rules(&self) -> Rules {
        self.store.rules()
    }

    fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn log_id(&self) -> LogId {
        self.store.log_id()
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        self.store.walks()
    }
}
