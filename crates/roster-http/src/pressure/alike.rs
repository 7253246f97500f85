//! Those in line who ask for the very same page: it is read once for a few of them.
//!
//! Whoever joins came before the reading began, so nobody is told anything older than what a
//! reading of its own would have found. Only so many share one: what is sent to them all at once
//! takes its time too. Where a reading comes to nothing those who joined it ask for themselves.
//! This must not know what a page is; who asks must be allowed to see it, whoever reads it.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::watch;

/// So many more are told what one has read.
const TOLD_MAX: u32 = 16;

/// The readings that others may join, by what they ask for.
#[derive(Debug)]
pub(crate) struct Alike<T> {
    waiting: Mutex<HashMap<Box<str>, Waiting<T>>>,
    number: AtomicU64,
}

/// What somebody in line does.
#[derive(Debug)]
pub(super) enum Part<'a, T> {
    /// Reads, once it may, and tells the others.
    Tells(Teller<'a, T>),
    /// Is told.
    Listens(Listener<T>),
}

/// A reading that has not begun.
#[derive(Debug)]
struct Waiting<T> {
    number: u64,
    joined: u32,
    told: watch::Receiver<Option<T>>,
}

/// Somebody who waits to read, and tells the others; they are let go when this is dropped.
#[derive(Debug)]
pub(crate) struct Teller<'a, T> {
    alike: &'a Alike<T>,
    asked: Box<str>,
    number: u64,
    tell: watch::Sender<Option<T>>,
}

/// Somebody who waits to be told.
#[derive(Debug)]
pub(super) struct Listener<T>(watch::Receiver<Option<T>>);

impl<T> Default for Alike<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), number: AtomicU64::new(0) }
    }
}

impl<T> Alike<T> {
    /// Joins whoever waits to read the same; where nobody does, or as many as may have joined it,
    /// others may join this one from now on.
    pub(super) fn part(&self, asked: &str) -> Part<'_, T> {
        let mut waiting = self.waiting();
        if let Some(same) = waiting.get_mut(asked).filter(|same| same.joined < TOLD_MAX) {
            same.joined += 1;
            return Part::Listens(Listener(same.told.clone()));
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = watch::channel(None);
        waiting.insert(asked.into(), Waiting { number, joined: 0, told });
        Part::Tells(Teller { alike: self, asked: asked.into(), number, tell })
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<Box<str>, Waiting<T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Teller<'_, T> {
    /// From here on nobody may join: the reading begins.
    pub(super) fn begin(&self) {
        let mut waiting = self.alike.waiting();
        if waiting.get(&self.asked).is_some_and(|waiting| waiting.number == self.number) {
            waiting.remove(&self.asked);
        }
    }

    /// Tells those who joined, if any; what is told is made only then.
    pub(crate) fn tell(&self, told: impl FnOnce() -> T) {
        if self.tell.receiver_count() > 0 {
            self.tell.send_replace(Some(told()));
        }
    }
}

impl<T> Drop for Teller<'_, T> {
    fn drop(&mut self) {
        self.begin();
    }
}

impl<T: Clone> Listener<T> {
    /// What was read; nothing where the reading came to nothing.
    pub(super) async fn told(mut self) -> Option<T> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tells<'a, T>(alike: &'a Alike<T>, asked: &str) -> Teller<'a, T> {
        match alike.part(asked) {
            Part::Tells(teller) => teller,
            Part::Listens(_) => panic!("it joined somebody"),
        }
    }

    fn listens<T>(alike: &Alike<T>, asked: &str) -> Listener<T> {
        match alike.part(asked) {
            Part::Listens(listener) => listener,
            Part::Tells(_) => panic!("there was nobody to join"),
        }
    }

    #[tokio::test]
    async fn who_joins_before_the_reading_begins_is_told_what_was_read() {
        let alike = Alike::default();
        let teller = tells(&alike, "a");
        let listener = listens(&alike, "a");
        let other = tells(&alike, "b");
        teller.begin();
        let late = tells(&alike, "a");
        teller.tell(|| 7);
        drop((teller, late, other));
        assert_eq!(listener.told().await, Some(7));
        assert!(alike.waiting().is_empty());
    }

    #[tokio::test]
    async fn a_reading_that_comes_to_nothing_lets_them_go() {
        let alike = Alike::<u32>::default();
        let teller = tells(&alike, "a");
        let listener = listens(&alike, "a");
        drop(teller);
        assert_eq!(listener.told().await, None);
        assert!(alike.waiting().is_empty());
    }

    #[tokio::test]
    async fn so_many_share_one_and_the_next_one_reads() {
        let alike = Alike::default();
        let first = tells(&alike, "a");
        let joined: Vec<_> = (0..TOLD_MAX).map(|_| listens(&alike, "a")).collect();
        let second = tells(&alike, "a");
        first.begin();
        let late = listens(&alike, "a");
        first.tell(|| 1);
        second.begin();
        second.tell(|| 2);
        for listener in joined {
            assert_eq!(listener.told().await, Some(1));
        }
        assert_eq!(late.told().await, Some(2));
    }

    #[test]
    fn nothing_is_made_where_nobody_listens() {
        let alike = Alike::<u32>::default();
        let teller = tells(&alike, "a");
        teller.begin();
        teller.tell(|| unreachable!("nobody joined"));
    }
}
