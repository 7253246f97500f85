//! The PostgreSQL engine passes every case that the oracle passes: as a role that only reads and
//! writes rows, and as the owner with the minimum number of connections.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::{sync::Arc, time::Duration};

use roster_core::Rules;
use roster_postgres::{Connector, Postgres, Settings, prepare};
use roster_testkit::{
    conformance,
    conformance::Subject,
    postgres::{Cluster, SERVICE_ROLE, Schema},
};
use tokio::{runtime::Handle, task::block_in_place};

/// Uses a role that may only read and write rows.
fn open(rules: Rules) -> Subject {
    let schema = Cluster::shared().schema();
    let (owner, service) = (settings(&schema.url(), rules), settings(&schema.service_url(), rules));
    wait(prepare(&owner, Some(SERVICE_ROLE))).expect("the owner prepares the database");
    subject(service, schema)
}

/// Uses the owner, with one connection of each kind.
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
    let settings = Settings::new(Connector::parse(url).expect("a URL"), rules);
    Settings { schema_lease: Duration::ZERO, ..settings }
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
