//! Housekeeping: what is kept for a time only is forgotten once that is over.
//!
//! Deleted users are purged in the order in which they left, events and idempotency keys are
//! forgotten from the oldest. A round does a bounded amount of work, one step after the other, so
//! that callers hardly notice it; what is left waits for the next round. A store that fails ends
//! the round, never the task.

use std::time::Duration;

use roster_core::{
    Deleted, Directory, Failure, Outlived, Preconditions, StoreError, Tags, Terms, Timestamp,
    access::{Authority, Permit, PurgeUsers},
    limits::{IDEMPOTENCY_KEEP_MS, PAGE_BYTES_MAX},
    list::{DeletedQuery, Direction},
};

/// Time between two rounds, unless something is kept for less.
const EVERY: Duration = Duration::from_mins(1);

/// Most users that are purged in one round.
const PURGES_MAX: usize = 1000;

/// Deleted users that are read at a time.
const PAGE: usize = 100;

/// Most steps of forgetting in one round.
const STEPS_MAX: usize = 200;

/// The request id under which the log keeps what housekeeping did.
const REQUEST_ID: &str = "housekeeping";

/// How long things are kept; none is for good.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// A deleted user.
    pub deleted: Option<Duration>,
    /// An event.
    pub events: Option<Duration>,
}

/// The task.
pub struct Housekeeping {
    directory: Directory,
    keep: Keep,
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Users that were purged.
    pub purged: u64,
    /// Events and idempotency keys that were forgotten.
    pub forgotten: u64,
}

impl Housekeeping {
    /// The task for a directory.
    pub const fn new(directory: Directory, keep: Keep) -> Self {
        Self { directory, keep }
    }

    /// Goes round after round, and never ends. It may be dropped at any moment.
    pub async fn run(self) {
        let every = self.keep.deleted.map_or(EVERY, |keep| keep.min(EVERY));
        let mut failing = false;
        loop {
            match self.round().await {
                Ok(round) => {
                    failing = false;
                    if round != Round::default() {
                        let Round { purged, forgotten } = round;
                        tracing::info!(purged, forgotten, "housekeeping");
                    }
                }
                // The same trouble is told once, not every minute.
                Err(error) if !failing => {
                    failing = true;
                    let error = chain(&error);
                    tracing::warn!(error, "housekeeping failed; it will be tried again");
                }
                Err(_) => {}
            }
            tokio::time::sleep(every).await;
        }
    }

    /// One round.
    pub async fn round(&self) -> Result<Round, StoreError> {
        let now = self.directory.now();
        let mut round = Round::default();
        if let Some(keep) = self.keep.deleted {
            self.purge(before(now, keep), &mut round).await?;
        }
        let never = Timestamp::from_millis(i64::MIN);
        let outlived = Outlived {
            keys_before: before(now, Duration::from_millis(IDEMPOTENCY_KEEP_MS.unsigned_abs())),
            events_before: self.keep.events.map_or(never, |keep| before(now, keep)),
        };
        for _ in 0..STEPS_MAX {
            match self.directory.forget(outlived).await? {
                0 => break,
                step => round.forgotten += step,
            }
        }
        Ok(round)
    }

    /// Purges those who left before this moment, the first to leave first.
    async fn purge(&self, before: Timestamp, round: &mut Round) -> Result<(), StoreError> {
        let mut query = DeletedQuery {
            direction: Direction::Ascending,
            after: None,
            limit: PAGE,
            before: Some(before),
            bytes_max: PAGE_BYTES_MAX,
        };
        let may = Permit::<PurgeUsers>::of_the_service();
        for _ in 0..PURGES_MAX / PAGE {
            let page = self.directory.list_deleted(may, query.clone()).await?;
            for deleted in &page.items {
                round.purged += self.purge_one(deleted).await?;
            }
            match page.next {
                // What was purged is gone: the next page begins after it all the same.
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        Ok(())
    }

    /// Purges a user as it was seen: not one that came back and left again meanwhile.
    async fn purge_one(&self, deleted: &Deleted) -> Result<u64, StoreError> {
        let seen = Tags::Versions(vec![deleted.stored.version]);
        let held = Preconditions { if_match: Some(seen), if_none_match: None };
        let caller = Authority::of_the_service().caller(REQUEST_ID);
        let terms = Terms { held, ..Terms::of(caller) };
        match self.directory.purge(Permit::of_the_service(), deleted.stored.id, terms).await {
            Ok(_) => Ok(1),
            // Somebody restored or purged it meanwhile.
            Err(Failure::Refused(_)) => Ok(0),
            Err(Failure::Store(error)) => Err(error),
        }
    }
}

fn before(now: Timestamp, keep: Duration) -> Timestamp {
    let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(keep))
}

/// An error with its causes.
fn chain(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
