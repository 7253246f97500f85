//! The state that the writer and other threads share: queues, the byte cache, the rules, the
//! schemas of users, the health, the checkpoints, the long reads.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
};

use roster_core::{Rules, StoreError, TenantId, UserSchema};
use roster_engine::Queue;
use tokio::sync::{
    mpsc::{Sender, error::TrySendError},
    oneshot, watch,
};

use super::{Task, Writer, checkpoints::Checkpoints};
use crate::{
    cache::{ByteCache, Touched},
    health::Health,
    mutex::lock,
    reads::long_reads::LongReads,
};

/// The schemas of users of some tenants.
pub(crate) type Schemas = HashMap<TenantId, Arc<UserSchema>>;

pub(crate) struct Shared {
    pub(crate) queue: Queue,
    tasks: Sender<Task>,
    pub(crate) cache: ByteCache,
    pub(crate) health: Arc<Health>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) long_reads: LongReads,
    rules: Mutex<Rules>,
    /// The last committed schemas of users, of the tenants that are in use.
    schemas: Mutex<Schemas>,
    /// The position of the log after the last commit.
    position: watch::Sender<i64>,
}

impl Shared {
    pub(crate) fn new(
        queue: Queue,
        tasks: Sender<Task>,
        cache: ByteCache,
        rules: Rules,
        schema: Arc<UserSchema>,
        position: i64,
    ) -> Self {
        Self {
            queue,
            tasks,
            cache,
            health: Arc::default(),
            checkpoints: Checkpoints::default(),
            long_reads: LongReads::default(),
            rules: Mutex::new(rules),
            schemas: Mutex::new(HashMap::from([(TenantId::DEFAULT, schema)])),
            position: watch::Sender::new(position),
        }
    }

    /// The rules with the policy that was last read.
    pub(crate) fn rules(&self) -> Rules {
        *lock(&self.rules)
    }

    /// Keeps the rules with the policy that was read.
    pub(crate) fn set_rules(&self, rules: Rules) {
        *lock(&self.rules) = rules;
    }

    /// The schema of a tenant's users that was last committed; `None` if the tenant is not in use.
    pub(crate) fn schema(&self, tenant: TenantId) -> Option<Arc<UserSchema>> {
        lock(&self.schemas).get(&tenant).cloned()
    }

    /// Keeps a schema that was read, unless there is one: that of a later commit.
    pub(crate) fn keep_schema(&self, tenant: TenantId, schema: Arc<UserSchema>) {
        lock(&self.schemas).entry(tenant).or_insert(schema);
    }

    /// Keeps a schema whose indexes have another status after a commit.
    pub(crate) fn replace_schema(&self, tenant: TenantId, schema: Option<Arc<UserSchema>>) {
        lock(&self.schemas).extend(schema.map(|schema| (tenant, schema)));
    }

    /// Records a commit, before any of its commands is acknowledged.
    pub(crate) fn committed(&self, position: i64, touched: Vec<Touched>, schemas: Schemas) {
        self.cache.commit(touched);
        if !schemas.is_empty() {
            lock(&self.schemas).extend(schemas);
        }
        self.health.committed();
        self.position.send_replace(position);
    }

    /// The position of the log after the last commit of this process.
    pub(crate) fn position(&self) -> i64 {
        *self.position.borrow()
    }

    /// Records an event that no command has appended.
    pub(crate) fn log_reaches(&self, position: i64) {
        self.position.send_if_modified(|last| mem::replace(last, position) != position);
    }

    /// Returns once the log has an event after this position.
    pub(crate) async fn log_grown(&self, position: i64) {
        // The sender lives as long as this.
        drop(self.position.subscribe().wait_for(|last| *last > position).await);
    }

    /// Forgets a tenant in which everything is erased.
    pub(crate) fn forget(&self, tenant: TenantId) {
        self.cache.forget(tenant);
        lock(&self.schemas).remove(&tenant);
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
