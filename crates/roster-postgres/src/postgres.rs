//! The store itself: opening, writing, closing.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use roster_core::{Act, Command, Failure, Outcome, StoreError, TenantId, store::Secret};
use roster_engine::{Queue, Request, Results};
use tokio::task::{AbortHandle, JoinSet};

use crate::{
    establish::{Established, establish, refuse_pooler},
    failure::QueryError,
    in_force::{InForce, RulesInForce},
    migrations::migrate,
    open_error::OpenError,
    pool::{ExclusivePool, SHORT, SharedPool},
    reads::{
        large_pages::LargePages, log_end::LogEnd, long_reads::LongReads, user_lookups::UserLookups,
    },
    settings::Settings,
    writer::{Counters, Writer, dry_run},
};

/// The maximum number of attempts at a dry run: each change of the policy requires another one.
const ERAS_MAX: u32 = 4;

/// A tenant of a store over PostgreSQL. All tenants share the store.
#[derive(Clone)]
pub struct Postgres {
    store: Arc<OpenStore>,
    pub(crate) tenant: TenantId,
}

/// An open store.
pub struct OpenStore {
    pub(crate) queue: Arc<Queue>,
    pub(crate) user_lookups: Arc<UserLookups>,
    tasks: Mutex<Option<JoinSet<()>>>,
    pub(crate) shared: Arc<SharedPool>,
    pub(crate) exclusive: ExclusivePool,
    /// A connection for checks of the store, which must not wait for long reads.
    pub(crate) probe: ExclusivePool,
    pub(crate) long_reads: LongReads,
    pub(crate) large_pages: LargePages,
    pub(crate) in_force: Arc<RulesInForce>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) log_end: LogEnd,
    following: AbortHandle,
    pub(crate) secret: Secret,
}

impl Deref for Postgres {
    type Target = OpenStore;

    fn deref(&self) -> &OpenStore {
        &self.store
    }
}

impl Postgres {
    /// Opens the store of a database, or creates one there. Returns its default tenant.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        refuse_pooler(&settings.connector).await?;
        migrate(&settings.connector).await?;
        let long_reads = LongReads::start();
        let Established { secret, in_force } = establish(&settings).await?;
        let (connector, lease) = (settings.connector, settings.schema_lease);
        let shared = Arc::new(SharedPool::new(connector.clone(), settings.shared_connections));
        let in_force = Arc::new(RulesInForce::new(Arc::clone(&shared), in_force, lease));
        let queue = Arc::new(Queue::new(settings.write_queue_max, settings.write_wait_max));
        let mut tasks = JoinSet::new();
        let counters = Arc::new(Counters::default());
        for _ in 0..settings.write_connections.max(1) {
            let (queue, in_force) = (Arc::clone(&queue), Arc::clone(&in_force));
            let writer = Writer::new(connector.clone(), queue, in_force, Arc::clone(&counters));
            tasks.spawn(writer.run());
        }
        let user_lookups = Arc::new(UserLookups::new());
        for _ in 0..settings.shared_connections.max(1) {
            tasks.spawn(Arc::clone(&user_lookups).serve(Arc::clone(&shared)));
        }
        let following = tokio::spawn(RulesInForce::follow(Arc::downgrade(&in_force)));
        let store = OpenStore {
            queue,
            user_lookups,
            tasks: Mutex::new(Some(tasks)),
            shared: Arc::clone(&shared),
            exclusive: ExclusivePool::new(connector.clone(), settings.own_connections),
            probe: ExclusivePool::new(connector, 1),
            long_reads,
            large_pages: LargePages::default(),
            in_force,
            counters,
            log_end: LogEnd::new(shared),
            following: following.abort_handle(),
            secret,
        };
        Ok(Self { store: Arc::new(store), tenant: TenantId::DEFAULT })
    }

    /// The tenant with this id of the same store.
    pub async fn of(&self, tenant: TenantId) -> Result<Self, StoreError> {
        self.in_force.begin_use(tenant).await?;
        Ok(Self { store: Arc::clone(&self.store), tenant })
    }

    /// Executes commands.
    pub(crate) async fn execute(&self, commands: Vec<Command>) -> Results {
        let replaces_schema = commands.iter().any(|command| matches!(command.act, Act::Schema(_)));
        let InForce { rules, schema, .. } = self.in_force.known(self.tenant);
        let schema = schema.unwrap_or_default();
        let request = |command| Request::new(self.tenant, rules, &schema, command);
        let results = self.queue.execute(commands, request).await;
        if replaces_schema {
            // If this fails, the next write or the next periodic check reads the schema.
            drop(self.in_force.refresh().await);
            if results.iter().any(Result::is_ok) {
                self.in_force.outlive().await;
            }
        }
        results
    }

    /// The outcome of a dry run.
    pub(crate) async fn dry_run(&self, command: Command) -> Result<Outcome, Failure> {
        let InForce { rules, schema, .. } = self.in_force.known(self.tenant);
        let request = Request::new(self.tenant, rules, &schema.unwrap_or_default(), command);
        for _ in 0..ERAS_MAX {
            let in_force = self.in_force.known(self.tenant);
            if self.in_force.is_of_current_log(&in_force) {
                let dry_run = self.exclusive.run(SHORT, |c| dry_run(c, in_force.clone(), &request));
                if let Some(result) = dry_run.await? {
                    return result;
                }
            }
            self.in_force.refresh().await?;
        }
        Err(Failure::Store(QueryError::EraEnded.into()))
    }
}

impl OpenStore {
    /// Executes the waiting commands. Later writes are rejected.
    pub async fn close(&self) {
        self.queue.close();
        self.user_lookups.close();
        self.following.abort();
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tasks) = tasks {
            tasks.join_all().await;
        }
    }
}
