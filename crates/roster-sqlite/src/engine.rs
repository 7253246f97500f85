//! The store as the core asks for it. Reads are done when the call returns: what it gives is an
//! answer that is already there.

use std::future;

use roster_core::{
    Answer, Command, Deleted, EventsPage, EventsQuery, Failure, Head, LogId, Outcome, Outlived,
    Store, StoreError, Stored, UserId,
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    store::Secret,
};

use crate::{events, page, sqlite::Sqlite};

impl Store for Sqlite {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.carry_out(commands))
    }

    fn preview(&self, _command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        ready(Err(Failure::Store(StoreError::Internal("no dry run yet".into()))))
    }

    fn get_deleted(&self, _id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        ready(Ok(None))
    }

    fn deleted_page(&self, _query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        ready(Err(StoreError::Internal("no deleted users yet".into())))
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        ready(self.read(id))
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        ready(self.readers().read(|connection| page::read(connection, &query)))
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        ready(Ok(self.shared().head()))
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        ready(self.readers().read(|connection| events::page(connection, &query)))
    }

    fn forget(&self, _before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        ready(Ok(0))
    }

    fn health(&self) -> Answer<'_, Result<(), StoreError>> {
        ready(self.shared().health.check())
    }

    fn secret(&self) -> Secret {
        self.secret
    }

    fn log_id(&self) -> LogId {
        self.log_id
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(future::ready(value))
}
