//! The store as the core asks for it.

use roster_core::{
    Answer, ClockMark, ClockReading, Command, Deleted, Erasure, EventsPage, EventsQuery, Failure,
    GroupCommand, GroupId, GroupStore, Head, LogId, Outcome, Outlived, Rules, Store, StoreError,
    Stored, Timestamp, UserId,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyStore, Keyring},
    group::{GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::Secret,
    walk::WalkStore,
};

use roster_engine::Request;

use crate::{
    erasure::{Erase, PendingErasures},
    groups::{GroupsOfUsers, OneGroup},
    keys::{KeyUses, KeysSince},
    pool::Tries,
    postgres::Postgres,
    reads::{DeletedUser, LogHead},
};

impl Store for Postgres {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.execute(commands))
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(self.preview_user(command))
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(self.gathering().user(id))
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        Box::pin(async move { self.shared().ask(&DeletedUser(id)).await })
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        Box::pin(self.users(query))
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        Box::pin(async move { self.shared().ask(&query).await })
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        Box::pin(async { self.shared().ask(&LogHead).await })
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_long(), &query).await })
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_long(), &before).await })
    }

    fn pending_erasures(&self) -> Answer<'_, Result<Vec<UserId>, StoreError>> {
        Box::pin(async { self.shared().ask(&PendingErasures).await })
    }

    fn erase(&self, id: UserId) -> Answer<'_, Result<Erasure, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_long(), &Erase(id)).await })
    }

    fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Answer<'_, Result<ClockMark, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_short(), &reading).await })
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(self.in_force().refresh())
    }

    fn rules(&self) -> Rules {
        self.in_force().known().rules
    }

    fn secret(&self) -> Secret {
        self.secret
    }

    fn log_id(&self) -> LogId {
        self.log_id
    }

    fn walks(&self) -> Option<&dyn WalkStore> {
        Some(self)
    }
}

impl GroupStore for Postgres {
    fn change_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(self.execute_group(command))
    }

    fn preview_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>> {
        Box::pin(async move { self.preview_request(&Request::Group(command)).await })
    }

    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        Box::pin(async move { self.shared().ask(&OneGroup(id)).await })
    }

    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_long(), &query).await })
    }

    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_long(), &query).await })
    }

    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>> {
        Box::pin(async move { self.shared().ask(&GroupsOfUsers(users)).await })
    }
}

impl KeyStore for Postgres {
    fn keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        Box::pin(async move { self.shared().ask(&KeysSince(known)).await })
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(async move { Ok(self.own().ask(Tries::of_short(), &change).await??) })
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(async move { self.own().ask(Tries::of_short(), &KeyUses(uses)).await })
    }
}
