//! The byte cache: the records of users that were read or changed recently, ready to be sent. A
//! user that was changed is also kept in parsed form, for the next write.
//!
//! It has no record older than the last acknowledged write. Before acknowledging, the writer counts
//! the commit and inserts the users that it changed. A reader inserts a record only if no commit
//! was counted since before its read. Both use one lock, so a reader cannot insert an old record
//! afterwards. A new user is not inserted, nor one that an import or a change in bulk writes: these
//! must not replace what is read.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use roster_core::{Stored, TenantId, User, UserId};
use roster_engine::Current;

/// The byte cache; may be off.
pub(crate) struct ByteCache {
    records: Option<Cache<(TenantId, UserId), Cached, KibBegun>>,
    /// How many commits there were. Locked for writing while users are inserted.
    commits: RwLock<u64>,
}

#[derive(Clone)]
struct Cached {
    version: i64,
    record: Bytes,
    /// The user, if a write inserted it.
    parsed: Option<Arc<User>>,
}

/// A user that was in the collection before a commit.
pub(crate) struct Touched {
    pub(crate) tenant: TenantId,
    pub(crate) id: UserId,
    /// The user after the commit; `None` if it left the collection.
    pub(crate) live: Option<Current>,
    /// Whether an import or a change in bulk wrote it.
    pub(crate) is_import: bool,
}

impl ByteCache {
    /// Creates a cache for this number of records of up to 1 KiB; larger ones count as several. 0
    /// turns it off.
    pub(crate) fn new(entries: usize) -> Self {
        let weight = u64::try_from(entries).unwrap_or(u64::MAX);
        let records = (entries > 0).then(|| Cache::with_weighter(entries, weight, KibBegun));
        Self { records, commits: RwLock::new(0) }
    }

    pub(crate) fn get(&self, tenant: TenantId, id: UserId) -> Option<Stored> {
        let Cached { version, record, .. } = self.records.as_ref()?.get(&(tenant, id))?;
        Some(Stored { id, version, record })
    }

    /// The user with its record, for a write.
    pub(crate) fn current(&self, tenant: TenantId, id: UserId) -> Option<Current> {
        let Cached { record, parsed, .. } = self.records.as_ref()?.get(&(tenant, id))?;
        match parsed {
            Some(user) => Some(Current { user, record }),
            None => Current::read(id, record, "users").ok(),
        }
    }

    /// How many commits there were, for [`Self::keep`] after the read; `None` during a commit.
    pub(crate) fn seen(&self) -> Option<u64> {
        self.commits.try_read().ok().map(|commits| *commits)
    }

    /// Inserts a record that was read, unless a commit was counted since, or is being counted now.
    pub(crate) fn keep(&self, tenant: TenantId, stored: &Stored, seen: Option<u64>) {
        let (Some(records), Ok(commits)) = (&self.records, self.commits.try_read()) else { return };
        if seen == Some(*commits) {
            let Stored { id, version, record } = stored.clone();
            records.insert((tenant, id), Cached { version, record, parsed: None });
        }
    }

    /// Counts a commit, and inserts the users that it changed. One that an import changed only
    /// replaces its former record, without the parsed user.
    pub(crate) fn commit(&self, touched: Vec<Touched>) {
        let Some(records) = &self.records else { return };
        let mut commits = self.commits.write().unwrap_or_else(PoisonError::into_inner);
        *commits += 1;
        for Touched { tenant, id, live, is_import } in touched {
            match live {
                Some(Current { user, record }) => {
                    let (version, parsed) = (user.version, (!is_import).then_some(user));
                    let cached = Cached { version, record, parsed };
                    if is_import {
                        // An error says that there was none.
                        drop(records.replace((tenant, id), cached, true));
                    } else {
                        records.insert((tenant, id), cached);
                    }
                }
                None => drop(records.remove(&(tenant, id))),
            }
        }
    }

    /// Removes the users of a tenant in which everything is erased.
    pub(crate) fn forget(&self, tenant: TenantId) {
        let Some(records) = &self.records else { return };
        let mut commits = self.commits.write().unwrap_or_else(PoisonError::into_inner);
        *commits += 1;
        records.retain(|(of, _), _| *of != tenant);
    }
}

/// About how many bytes of memory a parsed user takes for each byte of its record: measured 2 to 4,
/// and 11 for a list of numbers of one digit.
const PARSED_BYTES: usize = 4;

/// The weight of a user is its size in KiB, rounded up, so that the cache is also bounded in bytes.
#[derive(Clone)]
struct KibBegun;

impl Weighter<(TenantId, UserId), Cached> for KibBegun {
    fn weight(&self, _: &(TenantId, UserId), cached: &Cached) -> u64 {
        let copies = if cached.parsed.is_some() { 1 + PARSED_BYTES } else { 1 };
        u64::try_from(cached.record.len() * copies / 1024 + 1).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use roster_core::{Profile, Status, Timestamp};

    use super::*;

    fn changed(version: i64) -> Current {
        let user = User {
            id: UserId::from_bytes([7; 16]),
            version,
            status: Status::Active,
            profile: Profile::default(),
            updated_at: Timestamp::from_millis(0),
        };
        Current { record: user.to_record(), user: Arc::new(user) }
    }

    fn stored(version: i64) -> Stored {
        changed(version).stored()
    }

    fn touched(live: Option<Current>) -> Vec<Touched> {
        let id = stored(1).id;
        vec![Touched { tenant: TenantId::DEFAULT, id, live, is_import: false }]
    }

    #[test]
    fn a_record_read_before_a_commit_is_not_kept() {
        let cache = ByteCache::new(10);
        let seen = cache.seen();
        cache.commit(Vec::new());
        cache.keep(TenantId::DEFAULT, &stored(1), seen);
        assert_eq!(cache.get(TenantId::DEFAULT, stored(1).id), None);
        cache.keep(TenantId::DEFAULT, &stored(1), cache.seen());
        assert_eq!(cache.get(TenantId::DEFAULT, stored(1).id), Some(stored(1)));
    }

    #[test]
    fn a_commit_inserts_the_user_that_it_changed_and_removes_one_that_left() {
        let cache = ByteCache::new(10);
        let id = stored(1).id;
        cache.keep(TenantId::DEFAULT, &stored(1), cache.seen());
        let parsed =
            |cache: &ByteCache| cache.current(TenantId::DEFAULT, id).map(|current| current.user);
        assert_eq!(parsed(&cache), Some(changed(1).user), "parsed from what was read");
        let second = changed(2);
        cache.commit(touched(Some(second.clone())));
        assert_eq!(cache.get(TenantId::DEFAULT, id), Some(stored(2)));
        assert!(parsed(&cache).is_some_and(|user| Arc::ptr_eq(&user, &second.user)), "kept parsed");
        cache.commit(touched(None));
        assert_eq!((cache.get(TenantId::DEFAULT, id), parsed(&cache)), (None, None));
    }

    #[test]
    fn a_user_that_an_import_changed_is_kept_as_bytes_where_it_was_kept() {
        let cache = ByteCache::new(10);
        let imported = |version| {
            let live = Some(changed(version));
            touched(live).into_iter().map(|one| Touched { is_import: true, ..one }).collect()
        };
        let get = |cache: &ByteCache| cache.get(TenantId::DEFAULT, stored(1).id);
        cache.commit(imported(1));
        assert_eq!(get(&cache), None);
        let second = changed(2);
        cache.commit(touched(Some(second.clone())));
        cache.commit(imported(3));
        assert_eq!(get(&cache), Some(stored(3)));
        let current = cache.current(TenantId::DEFAULT, stored(1).id).expect("a user");
        assert_eq!(current.user, changed(3).user);
        let weight = cache.records.as_ref().map(Cache::weight);
        assert_eq!(weight, Some(1), "the parsed user is gone");
    }

    #[test]
    fn a_parsed_user_takes_the_room_of_its_memory() {
        let kib = |parsed| {
            let record = Bytes::from(vec![b'x'; 1000]);
            KibBegun
                .weight(&(TenantId::DEFAULT, stored(1).id), &Cached { version: 1, record, parsed })
        };
        assert_eq!((kib(None), kib(Some(changed(1).user))), (1, 5));
    }

    #[test]
    fn a_cache_of_no_entries_holds_nothing() {
        let cache = ByteCache::new(0);
        cache.keep(TenantId::DEFAULT, &stored(1), cache.seen());
        cache.commit(touched(Some(changed(1))));
        assert_eq!(cache.get(TenantId::DEFAULT, stored(1).id), None);
    }
}
