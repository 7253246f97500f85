//! A pending erasure continues in the database.

use std::sync::Arc;

use roster_core::{
    Actor, Caller, Directory, Draft, Erasure, EventsQuery, Purged, Rules, Store as _, TenantId,
    Terms, access::Permit, json,
};
use roster_postgres::{Connector, Postgres};
use roster_sqlite::Sqlite;
use roster_testkit::{TestClock, postgres::Cluster};

use super::store::Store;

fn may<R>() -> Permit<R> {
    Permit::of_the_service()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_erasure_hides_the_user_and_goes_on_in_the_database() {
    let (source, database) = (Store::filled(), Cluster::shared().database());
    let settings = roster_sqlite::Settings::new(source.directory(), Rules::default());
    let store = Arc::new(Sqlite::open(settings).unwrap());
    let directory = Directory::new(store.clone(), Arc::new(TestClock::new()));
    let terms = || Terms::of(Caller { actor: Actor::Anonymous, request_id: "r".to_owned() });
    let tree = |text: &str| json::read(text.as_bytes()).unwrap();
    let draft = Draft::parse(tree(r#"{"username":"purged"}"#));
    let id = directory.create(may(), draft, terms()).await.unwrap().stored.id;
    for n in 0..1200 {
        let patch = tree(&format!(r#"{{"title":"T{n}"}}"#));
        directory.patch(may(), id, patch, terms()).await.unwrap();
    }
    directory.delete(may(), id, terms()).await.unwrap();
    directory.purge(may(), id, terms()).await.unwrap();
    assert_eq!(
        store.pending_erasures().await.unwrap(),
        [Purged { tenant: TenantId::DEFAULT, user: Some(id) }]
    );
    store.close();
    drop((directory, store));
    source.migrate(&database.url()).success();

    let connector = Connector::parse(&database.url()).unwrap();
    let settings = roster_postgres::Settings::new(connector, Rules::default());
    let store = Postgres::open(settings).await.unwrap();
    let records = format!("SELECT count(*) FROM events WHERE record <> '' AND subject_id = '{id}'");
    assert_eq!(database.sql(&records), "1202");
    let query = EventsQuery { user_id: Some(id), ..EventsQuery::after(0, 2000) };
    let events = store.events(query).await.unwrap().events;
    assert_eq!(events.len(), 1203);
    assert!(events.iter().all(|(_, event)| event.record.is_empty()));
    assert_eq!(
        store.erase(Purged { tenant: TenantId::DEFAULT, user: Some(id) }).await.unwrap(),
        Erasure::Pending
    );
    assert_eq!(
        store.erase(Purged { tenant: TenantId::DEFAULT, user: Some(id) }).await.unwrap(),
        Erasure::Done
    );
    assert_eq!(database.sql(&records), "0");
    store.close().await;
}
