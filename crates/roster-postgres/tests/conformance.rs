//! The engine over PostgreSQL passes every case that the oracle passes, at ease and with as few
//! connections as can be.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::sync::Arc;

use roster_core::Rules;
use roster_postgres::{Connector, Postgres, Settings};
use roster_testkit::{conformance, conformance::Subject, postgres::Cluster};
use tokio::{runtime::Handle, task::block_in_place};

fn open(rules: Rules) -> Subject {
    subject(rules, |_| {})
}

/// One connection of each kind.
fn open_cramped(rules: Rules) -> Subject {
    subject(rules, |settings| {
        settings.shared_connections = 1;
        settings.own_connections = 1;
        settings.write_connections = 1;
    })
}

fn subject(rules: Rules, adjust: impl FnOnce(&mut Settings)) -> Subject {
    let schema = Cluster::shared().schema();
    let connector = Connector::parse(&schema.url()).expect("a URL");
    let mut settings = Settings::new(connector, rules);
    adjust(&mut settings);
    let opened = block_in_place(|| Handle::current().block_on(Postgres::open(settings)));
    let store = opened.expect("a new store opens");
    Subject { store: Arc::new(store), keep: Box::new(schema) }
}

conformance!(postgres, open);
conformance!(postgres_cramped, open_cramped);
