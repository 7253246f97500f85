//! Connections that are kept open.
//!
//! Two kinds: a few that many askers share, their requests following each other without a wait in
//! between ([`Shared`]), and some that one asker has for itself for the time of a transaction
//! ([`Own`]). A connection that failed is dropped, and the next one who asks makes a new one.

mod own;
mod shared;

use std::{
    future::Future,
    time::{Duration, Instant},
};

use roster_core::StoreError;
use tokio::time::timeout_at;

use crate::{
    connect::{ConnectError, Connection},
    failure::{Remedy, remedy, store_error, too_slow},
};
pub(crate) use own::Own;
pub(crate) use shared::Shared;

/// How long a question may take, everything included, before its asker is told to come again.
const READ_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a question that looks at many rows may take.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

/// How long one try of a question may take: a server that stands still is left after it.
const TRY_TIMEOUT: Duration = Duration::from_millis(1500);

/// How long to wait after all hosts refused.
pub(crate) const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// What the database is asked, on one connection; it may be asked again on another one.
pub(crate) trait Question: Sync {
    /// What is answered.
    type Answer: Send;

    /// Asks.
    fn ask(
        &self,
        connection: &Connection,
    ) -> impl Future<Output = Result<Self::Answer, Miss>> + Send;
}

/// The tries of one question.
#[derive(Debug)]
pub(crate) struct Tries {
    end: Instant,
    /// How long one of them may take.
    each: Duration,
}

/// Why a try gave no answer.
#[derive(Debug)]
pub(crate) enum Miss {
    /// The database says why.
    Database(tokio_postgres::Error),
    /// The answer cannot be used.
    Store(StoreError),
    /// What was decided belongs to an era that has ended.
    EraEnded,
}

impl From<tokio_postgres::Error> for Miss {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Miss {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Miss> for StoreError {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::Database(error) => store_error(error),
            Miss::Store(error) => error,
            Miss::EraEnded => StoreError::Unavailable(
                "the policy of the store changed meanwhile: send the request again".into(),
            ),
        }
    }
}

impl Tries {
    /// The tries of a short question that is asked now.
    pub(crate) fn of_short() -> Self {
        Self { end: Instant::now() + READ_TIMEOUT, each: TRY_TIMEOUT }
    }

    /// The tries of a question that looks at many rows.
    pub(crate) fn of_long() -> Self {
        Self { end: Instant::now() + LONG_TIMEOUT, each: LONG_TIMEOUT }
    }

    /// When the last one ends.
    pub(crate) const fn end(&self) -> Instant {
        self.end
    }

    /// Asks: `None` where it has to be asked again, on another connection.
    pub(crate) async fn ask<Q: Question>(
        &self,
        connection: &Connection,
        question: &Q,
    ) -> Result<Option<Q::Answer>, StoreError> {
        let end = self.end.min(Instant::now() + self.each);
        match timeout_at(end.into(), question.ask(connection)).await {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(Miss::Database(error))) => match remedy(&error) {
                Remedy::Nothing => Err(store_error(error)),
                Remedy::Again | Remedy::Wait => {
                    self.again().then_some(None).ok_or_else(|| store_error(error))
                }
                Remedy::Reconnect => {
                    connection.give_up();
                    self.again().then_some(None).ok_or_else(|| store_error(error))
                }
            },
            Ok(Err(miss @ (Miss::Store(_) | Miss::EraEnded))) => Err(miss.into()),
            Err(_) => {
                connection.give_up();
                self.again().then_some(None).ok_or_else(too_slow)
            }
        }
    }

    fn again(&self) -> bool {
        Instant::now() < self.end
    }
}

/// Nothing could be connected to.
fn unreachable(error: ConnectError) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}
