//! Where reads run, where they end, and that they stop when their caller is gone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use roster_core::{
    Store, StoreError,
    filter::{Expression, Filter},
    list::{Page, PageQuery},
};
use tokio::time::{sleep, timeout};

use super::support::{create, id, open};
use crate::Sqlite;

/// Creates users with this number of roles each.
async fn fill(store: &Sqlite, users: u64, roles: usize) {
    let roles: Vec<String> = (0..roles).map(|n| format!(r#"{{"value":"role-{n}"}}"#)).collect();
    let roles = roles.join(",");
    for chunk in (1..=users).collect::<Vec<_>>().chunks(20) {
        let user = |n: &u64| create(*n, &format!(r#"{{"username":"u{n}","roles":[{roles}]}}"#));
        for result in store.apply(chunk.iter().map(user).collect()).await {
            result.unwrap();
        }
    }
}

/// The first 80 users, if they match 64 tests of their roles.
fn heavy() -> PageQuery {
    let tests = [r#"roles.value co "x""#; 62].join(" or ");
    of_ids(&format!(r#"not ({tests}) and roles.value co "role""#))
}

fn of_ids(filter: &str) -> PageQuery {
    let filter = Filter::parse(filter).unwrap().expression().clone();
    PageQuery::first(100).with(Expression::ids((1..=80).map(id).collect())).with(filter)
}

#[tokio::test]
async fn a_page_whose_rows_need_many_comparisons_runs_on_the_threads_for_long_reads() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store, 80, 400).await;
    // No long read begins meanwhile.
    let paused = store.shared.long_reads.pause();
    let by_name = |filter: &str| {
        let filter = Filter::parse(filter).unwrap().expression().clone();
        PageQuery::first(50).with(filter)
    };
    let tests = [r#"roles.value co "x""#; 60].join(" or ");
    for (query, runs_here) in [
        (PageQuery::first(50), true),
        (PageQuery::first(50).with(Expression::ids((1..=80).map(id).collect())), true),
        (by_name(r#"username eq "u1" and title eq "x""#), true),
        (by_name(r#"username eq "u1" and roles.value co "role-7""#), true),
        (by_name(&format!(r#"username eq "u1" and ({tests})"#)), false),
        (heavy(), false),
    ] {
        let read = store.page(query.clone()).now_or_never();
        assert_eq!(read.is_some(), runs_here, "{:?}", query.filter);
    }
    drop(paused);
}

#[tokio::test]
async fn a_page_ends_at_its_comparisons_and_the_next_continues() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store, 80, 400).await;
    let mut query = heavy();
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let Page { items, next, examined, .. } = store.page(query.clone()).await.unwrap();
        // One user takes 63 x 400 comparisons, so a page has about 20 of them.
        assert!((5..=25).contains(&items.len()), "{}", items.len());
        assert_eq!(examined.is_some(), next.is_some(), "the page was not full");
        found.extend(items.iter().map(|user| user.id));
        pages += 1;
        let Some(next) = next else { break };
        query.after = Some(next);
    }
    assert_eq!(found, (1..=80).map(id).collect::<Vec<_>>());
    assert!(pages >= 4, "{pages}");
}

#[tokio::test]
async fn a_read_whose_caller_is_gone_stops() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let rows = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rows);
    let endless = store.scans.read(move |connection| {
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let mut statement = connection.prepare(sql)?;
        let mut found = statement.query([])?;
        while found.next()?.is_some() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let begun = async {
        while rows.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        ended = endless => panic!("{ended:?}"),
        () = begun => {}
    }
    // The thread is free again, and reads on.
    let next = store
        .scans
        .read(|connection| Ok(connection.query_row("SELECT 7", [], |row| row.get::<_, i64>(0))?));
    let next: Result<i64, StoreError> = timeout(Duration::from_secs(30), next).await.unwrap();
    assert_eq!(next.unwrap(), 7);
    let at_end = rows.load(Ordering::Relaxed);
    sleep(Duration::from_millis(20)).await;
    assert_eq!(rows.load(Ordering::Relaxed), at_end);
}

#[tokio::test]
async fn a_statement_without_rows_stops_too() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (begun, begins) = tokio::sync::oneshot::channel();
    let endless = store.scans.read(move |connection| {
        begun.send(()).unwrap();
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                   SELECT count(*) FROM n";
        Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?)
    });
    tokio::select! {
        ended = endless => panic!("{ended:?}"),
        begun = begins => begun.unwrap(),
    }
    let next = store.scans.read(|_| Ok(7));
    assert_eq!(timeout(Duration::from_secs(30), next).await.unwrap().unwrap(), 7);
}
