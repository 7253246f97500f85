//! The store itself: opening, asking, closing.

use std::sync::{Arc, Mutex, PoisonError};

use roster_core::{
    Command, Failure, LogId, Outcome, Rules, StoreError,
    list::{Page, PageQuery},
    store::Secret,
};
use tokio::task::JoinSet;

use crate::{
    establish::{Established, establish},
    open_error::OpenError,
    page::{Direct, Walked},
    pool::{Own, Question, Shared, Tries},
    schema::migrate,
    settings::Settings,
    writer::{Job, Prepared, Preview, Queue, Results, Writer},
};

/// A store over PostgreSQL.
pub struct Postgres {
    queue: Arc<Queue>,
    writers: Mutex<Option<JoinSet<()>>>,
    shared: Shared,
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
        let queue = Arc::new(Queue::new(settings.write_queue_max));
        let mut writers = JoinSet::new();
        for _ in 0..settings.write_connections.max(1) {
            let writer = Writer::new(connector.clone(), Arc::clone(&queue), rules, era);
            writers.spawn(writer.run());
        }
        Ok(Self {
            queue,
            writers: Mutex::new(Some(writers)),
            shared: Shared::new(connector.clone(), settings.shared_connections),
            own: Own::new(connector, settings.own_connections),
            rules,
            secret,
            log_id,
        })
    }

    /// Carries out what still waits. Later writes are refused.
    pub async fn close(&self) {
        self.queue.close();
        let writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writers) = writers {
            writers.join_all().await;
        }
    }

    pub(crate) async fn carry_out(&self, commands: Vec<Command>) -> Results {
        let count = commands.len();
        if count == 0 {
            return Vec::new();
        }
        let prepared = |command| Prepared::new(self.rules, command);
        let (job, answer) = Job::new(commands.into_iter().map(prepared).collect());
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
        self.alone(Tries::of_short(), &Preview { rules: self.rules, command }).await?
    }

    /// A page of users: one statement beside others where that is enough.
    pub(crate) async fn users(&self, query: PageQuery) -> Result<Page, StoreError> {
        match Direct::of(&query) {
            Some(direct) => self.together(&direct).await,
            None => self.alone(Tries::of_long(), &Walked(&query)).await,
        }
    }

    /// Asks a short question, on a connection that others ask on too.
    pub(crate) async fn together<Q: Question>(
        &self,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        let tries = Tries::of_short();
        loop {
            let connection = self.shared.get(tries.end()).await?;
            if let Some(answer) = tries.ask(&connection, question).await? {
                return Ok(answer);
            }
        }
    }

    /// Asks on a connection that nobody else uses meanwhile.
    pub(crate) async fn alone<Q: Question>(
        &self,
        tries: Tries,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        loop {
            let lease = self.own.get(tries.end()).await?;
            if let Some(answer) = tries.ask(lease.connection(), question).await? {
                lease.give_back();
                return Ok(answer);
            }
        }
    }
}
