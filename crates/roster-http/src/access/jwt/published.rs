//! What an issuer publishes, in memory, and how old it may be.
//!
//! The keys are fetched again in the background once they are ten minutes old, and at once for a
//! key that nobody knows, though not more often than every half minute. One fetch at a time,
//! however many wait, and nobody waits whose key is known. While the issuer is away its last keys
//! serve for a day; then nobody is let in.

use std::sync::{Arc, PoisonError, RwLock};

use roster_core::{Directory, Json, Timestamp, json};
use tokio::sync::Mutex;

use super::{
    Refused,
    fetch::Fetcher,
    key_set::KeySet,
    limits::{COOLDOWN_MS, IDLE_MS, RETRY_MS, STALE_MS, TTL_MS},
    url::IssuerUrl,
};

/// The keys of an issuer.
#[derive(Clone)]
pub(super) struct Published(Arc<Shared>);

struct Shared {
    url: IssuerUrl,
    fetcher: Fetcher,
    directory: Directory,
    state: RwLock<State>,
    /// Held by whoever fetches.
    fetching: Mutex<()>,
}

/// What is known, and of the last fetch.
#[derive(Clone, Default)]
struct State {
    known: Option<Arc<Known>>,
    fetches: u64,
    ended: Option<Timestamp>,
    failed: bool,
}

/// Keys, as they were when their fetch began.
pub(super) struct Known {
    pub(super) keys: KeySet,
    began: Timestamp,
}

impl Published {
    pub(super) fn new(url: IssuerUrl, fetcher: Fetcher, directory: Directory) -> Self {
        let (state, fetching) = (RwLock::default(), Mutex::default());
        Self(Arc::new(Shared { url, fetcher, directory, state, fetching }))
    }

    /// Starts to fetch what will be needed.
    pub(super) fn begin(&self) {
        self.fetch_behind(0);
    }

    /// Keys that serve, and that hold the key of this id if the issuer has it.
    pub(super) async fn keys(&self, id: Option<&str>) -> Result<Arc<Known>, Refused> {
        let now = self.0.directory.now();
        let mut state = self.0.state();
        if state.must_wait(now) {
            state = self.fetch(state.fetches).await;
        } else if state.is_due(now) {
            self.fetch_behind(state.fetches);
        }
        let lacks = |known: &Known| id.is_some_and(|id| !known.keys.names(id));
        let serves = |state: &State| state.known.clone().filter(|known| known.age(now) < STALE_MS);
        if serves(&state).as_deref().is_some_and(lacks) && state.rested(now) >= COOLDOWN_MS {
            state = self.fetch(state.fetches).await;
        }
        // A key that is unknown while the issuer is away may well be one of its own.
        serves(&state).filter(|known| !(state.failed && lacks(known))).ok_or(Refused::Away)
    }

    /// The keys of the last fetch, if they still serve.
    pub(super) fn at_hand(&self) -> Option<Arc<Known>> {
        let now = self.0.directory.now();
        self.0.state().known.filter(|known| known.age(now) < STALE_MS)
    }

    /// Fetches, or waits for the fetch that somebody else began; it goes on if the caller leaves.
    async fn fetch(&self, seen: u64) -> State {
        let shared = Arc::clone(&self.0);
        drop(tokio::spawn(async move { shared.fetch_unless_done(seen).await }).await);
        self.0.state()
    }

    fn fetch_behind(&self, seen: u64) {
        if self.0.fetching.try_lock().is_ok() {
            let shared = Arc::clone(&self.0);
            tokio::spawn(async move { shared.fetch_unless_done(seen).await });
        }
    }
}

impl State {
    /// Time since the last fetch ended; without end where the clock was set back.
    fn rested(&self, now: Timestamp) -> i64 {
        let passed = |end: Timestamp| now.as_millis() - end.as_millis();
        self.ended.map(passed).filter(|passed| *passed >= 0).unwrap_or(i64::MAX)
    }

    fn must_wait(&self, now: Timestamp) -> bool {
        match self.known.as_ref().map(|known| known.age(now)) {
            Some(age) if age < STALE_MS => age >= TTL_MS && self.rested(now) >= IDLE_MS,
            Some(_) | None => self.rested(now) >= RETRY_MS,
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let aged = self.known.as_ref().is_some_and(|known| known.age(now) >= TTL_MS);
        aged && self.rested(now) >= COOLDOWN_MS
    }
}

impl Known {
    fn age(&self, now: Timestamp) -> i64 {
        now.as_millis() - self.began.as_millis()
    }
}

impl Shared {
    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches, unless somebody did since `seen` fetches had ended.
    async fn fetch_unless_done(&self, seen: u64) {
        let _turn = self.fetching.lock().await;
        let before = self.state();
        if before.fetches != seen {
            return;
        }
        let began = self.directory.now();
        let fetched = self.keys_of_issuer().await;
        let mut state = State {
            fetches: before.fetches + 1,
            ended: Some(self.directory.now()),
            failed: fetched.is_err(),
            known: before.known,
        };
        match fetched {
            Ok(keys) => {
                if before.failed {
                    tracing::info!(issuer = self.url.as_str(), "the issuer's keys are there again");
                }
                state.known = Some(Arc::new(Known { keys, began }));
            }
            Err(error) => {
                let issuer = self.url.as_str();
                tracing::warn!(issuer, error, "the issuer's keys could not be fetched");
            }
        }
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    async fn keys_of_issuer(&self) -> Result<KeySet, String> {
        let told = self.fetcher.get(&self.url.discovery()?).await?;
        let told = json::read(&told).map_err(|fault| fault.detail)?;
        let text = |name: &str| match told.member(name) {
            Some(Json::Text(text)) => Ok(text.as_str()),
            _ => Err(format!("the issuer's document has no {name}")),
        };
        if text("issuer")? != self.url.as_str() {
            return Err("the issuer's document names another issuer".to_owned());
        }
        let url = self.url.published(text("jwks_uri")?)?;
        KeySet::read(&self.fetcher.get(&url).await?)
    }
}
