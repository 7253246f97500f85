//! Whether a change was begun or given up, whichever comes first.
//!
//! Whoever asks for a change may wait for a time only; the engine may come to it at any moment.
//! Both tell here, and the first to do so decides: a change that was given up is never begun, and
//! one that was begun is carried out whoever waits. It knows no time.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The beginning of a change, shared by whoever waits for it and whoever carries it out.
#[derive(Clone, Debug, Default)]
pub struct Start(Arc<AtomicU8>);

impl Start {
    /// From here on it is carried out; `false` if it was given up before. What was begun once
    /// begins again, as a transaction that is repeated does.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.settle(BEGUN)
    }

    /// From here on it is not begun; `false` if it was begun before.
    #[must_use]
    pub fn give_up(&self) -> bool {
        self.settle(GIVEN_UP)
    }

    fn settle(&self, state: u8) -> bool {
        let order = Ordering::AcqRel;
        match self.0.compare_exchange(WAITING, state, order, Ordering::Acquire) {
            Ok(_) => true,
            Err(settled) => settled == state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whichever_comes_first_holds() {
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
