//! What the writer and all others share: the queue between them, the head that was last
//! committed, the byte cache, the health, the checkpoints, the long readings.

use std::sync::{Mutex, PoisonError};

use roster_core::Head;
use roster_engine::Queue;

use crate::{
    cache::{ByteCache, Touched},
    checkpoint::Checkpoints,
    health::Health,
    long_reads::LongReads,
    writer::tasks::Tasks,
};

/// The state that is shared.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) tasks: Tasks,
    pub(crate) cache: ByteCache,
    pub(crate) health: Health,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) long_reads: LongReads,
    head: Mutex<Head>,
}

impl Shared {
    pub(crate) fn new(queue: Queue, cache: ByteCache, head: Head) -> Self {
        let health = Health::default();
        let (checkpoints, long_reads) = (Checkpoints::default(), LongReads::default());
        Self {
            queue,
            tasks: Tasks::default(),
            cache,
            health,
            checkpoints,
            long_reads,
            head: Mutex::new(head),
        }
    }

    /// The head that was last committed.
    pub(crate) fn head(&self) -> Head {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a commit: before any of its commands is answered.
    pub(crate) fn committed(&self, head: Head, touched: Vec<Touched>) {
        self.cache.commit(touched);
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
        self.health.committed();
    }
}
