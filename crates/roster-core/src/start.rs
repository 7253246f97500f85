//! A shared flag: whether a command was begun or cancelled, whichever is first.
//!
//! A caller waits for a command for a limited time, and the engine may begin it at any time. The
//! first of [`Start::begin`] and [`Start::give_up`] decides: a cancelled command is never begun,
//! and a begun one is executed even if the caller stops waiting. This type has no clock.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The flag of one command, shared by its caller and the engine.
#[derive(Clone, Debug, Default)]
pub struct Start(Arc<AtomicU8>);

impl Start {
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

    fn set(&self, state: u8) -> bool {
        let order = Ordering::AcqRel;
        match self.0.compare_exchange(WAITING, state, order, Ordering::Acquire) {
            Ok(_) => true,
            Err(current) => current == state,
        }
    }
}

#[cfg(test)]
mod tests {
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
}
