//! Rows that are written, turned into columns: each is one parameter.

use std::collections::BTreeMap;

use bytes::Bytes;
use roster_core::{Effect, Event, Keys, StoreError, UserId, event::changed_text};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{facts::Current, fetch::UNCHANGED, run::NewMark};
use crate::columns::{sort_text, status_number, uuid};

type Parameters<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// Rows of `users`.
#[derive(Default)]
pub(super) struct Users<'w> {
    ids: Vec<Uuid>,
    versions: Vec<i64>,
    statuses: Vec<i16>,
    updated_at: Vec<i64>,
    keys: Vec<Keys>,
    records: Vec<&'w str>,
}

/// The key columns of rows of `users`.
pub(super) struct UserKeys<'k> {
    usernames: Vec<&'k [u8]>,
    emails: Vec<&'k [u8]>,
    phone_numbers: Vec<Option<&'k [u8]>>,
    external_ids: Vec<Option<&'k [u8]>>,
    family_names: Vec<&'k [u8]>,
    names: Vec<&'k [u8]>,
}

impl<'w> Users<'w> {
    pub(super) fn push(&mut self, current: &'w Current) -> Result<(), StoreError> {
        let user = &current.user;
        self.records.push(text(&current.record)?);
        self.ids.push(uuid(user.id));
        self.versions.push(user.version);
        self.statuses.push(status_number(user.status));
        self.updated_at.push(user.updated_at.as_millis());
        self.keys.push(Keys::of(user));
        Ok(())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn keys(&self) -> UserKeys<'_> {
        let all = || self.keys.iter();
        UserKeys {
            usernames: all().map(|keys| keys.username.as_bytes()).collect(),
            emails: all().map(|keys| sort_text(keys.email.as_deref())).collect(),
            phone_numbers: all().map(|keys| plain(keys.phone_number.as_ref())).collect(),
            external_ids: all().map(|keys| plain(keys.external_id.as_ref())).collect(),
            family_names: all().map(|keys| sort_text(keys.family_name.as_deref())).collect(),
            names: all().map(|keys| sort_text(keys.name.as_deref())).collect(),
        }
    }

    pub(super) fn parameters<'p>(&'p self, keys: &'p UserKeys<'_>) -> Parameters<'p> {
        vec![
            &self.ids,
            &self.versions,
            &self.statuses,
            &self.updated_at,
            &keys.usernames,
            &keys.emails,
            &keys.phone_numbers,
            &keys.external_ids,
            &keys.family_names,
            &keys.names,
            &self.records,
        ]
    }
}

/// Rows of `deleted_users`.
#[derive(Default)]
pub(super) struct Keeping<'w> {
    ids: Vec<Uuid>,
    versions: Vec<i64>,
    deleted_at: Vec<i64>,
    usernames: Vec<Vec<u8>>,
    emails: Vec<Option<Vec<u8>>>,
    external_ids: Vec<Option<Vec<u8>>>,
    records: Vec<&'w str>,
}

impl<'w> Keeping<'w> {
    pub(super) fn push(&mut self, current: &'w Current) -> Result<(), StoreError> {
        let user = &current.user;
        let keys = Keys::of(user);
        self.records.push(text(&current.record)?);
        self.ids.push(uuid(user.id));
        self.versions.push(user.version);
        self.deleted_at.push(user.updated_at.as_millis());
        self.usernames.push(keys.username.into_bytes());
        self.emails.push(keys.email.map(String::into_bytes));
        self.external_ids.push(keys.external_id.map(String::into_bytes));
        Ok(())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn parameters(&self) -> Parameters<'_> {
        vec![
            &self.ids,
            &self.versions,
            &self.deleted_at,
            &self.usernames,
            &self.emails,
            &self.external_ids,
            &self.records,
        ]
    }
}

/// Rows of `words` or `further_keys`.
#[derive(Default)]
pub(super) struct Pairs<'w> {
    kinds: Vec<i16>,
    keys: Vec<&'w [u8]>,
    ids: Vec<Uuid>,
}

impl<'w> Pairs<'w> {
    /// The words that are added, and those that are dropped.
    pub(super) fn of_words(words: &'w BTreeMap<(String, UserId), bool>) -> (Self, Self) {
        let mut pairs = (Self::default(), Self::default());
        for ((word, id), added) in words {
            let to = if *added { &mut pairs.0 } else { &mut pairs.1 };
            to.keys.push(word.as_bytes());
            to.ids.push(uuid(*id));
        }
        pairs
    }

    /// The further keys that are added, and those that are dropped.
    pub(super) fn of_keys(keys: &'w BTreeMap<(i16, String, UserId), bool>) -> (Self, Self) {
        let mut pairs = (Self::default(), Self::default());
        for ((kind, key, id), added) in keys {
            let to = if *added { &mut pairs.0 } else { &mut pairs.1 };
            to.kinds.push(*kind);
            to.keys.push(key.as_bytes());
            to.ids.push(uuid(*id));
        }
        pairs
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn words(&self) -> Parameters<'_> {
        vec![&self.keys, &self.ids]
    }

    pub(super) fn keys(&self) -> Parameters<'_> {
        vec![&self.kinds, &self.keys, &self.ids]
    }
}

/// Rows of `events`; positions are counted from the first of them.
#[derive(Default)]
pub(super) struct Events<'w> {
    nth: Vec<i64>,
    kinds: Vec<&'static str>,
    at: Vec<i64>,
    actors: Vec<&'w str>,
    request_ids: Vec<&'w str>,
    user_ids: Vec<Uuid>,
    versions: Vec<i64>,
    changed: Vec<String>,
    records: Vec<&'w str>,
}

impl<'w> Events<'w> {
    pub(super) fn of(events: &'w [Event]) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for (nth, event) in (1..).zip(events) {
            columns.nth.push(nth);
            columns.kinds.push(event.kind.as_str());
            columns.at.push(event.at.as_millis());
            columns.actors.push(&event.actor);
            columns.request_ids.push(&event.request_id);
            columns.user_ids.push(uuid(event.user_id));
            columns.versions.push(event.version);
            columns.changed.push(changed_text(&event.changed, &event.members));
            columns.records.push(text(&event.record)?);
        }
        Ok(columns)
    }

    pub(super) fn parameters(&self) -> Parameters<'_> {
        vec![
            &self.nth,
            &self.kinds,
            &self.at,
            &self.actors,
            &self.request_ids,
            &self.user_ids,
            &self.versions,
            &self.changed,
            &self.records,
        ]
    }
}

/// Rows of `idempotency_keys`; positions are counted as those of the events.
#[derive(Default)]
pub(super) struct Marks<'w> {
    keys: Vec<&'w [u8]>,
    fingerprints: Vec<&'w [u8]>,
    at: Vec<i64>,
    user_ids: Vec<Uuid>,
    versions: Vec<i64>,
    nth: Vec<i64>,
    effects: Vec<&'static str>,
    records: Vec<Option<&'w str>>,
}

impl<'w> Marks<'w> {
    pub(super) fn of(marks: &'w [NewMark]) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for mark in marks {
            let (effect, record) = match mark.effect {
                Effect::Changed(kind) => (kind.as_str(), None),
                Effect::Unchanged | Effect::Skipped => {
                    (UNCHANGED, Some(text(&mark.stored.record)?))
                }
            };
            columns.keys.push(&mark.key);
            columns.fingerprints.push(&mark.fingerprint);
            columns.at.push(mark.at.as_millis());
            columns.user_ids.push(uuid(mark.stored.id));
            columns.versions.push(mark.stored.version);
            columns.nth.push(mark.nth);
            columns.effects.push(effect);
            columns.records.push(record);
        }
        Ok(columns)
    }

    pub(super) fn parameters(&self) -> Parameters<'_> {
        vec![
            &self.keys,
            &self.fingerprints,
            &self.at,
            &self.user_ids,
            &self.versions,
            &self.nth,
            &self.effects,
            &self.records,
        ]
    }
}

fn plain(key: Option<&String>) -> Option<&[u8]> {
    key.map(String::as_bytes)
}

/// A record as the text it is.
pub(super) fn text(record: &Bytes) -> Result<&str, StoreError> {
    std::str::from_utf8(record).map_err(|error| StoreError::Internal(Box::new(error)))
}
