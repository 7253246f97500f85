//! What the caller of a command and the engine share about it: whether it was queued, whether it
//! was begun or cancelled, whichever is first, and how many bytes it added to the change log.
//!
//! A caller waits for a command for a limited time, and the engine may begin it at any time. The
//! first of [`Start::begin`] and [`Start::give_up`] decides: a cancelled command is never begun,
//! and a begun one is executed even if the caller stops waiting. The bytes are charged to the
//! [`LogAccount`] once both sides have dropped it, so also if the caller is gone. This type has no
//! clock.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Who is charged for what commands add to the change log.
pub trait LogAccount: Send + Sync {
    /// Charges for `logged` bytes of events. The command was sent in `sent` bytes.
    fn charge(&self, logged: usize, sent: usize);
}

/// The shared state of one command.
#[derive(Clone, Debug, Default)]
pub struct Start(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: AtomicU8,
    queued: AtomicBool,
    sent: AtomicUsize,
    logged: AtomicUsize,
    account: Option<Arc<dyn LogAccount>>,
}

impl Start {
    /// The state of a command whose events are charged to this account.
    pub fn charging(account: Arc<dyn LogAccount>) -> Self {
        let mut shared = Shared::default();
        shared.account = Some(account);
        Self(Arc::new(shared))
    }

    /// Begins the command; `false` if it was cancelled. A begun command may begin again, as in a
    /// repeated transaction.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.set(BEGUN)
    }

    /// Cancels the command; `false` if it was begun.
    #[must_use]
    pub fn give_up(&self) -> bool {
        self.set(GIVEN_UP)
    }

    /// Notes that the engine executes the command before all that it gets later.
    pub fn note_queued(&self) {
        self.0.queued.store(true, Ordering::Release);
    }

    /// Whether the engine executes the command before all that it gets later.
    pub fn is_queued(&self) -> bool {
        self.0.queued.load(Ordering::Acquire)
    }

    /// Notes the size of the request of the command.
    pub fn note_sent(&self, bytes: usize) {
        self.0.sent.store(bytes, Ordering::Relaxed);
    }

    /// Notes the size of the command's events. A command that is executed again replaces it.
    pub fn note_logged(&self, bytes: usize) {
        self.0.logged.store(bytes, Ordering::Relaxed);
    }

    fn set(&self, state: u8) -> bool {
        let order = Ordering::AcqRel;
        match self.0.state.compare_exchange(WAITING, state, order, Ordering::Acquire) {
            Ok(_) => true,
            Err(current) => current == state,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let (logged, sent) = (*self.logged.get_mut(), *self.sent.get_mut());
        if let Some(account) = &self.account
            && logged > 0
        {
            account.charge(logged, sent);
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn the_first_call_decides() {
        let begun = Start::default();
        assert!(begun.clone().begin());
        assert!(!begun.give_up());
        assert!(begun.begin());
        let given_up = Start::default();
        assert!(given_up.clone().give_up());
        assert!(!given_up.begin());
        assert!(given_up.give_up());
    }

    #[derive(Default)]
    struct Charges(Mutex<Vec<(usize, usize)>>);

    impl LogAccount for Charges {
        fn charge(&self, logged: usize, sent: usize) {
            self.0.lock().unwrap().push((logged, sent));
        }
    }

    #[test]
    fn a_command_is_charged_once_when_both_sides_have_dropped_it() {
        let charges = Arc::new(Charges::default());
        let start = Start::charging(charges.clone());
        let engine = start.clone();
        start.note_sent(10);
        drop(start);
        engine.note_logged(1);
        engine.note_logged(300);
        assert!(charges.0.lock().unwrap().is_empty());
        drop(engine);
        assert_eq!(*charges.0.lock().unwrap(), [(300, 10)]);
        drop(Start::charging(charges.clone()));
        assert_eq!(charges.0.lock().unwrap().len(), 1, "a command without an event is free");
    }
}
