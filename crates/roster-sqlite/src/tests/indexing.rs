//! The rows of a new index are kept in memory between steps.

use roster_core::{IndexStep, IndexStore as _, SchemaDraft, Store as _, schema::IndexStatus};
use rusqlite::Connection;

use super::{
    support::{apply, column, command, create, tree},
    tenants,
};
use crate::{Sqlite, settings::DATABASE};

/// Users with badges, and the declaration of an index of them.
async fn fill(store: &Sqlite, users: u64) {
    for n in 1..=users {
        let badge = n * 7919 % 10_007;
        let user = format!(r#"{{"username":"u{n}","attributes":{{"badge":"{badge}"}}}}"#);
        apply(store, create(n, &user)).await.unwrap();
    }
    declare(store, users + 1, BADGE).await;
}

const BADGE: &str = r#"{"attributes":[{"name":"badge","type":"string","indexed":true}]}"#;

async fn declare(store: &Sqlite, seed: u64, draft: &str) {
    apply(store, command(seed, SchemaDraft::parse(tree(draft)))).await.unwrap();
}

/// Executes steps of these stores in turns until nothing is due.
async fn build(stores: &[&Sqlite]) {
    for _ in 0..1000 {
        let mut is_done = true;
        for store in stores {
            is_done &= store.index_step().await.unwrap() == IndexStep::Done;
        }
        if is_done {
            return;
        }
    }
    panic!("the steps do not end");
}

/// The number of rows of the only index of a tenant, if queries may use it.
fn rows(directory: &std::path::Path, store: &Sqlite) -> Option<String> {
    let schema = store.schema();
    let [index] = &*schema.indexes else { return None };
    let (tenant, kind) = (store.tenant.number(), index.kind);
    let sql = format!("SELECT count(*) FROM further_keys WHERE tenant={tenant} AND kind={kind}");
    let rows = column(directory, &sql).pop();
    rows.filter(|_| index.status == IndexStatus::Ready)
}

#[tokio::test]
async fn indexes_of_several_tenants_are_built_in_turns() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, two]) = tenants::store(directory.path()).await;
    for (store, users) in [(&default, 250), (&one, 120), (&two, 30)] {
        fill(store, users).await;
    }
    build(&[&default, &one, &two]).await;
    let of = |store| rows(directory.path(), store);
    assert_eq!([of(&default), of(&one), of(&two)].map(Option::unwrap), ["250", "120", "30"]);
}

#[tokio::test]
async fn a_tenant_without_work_keeps_no_rows_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, _]) = tenants::store(directory.path()).await;
    fill(&default, 250).await;
    fill(&one, 250).await;
    assert_eq!(one.index_step().await.unwrap(), IndexStep::Pending);
    let removed = "DELETE FROM settings WHERE tenant = 1 AND name = 'index_work'";
    Connection::open(directory.path().join(DATABASE)).unwrap().execute(removed, []).unwrap();
    // Three steps read the users; the last of them and three more write their rows. In the order of
    // users 32 steps would be needed.
    for _ in 0..6 {
        assert_eq!(default.index_step().await.unwrap(), IndexStep::Pending);
    }
    assert_eq!(rows(directory.path(), &default).unwrap(), "250");
}

#[tokio::test]
async fn rows_of_a_step_that_failed_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = tenants::store(directory.path()).await;
    fill(&store, 150).await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON further_keys \
         WHEN (SELECT count(*) FROM further_keys) > 100 BEGIN SELECT RAISE(ABORT, 'refused'); END";
    connection.execute_batch(trigger).unwrap();
    let mut failed = 0;
    for _ in 0..10 {
        failed += u8::from(store.index_step().await.is_err());
    }
    assert!(failed > 1, "{failed}");
    connection.execute_batch("DROP TRIGGER refuse").unwrap();
    build(&[&store]).await;
    assert_eq!(rows(directory.path(), &store).unwrap(), "150");
}

#[tokio::test]
async fn an_index_that_was_dropped_while_it_was_built_has_all_rows_when_it_is_declared_again() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = tenants::store(directory.path()).await;
    fill(&store, 150).await;
    // Two steps read the users, and the second one writes the first rows.
    for _ in 0..2 {
        assert_eq!(store.index_step().await.unwrap(), IndexStep::Pending);
    }
    declare(&store, 152, r#"{"attributes":[]}"#).await;
    build(&[&store]).await;
    assert!(store.schema().indexes.is_empty());
    declare(&store, 153, BADGE).await;
    build(&[&store]).await;
    assert_eq!(rows(directory.path(), &store).unwrap(), "150");
}
