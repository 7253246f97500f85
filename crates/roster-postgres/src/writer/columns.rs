//! The rows that a batch writes, as columns: each is one parameter of a statement.

use std::sync::Arc;

use bytes::Bytes;
use roster_core::{
    Change, Effect, Event, IndexDelta, SearchKeys, StoreError, UserId, event::changed_text,
};
use roster_engine::Writes;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::fetch::UNCHANGED;
use crate::columns::{sort_text, status_number, uuid};

/// The number of an e-mail address's kind in `further_keys`.
pub(crate) const EMAIL: i16 = 0;
/// The number of a telephone number's kind in `further_keys`.
pub(crate) const PHONE_NUMBER: i16 = 1;

/// The parameters of a statement.
pub(super) type Parameters<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// Rows of `users`.
#[derive(Default)]
pub(super) struct Users<'w> {
    ids: Vec<Uuid>,
    versions: Vec<i64>,
    statuses: Vec<i16>,
    updated_at: Vec<i64>,
    usernames: Vec<&'w [u8]>,
    emails: Vec<&'w [u8]>,
    phone_numbers: Vec<Option<&'w [u8]>>,
    external_ids: Vec<Option<&'w [u8]>>,
    family_names: Vec<&'w [u8]>,
    names: Vec<&'w [u8]>,
    records: Vec<&'w str>,
}

impl<'w> Users<'w> {
    /// The rows that are created, those that are updated, and the ids of those that are deleted.
    pub(super) fn of(writes: &'w Writes) -> Result<(Self, Self, Vec<Uuid>), StoreError> {
        let (mut created, mut updated, mut deleted) = (Self::default(), Self::default(), vec![]);
        for (id, write) in &writes.users {
            match (write.keys_before(), write.after()) {
                (None, Some(change)) => created.push(change)?,
                (Some(_), Some(change)) => updated.push(change)?,
                (Some(_), None) => deleted.push(uuid(*id)),
                (None, None) => {}
            }
        }
        Ok((created, updated, deleted))
    }

    fn push(&mut self, change: &'w Change) -> Result<(), StoreError> {
        let Change { user, keys, record, .. } = change;
        self.ids.push(uuid(user.id));
        self.versions.push(user.version);
        self.statuses.push(status_number(user.status));
        self.updated_at.push(user.updated_at.as_millis());
        self.usernames.push(keys.username.as_bytes());
        self.emails.push(sort_text(keys.email.as_deref()));
        self.phone_numbers.push(plain(keys.phone_number.as_ref()));
        self.external_ids.push(plain(keys.external_id.as_ref()));
        self.family_names.push(sort_text(keys.family_name.as_deref()));
        self.names.push(sort_text(keys.name.as_deref()));
        self.records.push(text(record)?);
        Ok(())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn parameters(&self) -> Parameters<'_> {
        vec![
            &self.ids,
            &self.versions,
            &self.statuses,
            &self.updated_at,
            &self.usernames,
            &self.emails,
            &self.phone_numbers,
            &self.external_ids,
            &self.family_names,
            &self.names,
            &self.records,
        ]
    }
}

/// Rows of `deleted_users`.
#[derive(Default)]
pub(super) struct DeletedUsers<'w> {
    ids: Vec<Uuid>,
    versions: Vec<i64>,
    deleted_at: Vec<i64>,
    usernames: Vec<&'w [u8]>,
    emails: Vec<Option<&'w [u8]>>,
    external_ids: Vec<Option<&'w [u8]>>,
    records: Vec<&'w str>,
}

impl<'w> DeletedUsers<'w> {
    /// The rows that are kept, and the ids of those that are dropped.
    pub(super) fn of(writes: &'w Writes) -> Result<(Self, Vec<Uuid>), StoreError> {
        let (mut kept, mut dropped) = (Self::default(), Vec::new());
        for (id, write) in &writes.deleted_users {
            if write.existed {
                dropped.push(uuid(*id));
            }
            let Some(Change { user, keys, record, .. }) = write.row.as_deref() else { continue };
            kept.ids.push(uuid(user.id));
            kept.versions.push(user.version);
            kept.deleted_at.push(user.updated_at.as_millis());
            kept.usernames.push(keys.username.as_bytes());
            kept.emails.push(plain(keys.email.as_ref()));
            kept.external_ids.push(plain(keys.external_id.as_ref()));
            kept.records.push(text(record)?);
        }
        Ok((kept, dropped))
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

/// Rows of `words` and `further_keys`.
#[derive(Default)]
pub(super) struct SearchRows<'w> {
    words: Vec<&'w [u8]>,
    word_ids: Vec<Uuid>,
    kinds: Vec<i16>,
    keys: Vec<&'w [u8]>,
    key_ids: Vec<Uuid>,
}

impl<'w> SearchRows<'w> {
    /// The rows that are added, and those that are removed.
    pub(super) fn of(writes: &'w Writes) -> (Self, Self) {
        let (mut added, mut removed) = (Self::default(), Self::default());
        for (id, write) in &writes.users {
            let index: &IndexDelta = write.index();
            added.push(*id, &index.added);
            removed.push(*id, &index.removed);
        }
        (added, removed)
    }

    fn push(&mut self, id: UserId, keys: &'w SearchKeys) {
        for word in &keys.words {
            self.words.push(word.as_bytes());
            self.word_ids.push(uuid(id));
        }
        for (kind, keys) in [(EMAIL, &keys.emails), (PHONE_NUMBER, &keys.phone_numbers)] {
            for key in keys {
                self.kinds.push(kind);
                self.keys.push(key.as_bytes());
                self.key_ids.push(uuid(id));
            }
        }
    }

    pub(super) const fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    pub(super) const fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    pub(super) fn words(&self) -> Parameters<'_> {
        vec![&self.words, &self.word_ids]
    }

    pub(super) fn keys(&self) -> Parameters<'_> {
        vec![&self.kinds, &self.keys, &self.key_ids]
    }
}

/// Rows of `events`. Positions are numbers in the batch.
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
    pub(super) fn of(events: &'w [Arc<Event>]) -> Result<Self, StoreError> {
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

/// Rows of `idempotency_keys`. Positions are numbers in the batch.
#[derive(Default)]
pub(super) struct Idempotency<'w> {
    keys: Vec<&'w [u8]>,
    fingerprints: Vec<&'w [u8]>,
    at: Vec<i64>,
    user_ids: Vec<Uuid>,
    versions: Vec<i64>,
    nth: Vec<i64>,
    effects: Vec<&'static str>,
    records: Vec<Option<&'w str>>,
    replaces_expired: Vec<bool>,
}

impl<'w> Idempotency<'w> {
    pub(super) fn of(writes: &'w Writes) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for (key, new) in &writes.idempotency {
            let (effect, record) = match new.effect {
                Effect::Changed(kind) => (kind.as_str(), None),
                Effect::Unchanged | Effect::Skipped => (UNCHANGED, Some(text(&new.stored.record)?)),
            };
            columns.keys.push(key);
            columns.fingerprints.push(&new.fingerprint);
            columns.at.push(new.at.as_millis());
            columns.user_ids.push(uuid(new.stored.id));
            columns.versions.push(new.stored.version);
            columns.nth.push(new.nth);
            columns.effects.push(effect);
            columns.records.push(record);
            columns.replaces_expired.push(new.replaces_expired);
        }
        Ok(columns)
    }

    /// The keys whose expired records are to be deleted first.
    pub(super) fn expired(&self) -> Vec<&'w [u8]> {
        let expired = self.keys.iter().zip(&self.replaces_expired).filter(|(_, expired)| **expired);
        expired.map(|(key, _)| *key).collect()
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
