//! Counts the memory and the disk space that callers make the service use.
//!
//! The following is counted: heads of open HTTP/2 requests, heads that arrive in pieces, request
//! bodies until their request is handled, responses until the connection has written them, and
//! import results in memory or in a spill file. A connection counts its own bytes and reports them
//! to the shared budget in steps, so that an ordinary request changes nothing that connections
//! share.
//!
//! A connection belongs to the network address of its peer until a request on it authenticates;
//! from then on it belongs to that caller. Requests of a caller above its share are refused. When
//! the whole budget is used, the connections of the largest callers are reset.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;

/// The maximum number of bytes that one connection may hold before its requests are refused. It is
/// larger than the largest page.
pub const CONNECTION_BYTES_MAX: usize = 20 * 1024 * 1024;
/// The maximum number of bytes that all connections of one caller may hold before its requests are
/// refused.
pub const CALLER_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The maximum number of bytes that all connections may hold before those of the largest callers
/// are reset.
pub const TOTAL_BYTES_MAX: usize = 96 * 1024 * 1024;
/// The maximum size of the spill files of one caller's imports, in bytes.
pub const CALLER_SPILL_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The maximum size of the spill files of all imports, in bytes.
pub const TOTAL_SPILL_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The maximum number of bytes per caller while the whole budget is used.
const SCARCE_CALLER_BYTES_MAX: usize = TOTAL_BYTES_MAX / 16;
/// A connection reports its bytes in steps of this size. Bytes below one step are not reported.
const STEP_BYTES: usize = 16 * 1024;
/// The number of accounts from which on accounts without connections are removed.
const ACCOUNTS_KEPT: usize = 1_024;

/// The memory that all connections use, and its limits.
#[derive(Debug, Default)]
pub struct MemoryBudget {
    held: AtomicUsize,
    spilled: AtomicU64,
    accounts: Mutex<HashMap<u64, Weak<Account>>>,
    hasher: RandomState,
    exceeded: Notify,
    /// Requests and bodies that were refused because their caller uses too much memory.
    pub refusals: Counter,
    /// Connections that were reset because the budget was used up and their callers used most of
    /// it.
    pub resets: Counter,
}

/// The memory and the spill files of one caller.
#[derive(Debug, Default)]
struct Account {
    held: AtomicUsize,
    spilled: AtomicU64,
}

/// The memory that one connection uses.
#[derive(Debug, Default)]
pub struct ConnectionMemory {
    budget: Arc<MemoryBudget>,
    held: AtomicUsize,
    /// How much of `held` is reported. It changes only while `account` is locked.
    reported: AtomicUsize,
    /// The caller to which the connection belongs, as a hash.
    owner: AtomicU64,
    /// The owner's account; `None` until it is first needed.
    account: Mutex<Option<Arc<Account>>>,
}

/// Bytes that count against the budget until this is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    memory: Arc<ConnectionMemory>,
    bytes: usize,
}

/// Bytes in a spill file, counted until this is dropped.
#[derive(Debug)]
pub struct SpilledBytes {
    budget: Arc<MemoryBudget>,
    account: Arc<Account>,
    bytes: u64,
}

impl MemoryBudget {
    /// How many bytes the connections have reported.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// How many bytes are in spill files.
    pub fn spilled(&self) -> u64 {
        self.spilled.load(Ordering::Relaxed)
    }

    /// Whether connections hold more than the budget allows.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.held() > TOTAL_BYTES_MAX
    }

    /// Waits until connections hold more than the budget allows.
    pub(crate) async fn exceeded(&self) {
        self.exceeded.notified().await;
    }

    fn account(&self, owner: u64) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(&owner).and_then(Weak::upgrade) {
            return account;
        }
        if accounts.len() >= ACCOUNTS_KEPT && accounts.len() == accounts.capacity() {
            accounts.retain(|_, account| account.strong_count() > 0);
        }
        let account = Arc::new(Account::default());
        accounts.insert(owner, Arc::downgrade(&account));
        account
    }
}

impl ConnectionMemory {
    /// The memory of a new connection, which belongs to `owner`.
    pub(crate) fn new(budget: &Arc<MemoryBudget>, owner: impl Hash) -> Arc<Self> {
        let owner = AtomicU64::new(budget.hasher.hash_one(owner));
        Arc::new(Self { budget: Arc::clone(budget), owner, ..Self::default() })
    }

    /// Counts bytes against the budget.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> HeldBytes {
        self.add(bytes);
        HeldBytes { memory: Arc::clone(self), bytes }
    }

    /// Whether the connection or its caller uses more than its share of memory. If so, its requests
    /// are refused. A refusal is counted.
    pub fn is_over(&self) -> bool {
        !self.may_hold(0)
    }

    /// Assigns the connection to this caller.
    pub fn assign(&self, owner: impl Hash) {
        let owner = self.budget.hasher.hash_one(owner);
        if self.owner.load(Ordering::Relaxed) == owner {
            return;
        }
        let mut account = self.lock();
        self.owner.store(owner, Ordering::Relaxed);
        if let Some(former) = account.take() {
            let reported = self.reported.load(Ordering::Relaxed);
            former.held.fetch_sub(reported, Ordering::Relaxed);
            self.account_in(&mut account).held.fetch_add(reported, Ordering::Relaxed);
        }
    }

    /// The count of a new, empty spill file.
    pub fn spill(&self) -> SpilledBytes {
        let account = Arc::clone(self.account_in(&mut self.lock()));
        SpilledBytes { budget: Arc::clone(&self.budget), account, bytes: 0 }
    }

    /// How many bytes the connection has reported.
    pub(crate) fn reported(&self) -> usize {
        self.reported.load(Ordering::Relaxed)
    }

    /// How many bytes the connections of the caller have reported.
    pub(crate) fn reported_by_caller(&self) -> usize {
        self.account_in(&mut self.lock()).held.load(Ordering::Relaxed)
    }

    /// Whether the connection and its caller may use this many more bytes. A connection may always
    /// use less than one step, and more only within the shares. A refusal is counted.
    pub fn may_hold(&self, bytes: usize) -> bool {
        let granted = self.has_room_for(bytes);
        if !granted {
            self.budget.refusals.inc();
        }
        granted
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        let held = self.held.load(Ordering::Relaxed).saturating_add(bytes);
        if held < STEP_BYTES {
            return true;
        }
        if held > CONNECTION_BYTES_MAX {
            return false;
        }
        let total = self.budget.held().saturating_add(bytes);
        if total <= SCARCE_CALLER_BYTES_MAX {
            return true;
        }
        let scarce = total > TOTAL_BYTES_MAX;
        let share = if scarce { SCARCE_CALLER_BYTES_MAX } else { CALLER_BYTES_MAX };
        self.reported_by_caller().saturating_add(bytes) <= share
    }

    fn add(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if held >= self.reported.load(Ordering::Relaxed) + STEP_BYTES {
            self.report();
        }
    }

    fn subtract(&self, bytes: usize) {
        let held = self.held.fetch_sub(bytes, Ordering::Relaxed).saturating_sub(bytes);
        if held < self.reported.load(Ordering::Relaxed) {
            self.report();
        }
    }

    /// Reports all whole steps in use.
    fn report(&self) {
        let mut account = self.lock();
        let held = self.held.load(Ordering::Relaxed);
        let (now, before) = (held - held % STEP_BYTES, self.reported.load(Ordering::Relaxed));
        self.reported.store(now, Ordering::Relaxed);
        let account = self.account_in(&mut account);
        if now < before {
            account.held.fetch_sub(before - now, Ordering::Relaxed);
            self.budget.held.fetch_sub(before - now, Ordering::Relaxed);
        } else {
            account.held.fetch_add(now - before, Ordering::Relaxed);
            self.budget.held.fetch_add(now - before, Ordering::Relaxed);
            if self.budget.is_exceeded() {
                self.budget.exceeded.notify_one();
            }
        }
    }

    fn account_in<'a>(&self, account: &'a mut Option<Arc<Account>>) -> &'a Arc<Account> {
        account.get_or_insert_with(|| self.budget.account(self.owner.load(Ordering::Relaxed)))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Account>>> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldBytes {
    /// Counts more bytes.
    pub fn grow(&mut self, bytes: usize) {
        self.memory.add(bytes);
        self.bytes += bytes;
    }

    /// How many bytes are counted.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts this many bytes from now on.
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes >= self.bytes {
            self.memory.add(bytes - self.bytes);
        } else {
            self.memory.subtract(self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// Counts more bytes, unless the connection or its caller would then use more than its share.
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        let granted = self.memory.may_hold(bytes);
        if granted {
            self.grow(bytes);
        }
        granted
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.memory.subtract(self.bytes);
    }
}

/// The same bytes, with a guard that is dropped together with the last reference to them.
pub(crate) fn with_guard<G: Send + 'static>(bytes: Bytes, guard: G) -> Bytes {
    struct Guarded<G> {
        bytes: Bytes,
        _guard: G,
    }
    impl<G> AsRef<[u8]> for Guarded<G> {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }
    Bytes::from_owner(Guarded { bytes, _guard: guard })
}

impl SpilledBytes {
    /// Counts more bytes, unless the imports of the caller or all imports would then exceed their
    /// limit.
    pub fn try_grow(&mut self, bytes: u64) -> bool {
        let counts = [
            (&self.account.spilled, CALLER_SPILL_BYTES_MAX),
            (&self.budget.spilled, TOTAL_SPILL_BYTES_MAX),
        ];
        let fits = counts.iter().all(|(count, max)| count.load(Ordering::Relaxed) + bytes <= *max);
        if fits {
            for (count, _) in counts {
                count.fetch_add(bytes, Ordering::Relaxed);
            }
            self.bytes += bytes;
        }
        fits
    }

    /// Counts the spill file as empty.
    pub fn clear(&mut self) {
        self.account.spilled.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.spilled.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for SpilledBytes {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ConnectionMemory {
        fn try_hold(self: &Arc<Self>, bytes: usize) -> Option<HeldBytes> {
            self.may_hold(bytes).then(|| self.hold(bytes))
        }
    }

    const KIB: usize = 1024;

    fn connection(budget: &Arc<MemoryBudget>, owner: &str) -> Arc<ConnectionMemory> {
        ConnectionMemory::new(budget, owner)
    }

    /// What the caller of a connection has reported, and what the connection has.
    fn both(memory: &ConnectionMemory) -> (usize, usize) {
        (memory.reported_by_caller(), memory.reported())
    }

    #[test]
    fn what_is_dropped_is_no_longer_counted() {
        let budget = Arc::default();
        let memory = connection(&budget, "a");
        let small = memory.hold(STEP_BYTES - 1);
        assert_eq!(budget.held(), 0, "less than one step is not reported");
        let large = memory.hold(100 * KIB);
        let more = memory.hold(1);
        assert_eq!(budget.held(), 112 * KIB);
        assert_eq!(both(&memory), (112 * KIB, 112 * KIB));
        drop((small, large, more));
        assert_eq!((budget.held(), both(&memory)), (0, (0, 0)));
    }

    #[test]
    fn a_connection_is_refused_more_than_its_share() {
        let budget = Arc::default();
        let memory = connection(&budget, "a");
        let held = memory.try_hold(CONNECTION_BYTES_MAX).unwrap();
        assert!(memory.try_hold(1).is_none());
        assert!(connection(&budget, "a").try_hold(STEP_BYTES).is_some());
        // A response that exists is always counted. The next request is refused instead.
        let response = memory.hold(1);
        assert!(memory.is_over());
        drop((held, response));
        assert!(!memory.is_over());
    }

    #[test]
    fn a_caller_is_refused_more_than_its_share_and_others_are_not() {
        let budget = Arc::default();
        let held: Vec<_> = (0..2)
            .map(|_| connection(&budget, "a").try_hold(CALLER_BYTES_MAX / 2).unwrap())
            .collect();
        assert!(connection(&budget, "a").try_hold(STEP_BYTES).is_none());
        assert!(connection(&budget, "a").try_hold(STEP_BYTES - 1).is_some());
        assert!(connection(&budget, "b").try_hold(STEP_BYTES).is_some());
        drop(held);
        assert!(connection(&budget, "a").try_hold(STEP_BYTES).is_some());
    }

    #[test]
    fn once_all_is_used_only_small_callers_are_granted_more() {
        let budget = Arc::default();
        let large: Vec<_> = ["a", "b", "c"]
            .iter()
            .flat_map(|owner| [connection(&budget, owner), connection(&budget, owner)])
            .map(|memory| memory.hold(CONNECTION_BYTES_MAX))
            .collect();
        let small = connection(&budget, "e");
        let granted = small.try_hold(SCARCE_CALLER_BYTES_MAX).unwrap();
        assert!(budget.is_exceeded());
        assert!(small.try_hold(STEP_BYTES).is_none());
        drop(large);
        assert!(!budget.is_exceeded() && small.try_hold(STEP_BYTES).is_some());
        drop(granted);
    }

    #[test]
    fn a_connection_that_changes_its_caller_takes_its_bytes_along() {
        let budget = Arc::default();
        let (one, other) = (connection(&budget, "a"), connection(&budget, "a"));
        let held = (one.hold(64 * KIB), other.hold(32 * KIB));
        one.assign("b");
        assert_eq!(both(&one), (64 * KIB, 64 * KIB));
        assert_eq!(both(&other), (32 * KIB, 32 * KIB));
        one.assign("b");
        assert_eq!(budget.held(), 96 * KIB);
        drop(held);
        assert_eq!((both(&one).0, both(&other).0, budget.held()), (0, 0, 0));
    }

    #[test]
    fn spill_files_are_bounded_per_caller_and_in_total() {
        let budget = Arc::default();
        let mut spilled: Vec<_> = ["a", "b"].map(|owner| connection(&budget, owner).spill()).into();
        for spilled in &mut spilled {
            assert!(spilled.try_grow(CALLER_SPILL_BYTES_MAX));
            assert!(!spilled.try_grow(1));
        }
        assert_eq!(budget.spilled(), TOTAL_SPILL_BYTES_MAX);
        assert!(!connection(&budget, "c").spill().try_grow(1));
        spilled[0].clear();
        assert!(connection(&budget, "c").spill().try_grow(1));
        drop(spilled);
        assert_eq!(budget.spilled(), 0);
    }

    #[test]
    fn accounts_without_connections_are_forgotten() {
        let budget = Arc::<MemoryBudget>::default();
        for owner in 0..100_000 {
            drop(ConnectionMemory::new(&budget, owner).hold(STEP_BYTES));
        }
        assert!(budget.accounts.lock().unwrap().len() <= 4 * ACCOUNTS_KEPT);
    }
}
