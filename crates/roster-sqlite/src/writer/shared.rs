//! The state that the writer and other threads share: queues, the last committed head, the byte
//! cache, the health, the checkpoints, the long reads.

use std::sync::{Arc, Mutex};

use roster_core::{Head, Rules, StoreError, UserSchema};
use roster_engine::Queue;
use tokio::sync::{
    mpsc::{Sender, error::TrySendError},
    oneshot,
};

use super::{Task, Writer, checkpoints::Checkpoints};
use crate::{
    cache::{ByteCache, Touched},
    health::Health,
    mutex::lock,
    reads::long_reads::LongReads,
};

pub(crate) struct Shared {
    pub(crate) queue: Queue,
    tasks: Sender<Task>,
    pub(crate) cache: ByteCache,
    pub(crate) health: Arc<Health>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) long_reads: LongReads,
    head: Mutex<Head>,
    rules: Mutex<Rules>,
    schema: Mutex<Arc<UserSchema>>,
}

impl Shared {
    pub(crate) fn new(
        queue: Queue,
        tasks: Sender<Task>,
        cache: ByteCache,
        head: Head,
        rules: Rules,
        schema: Arc<UserSchema>,
    ) -> Self {
        Self {
            queue,
            tasks,
            cache,
            health: Arc::default(),
            checkpoints: Checkpoints::default(),
            long_reads: LongReads::default(),
            head: Mutex::new(head),
            rules: Mutex::new(rules),
            schema: Mutex::new(schema),
        }
    }

    pub(crate) fn head(&self) -> Head {
        *lock(&self.head)
    }

    /// The rules with the policy that was last read.
    pub(crate) fn rules(&self) -> Rules {
        *lock(&self.rules)
    }

    /// Keeps the rules with the policy that was read.
    pub(crate) fn set_rules(&self, rules: Rules) {
        *lock(&self.rules) = rules;
    }

    /// The schema of users that was last committed.
    pub(crate) fn schema(&self) -> Arc<UserSchema> {
        Arc::clone(&lock(&self.schema))
    }

    /// Records a commit, before any of its commands is acknowledged.
    pub(crate) fn committed(
        &self,
        head: Head,
        touched: Vec<Touched>,
        schema: Option<Arc<UserSchema>>,
    ) {
        self.cache.commit(touched);
        if let Some(schema) = schema {
            *lock(&self.schema) = schema;
        }
        *lock(&self.head) = head;
        self.health.committed();
    }

    /// The writer executes a task. It is executed even if its caller is gone.
    pub(crate) async fn task<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Writer) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.send(work, true).await
    }

    /// The writer executes a task that changes nothing.
    pub(crate) async fn probe(
        &self,
        work: impl FnOnce(&Writer) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.send(work, false).await
    }

    async fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Writer) -> Result<T, StoreError> + Send + 'static,
        commits: bool,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let task: Task = Box::new(move |writer| {
            drop(reply.send(work(writer)));
            commits
        });
        let closing = || StoreError::Unavailable("the store is closing".into());
        self.tasks.try_send(task).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unavailable("too many tasks wait".into()),
            TrySendError::Closed(_) => closing(),
        })?;
        self.queue.wake();
        answer.await.map_err(|_| closing())?
    }
}
