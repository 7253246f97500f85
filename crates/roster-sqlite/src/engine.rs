//! The store as the core asks for it. Reads are done when the call returns: what it gives is an
//! answer that is already there.

use std::future;

use roster_core::{
    Answer, Command, Deleted, EventsPage, EventsQuery, Failure, Head, LogId, Outcome, Outlived,
    Store, StoreError, Stored, Timestamp, UserId,
    access::{ApiKey, KeyChange, KeyFailure, KeyId, KeyStore, Keyring},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    plan::Plan,
    store::Secret,
};

use crate::{deleted, events, keys, page, sqlite::Sqlite};

/// A page of more users or events is read off the threads that answer requests.
const SHORT_PAGE_MAX: usize = 500;

impl Store for Sqlite {
    fn apply(&self, commands: Vec<Command>) -> Answer<'_, Vec<Result<Outcome, Failure>>> {
        Box::pin(self.carry_out(commands))
    }

    fn preview(&self, command: Command) -> Answer<'_, Result<Outcome, Failure>> {
        ready(self.judge(&command))
    }

    fn get_deleted(&self, id: UserId) -> Answer<'_, Result<Option<Deleted>, StoreError>> {
        ready(self.readers().read(|connection| deleted::get(connection, id)))
    }

    fn deleted_page(&self, query: DeletedQuery) -> Answer<'_, Result<DeletedPage, StoreError>> {
        if query.limit <= SHORT_PAGE_MAX {
            return ready(self.readers().read(|connection| deleted::page(connection, &query)));
        }
        Box::pin(self.scans().read(move |connection| deleted::page(connection, &query)))
    }

    fn get(&self, id: UserId) -> Answer<'_, Result<Option<Stored>, StoreError>> {
        ready(self.read(id))
    }

    fn page(&self, query: PageQuery) -> Answer<'_, Result<Page, StoreError>> {
        if query.limit <= SHORT_PAGE_MAX {
            let plan = Plan::of(&query);
            if plan.is_bounded(&query) {
                return ready(self.readers().read(|connection| page::read(connection, &query)));
            }
            if plan.may_find_few() {
                let few = |connection: &_| page::read_few(connection, &query, &plan);
                match self.readers().read(few) {
                    Ok(None) => {}
                    Ok(Some(page)) => return ready(Ok(page)),
                    Err(error) => return ready(Err(error)),
                }
            }
        }
        Box::pin(self.scans().read(move |connection| page::read(connection, &query)))
    }

    fn head(&self) -> Answer<'_, Result<Head, StoreError>> {
        ready(Ok(self.shared().head()))
    }

    fn events(&self, query: EventsQuery) -> Answer<'_, Result<EventsPage, StoreError>> {
        if query.limit <= SHORT_PAGE_MAX {
            return ready(self.readers().read(|connection| events::page(connection, &query)));
        }
        Box::pin(self.scans().read(move |connection| events::page(connection, &query)))
    }

    fn forget(&self, before: Outlived) -> Answer<'_, Result<u64, StoreError>> {
        Box::pin(self.chore(move |writer| writer.forget(before)))
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

impl KeyStore for Sqlite {
    fn keys(&self, known: Option<i64>) -> Answer<'_, Result<Option<Keyring>, StoreError>> {
        ready(self.readers().read(|connection| keys::read(connection, known)))
    }

    fn change_keys(&self, change: KeyChange) -> Answer<'_, Result<ApiKey, KeyFailure>> {
        Box::pin(self.chore(move |writer| writer.change_keys(&change)))
    }

    fn note_key_use(&self, uses: Vec<(KeyId, Timestamp)>) -> Answer<'_, Result<(), StoreError>> {
        Box::pin(self.chore(move |writer| writer.note_key_use(&uses)))
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(future::ready(value))
}
