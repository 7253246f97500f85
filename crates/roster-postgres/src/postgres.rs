//! The store itself: opening, asking, closing.

use std::sync::{Arc, Mutex, PoisonError};

use roster_core::{
    Command, Failure, GroupCommand, LogId, Outcome, Rules, StoreError,
    list::{Page, PageQuery},
    store::Secret,
};
use tokio::task::JoinSet;

use crate::{
    establish::{Established, establish},
    gather::Gathering,
    open_error::OpenError,
    page::{Direct, Walked},
    pool::{Own, Shared, Tries},
    schema::migrate,
    settings::Settings,
    writer::{Job, Prepared, Preview, PreviewGroup, Queue, Results, Writer},
};

/// A store over PostgreSQL.
pub struct Postgres {
    queue: Arc<Queue>,
    gathering: Arc<Gathering>,
    tasks: Mutex<Option<JoinSet<()>>>,
    shared: Arc<Shared>,
    own: Own,
    rules: Rules,
    pub(crate) secret: Secret,
    pub(crate) log_id: LogId,
}

impl Postgres {
    /// Opens the store of a database, or makes one there. Looks at no user unless the policy on
    /// shared addresses or external ids became stricter.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        let Settings { connector, rules, .. } = settings;
        migrate(&connector).await?;
        let Established { log_id, secret, era } = establish(&connector, rules).await?;
        let queue = Arc::new(Queue::new(settings.write_queue_max, settings.write_wait_max));
        let mut tasks = JoinSet::new();
        for _ in 0..settings.write_connections.max(1) {
            let writer = Writer::new(connector.clone(), Arc::clone(&queue), rules, era);
            tasks.spawn(writer.run());
        }
        let shared = Arc::new(Shared::new(connector.clone(), settings.shared_connections));
        let gathering = Arc::new(Gathering::default());
        for _ in 0..settings.shared_connections.max(1) {
            tasks.spawn(Arc::clone(&gathering).answer(Arc::clone(&shared)));
        }
        Ok(Self {
            queue,
            gathering,
            tasks: Mutex::new(Some(tasks)),
            shared,
            own: Own::new(connector, settings.own_connections),
            rules,
            secret,
            log_id,
        })
    }

    /// Carries out what still waits. Later writes are refused.
    pub async fn close(&self) {
        self.queue.close();
        self.gathering.close();
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tasks) = tasks {
            tasks.join_all().await;
        }
    }

    pub(crate) async fn carry_out(&self, commands: Vec<Command>) -> Results {
        if commands.is_empty() {
            return Vec::new();
        }
        let prepared = |command| Prepared::new(self.rules, command);
        self.push(commands.into_iter().map(prepared).collect()).await
    }

    /// Carries a group command out.
    pub(crate) async fn carry_out_group(&self, command: GroupCommand) -> Result<Outcome, Failure> {
        let mut results = self.push(vec![Prepared::group(command)]).await;
        let lost = || Err(Failure::Store(StoreError::Internal("the writer gave nothing".into())));
        results.pop().unwrap_or_else(lost)
    }

    async fn push(&self, commands: Vec<Prepared>) -> Results {
        let count = commands.len();
        let (job, answer) = Job::new(commands);
        let error = match self.queue.push(job) {
            Ok(()) => match answer.await {
                Ok(results) => return results,
                // Whether it wrote is not known.
                Err(_) => "the writer is gone".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let refused = |_| Err(Failure::Store(StoreError::Unavailable(error.clone().into())));
        (0..count).map(refused).collect()
    }

    /// What a command would come to.
    pub(crate) async fn judge(&self, command: Command) -> Result<Outcome, Failure> {
        self.own.ask(Tries::of_short(), &Preview { rules: self.rules, command }).await?
    }

    /// What a group command would come to.
    pub(crate) async fn judge_group(&self, command: GroupCommand) -> Result<Outcome, Failure> {
        let preview = PreviewGroup { rules: self.rules, command };
        self.own.ask(Tries::of_short(), &preview).await?
    }

    pub(crate) const fn gathering(&self) -> &Arc<Gathering> {
        &self.gathering
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) const fn own(&self) -> &Own {
        &self.own
    }

    /// A page of users: one statement beside others where that is enough.
    pub(crate) async fn users(&self, query: PageQuery) -> Result<Page, StoreError> {
        match Direct::of(&query) {
            Some(direct) => self.shared.ask(&direct).await,
            None => self.own.ask(Tries::of_long(), &Walked(&query)).await,
        }
    }
}
