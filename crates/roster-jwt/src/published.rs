//! The cached keys of an issuer, and how old they may be.
//!
//! Keys older than ten minutes are fetched again in the background, and those older than eleven
//! before they are used. A token with an unknown key id, and one that no known key verifies, cause
//! a fetch at once, but at most one every 30 seconds. Only one fetch runs at a time. Only requests
//! that need it wait for it. If the issuer cannot be reached, its last keys are used for up to a
//! day. After that, its tokens are rejected.

use std::sync::{Arc, PoisonError, RwLock};

use roster_core::{Directory, Json, Timestamp, json};
use roster_outbound::Client;
use tokio::sync::Mutex;

use crate::{
    Refused,
    fetch::get,
    key_set::KeySet,
    limits::{COOLDOWN_MS, IDLE_MS, RETRY_MS, SET_KEYS_MAX, STALE_MS, TTL_MS},
    url::IssuerUrl,
};

/// The keys of an issuer.
#[derive(Clone)]
pub(crate) struct Published(Arc<Shared>);

struct Shared {
    url: IssuerUrl,
    client: Client,
    directory: Directory,
    state: RwLock<State>,
    /// Locked during a fetch.
    fetching: Mutex<()>,
}

/// The cached keys and the outcome of the last fetch.
#[derive(Clone, Default)]
struct State {
    known: Option<Arc<Known>>,
    fetches: u64,
    ended: Option<Timestamp>,
    failed: bool,
}

/// Keys, with the time at which their fetch began.
pub(crate) struct Known {
    pub(crate) keys: KeySet,
    began: Timestamp,
}

impl Published {
    pub(crate) fn new(url: IssuerUrl, client: Client, directory: Directory) -> Self {
        let (state, fetching) = (RwLock::default(), Mutex::default());
        Self(Arc::new(Shared { url, client, directory, state, fetching }))
    }

    /// Starts the first fetch in the background.
    pub(crate) fn begin(&self) {
        self.fetch_in_background(0);
    }

    /// The cached keys, if they are not too old. Fetches first if they are too old or do not
    /// contain the key with this id.
    pub(crate) async fn keys(&self, id: Option<&str>) -> Result<Arc<Known>, Refused> {
        let now = self.0.directory.now();
        let mut state = self.0.state();
        if state.must_wait(now) {
            state = self.fetch(state.fetches).await;
        } else if state.is_due(now) {
            self.fetch_in_background(state.fetches);
        }
        let lacks = |known: &Known| id.is_some_and(|id| !known.keys.names(id));
        let serves = |state: &State| state.known.clone().filter(|known| known.age(now) < STALE_MS);
        if serves(&state).as_deref().is_some_and(lacks) && state.rested(now) >= COOLDOWN_MS {
            state = self.fetch(state.fetches).await;
        }
        // If the last fetch failed, an unknown key may still be a key of the issuer.
        serves(&state).filter(|known| !(state.failed && lacks(known))).ok_or(Refused::Away)
    }

    /// Other keys than those, which do not verify a token: an issuer may have replaced a key and
    /// kept its id. `None` if there are none.
    pub(crate) async fn others(&self, known: &Known) -> Option<Arc<Known>> {
        let state = self.0.state();
        let is_known = state.known.as_ref().is_some_and(|now| now.keys.digest == known.keys.digest);
        let is_rested = state.rested(self.0.directory.now()) >= COOLDOWN_MS;
        let state = if is_known && is_rested { self.fetch(state.fetches).await } else { state };
        state.known.filter(|now| now.keys.digest != known.keys.digest)
    }

    /// The keys of the last successful fetch, if they are not too old.
    pub(crate) fn cached(&self) -> Option<Arc<Known>> {
        let now = self.0.directory.now();
        self.0.state().known.filter(|known| known.age(now) < STALE_MS)
    }

    /// Fetches, or waits for the fetch that is running. The fetch continues if the caller is
    /// dropped.
    async fn fetch(&self, seen: u64) -> State {
        let shared = Arc::clone(&self.0);
        drop(tokio::spawn(async move { shared.fetch_unless_done(seen).await }).await);
        self.0.state()
    }

    fn fetch_in_background(&self, seen: u64) {
        if self.0.fetching.try_lock().is_ok() {
            let shared = Arc::clone(&self.0);
            tokio::spawn(async move { shared.fetch_unless_done(seen).await });
        }
    }
}

impl State {
    /// Milliseconds since the last fetch ended; `i64::MAX` if there was none or the clock was set
    /// back.
    fn rested(&self, now: Timestamp) -> i64 {
        let passed = |end: Timestamp| now.as_millis() - end.as_millis();
        self.ended.map(passed).filter(|passed| *passed >= 0).unwrap_or(i64::MAX)
    }

    fn must_wait(&self, now: Timestamp) -> bool {
        let usable = self.known.as_ref().filter(|known| !known.keys.is_empty());
        match usable.map(|known| known.age(now)) {
            Some(age) if age < STALE_MS => age >= IDLE_MS && !self.failed,
            Some(_) | None => self.rested(now) >= RETRY_MS,
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let aged = self.known.as_ref().is_some_and(|known| known.age(now) >= TTL_MS);
        aged && self.rested(now) >= COOLDOWN_MS
    }
}

impl Known {
    /// How old the keys are, in milliseconds. If the clock was set back, they are due.
    fn age(&self, now: Timestamp) -> i64 {
        let age = now.as_millis() - self.began.as_millis();
        if age < 0 { TTL_MS } else { age }
    }
}

impl Shared {
    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches, unless another fetch has ended since `seen` was read.
    async fn fetch_unless_done(&self, seen: u64) {
        let _guard = self.fetching.lock().await;
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
                    tracing::info!(
                        issuer = self.url.as_str(),
                        "the issuer's keys can be fetched again"
                    );
                }
                if keys.is_cut {
                    tracing::warn!(
                        issuer = self.url.as_str(),
                        used = SET_KEYS_MAX,
                        "the issuer publishes more keys than are used; the others are ignored"
                    );
                }
                if let Some(key_id) = &keys.shared_id {
                    tracing::warn!(
                        issuer = self.url.as_str(),
                        key_id,
                        "the issuer publishes different keys with the same id; tokens with this \
                         id are rejected"
                    );
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
        let document = get(&self.client, &self.url.discovery()?).await?;
        let document = json::read(&document).map_err(|fault| fault.detail)?;
        let text = |name: &str| match document.member(name) {
            Some(Json::Text(text)) => Ok(text.as_str()),
            _ => Err(format!("the issuer's document has no {name}")),
        };
        if text("issuer")? != self.url.as_str() {
            return Err("the issuer's document names another issuer".to_owned());
        }
        let url = self.url.published(text("jwks_uri")?)?;
        KeySet::read(&get(&self.client, &url).await?)
    }
}
