//! The store as the core asks for it. Reads are done when the call returns: what it gives is an
//! answer that is already there.

use std::future;

use roster_core::{
    Answer, Command, Event, Failure, Head, LogId, Outcome, Store, StoreError, Stored, UserId,
    list::{Page, PageQuery},
    store::Secret,
};

use crate::{events, page, sqlite::Sqlite};

impl Store for Sqlite {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.carry_out(commands))
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

    fn events_after(
        &self,
        position: i64,
        limit: usize,
    ) -> Answer<'_, Result<Vec<(i64, Event)>, StoreError>> {
        ready(self.readers().read(|connection| events::after(connection, position, limit)))
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
