//! A directory over a store of either engine, with a clock that the test sets.

use std::{any::Any, sync::Arc};

use roster::housekeeping::{Housekeeping, Retention};
use roster_core::{
    Actor, Caller, Directory, Draft, Rules, Store, Terms, UserId,
    access::{Permit, ReadDeletedUsers},
    json,
    list::DeletedQuery,
};
use roster_http::HousekeepingMetrics;
use roster_postgres::{Connector, Postgres};
use roster_sqlite::Sqlite;
use roster_testkit::{TestClock, postgres::Cluster, process::Engine};

/// A directory and its store.
pub(crate) struct Place {
    pub(crate) directory: Directory,
    pub(crate) clock: Arc<TestClock>,
    _keep: Box<dyn Any>,
}

impl Place {
    pub(crate) async fn new(engine: Engine) -> Self {
        let (store, keep): (Arc<dyn Store>, Box<dyn Any>) = match engine {
            Engine::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().to_owned();
                let store = Sqlite::open(roster_sqlite::Settings::new(path, Rules::default()));
                (Arc::new(store.unwrap()), Box::new(directory))
            }
            Engine::Postgres => {
                let schema = Cluster::shared().schema();
                let connector = Connector::parse(&schema.url()).unwrap();
                let settings = roster_postgres::Settings::new(connector, Rules::default());
                (Arc::new(Postgres::open(settings).await.unwrap()), Box::new(schema))
            }
        };
        let clock = Arc::new(TestClock::new());
        Self { directory: Directory::new(store, clock.clone()), clock, _keep: keep }
    }

    /// Housekeeping of a process that starts now.
    pub(crate) fn start(&self, keep: Retention, metrics: &HousekeepingMetrics) -> Housekeeping {
        Housekeeping::new(self.directory.clone(), keep, metrics.clone())
    }

    pub(crate) async fn create(&self, username: &str) -> UserId {
        let body = format!(r#"{{"username":"{username}"}}"#);
        let draft = Draft::parse(json::read(body.as_bytes()).unwrap());
        self.directory.create(may(), draft, terms()).await.unwrap().stored.id
    }

    pub(crate) async fn delete(&self, id: UserId) {
        self.directory.delete(may(), id, terms()).await.unwrap();
    }

    pub(crate) async fn deleted(&self) -> usize {
        let query = DeletedQuery::first(100);
        self.directory.list_deleted(may::<ReadDeletedUsers>(), query).await.unwrap().items.len()
    }
}

pub(crate) fn may<R>() -> Permit<R> {
    Permit::of_the_service()
}

pub(crate) fn caller() -> Caller {
    Caller { actor: Actor::Anonymous, request_id: "request".to_owned() }
}

pub(crate) fn terms() -> Terms {
    Terms::of(caller())
}
