//! The engine over PostgreSQL passes every case that the oracle passes, at ease and with as few
//! connections as can be, by a role that owns nothing and by the owner.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::sync::Arc;

use roster_core::Rules;
use roster_postgres::{Connector, Postgres, Settings, prepare};
use roster_testkit::{
    conformance,
    conformance::Subject,
    postgres::{Cluster, SERVICE_ROLE, Schema},
};
use tokio::{runtime::Handle, task::block_in_place};

/// By a role that may read and write rows, and nothing else.
fn open(rules: Rules) -> Subject {
    let schema = Cluster::shared().schema();
    let (owner, service) = (settings(&schema.url(), rules), settings(&schema.service_url(), rules));
    wait(prepare(&owner, Some(SERVICE_ROLE))).expect("the owner prepares the database");
    subject(service, schema)
}

/// By the owner, with one connection of each kind.
fn open_cramped(rules: Rules) -> Subject {
    let schema = Cluster::shared().schema();
    let one = Settings {
        shared_connections: 1,
        own_connections: 1,
        write_connections: 1,
        ..settings(&schema.url(), rules)
    };
    subject(one, schema)
}

fn settings(url: &str, rules: Rules) -> Settings {
    Settings::new(Connector::parse(url).expect("a URL"), rules)
}

fn subject(settings: Settings, schema: Schema) -> Subject {
    let store = wait(Postgres::open(settings)).expect("a new store opens");
    Subject { store: Arc::new(store), keep: Box::new(schema) }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(future))
}

conformance!(postgres, open);
conformance!(postgres_cramped, open_cramped);
