//! Schemas: an older file is brought up to date, a newer or foreign one is left alone.

use std::fs;

use roster_core::{Store, list::PageQuery};
use rusqlite::Connection;

use super::support::{apply, column, create, id, open, settings};
use crate::{MIGRATIONS, OpenError, Sqlite, connection::DATABASE};

/// What a file of each schema held: entry n is put into a file that has had n migrations. A new
/// migration asks for a new entry.
const HELD: &[&str] = &[
    "",
    "INSERT INTO users VALUES (1, x'0190d1c2800070008000000000000001', 1, 0, 1720000000000, 'ada',
        'ada@example.com', NULL, NULL, x'', 'ada',
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000001\",\"version\":1,\"status\":\"active\",\
        \"username\":\"ada\"}');
     INSERT INTO log_head VALUES (1, x'0102030405060708', 1, 1, 0, 0);",
    "INSERT INTO users VALUES (1, x'0190d1c2800070008000000000000001', 1, 0, 1720000000000, 'ada',
        x'', NULL, NULL, x'', x'',
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000001\",\"version\":1,\"status\":\"active\",\
        \"username\":\"ada\"}');
     INSERT INTO words VALUES ('ada', x'0190d1c2800070008000000000000001');
     INSERT INTO log_head VALUES (1, x'0102030405060708', 1, 1, 0, 0);",
    "INSERT INTO users VALUES (1, x'0190d1c2800070008000000000000001', 1, 0, 1720000000000, 'ada',
        x'', NULL, NULL, x'', x'',
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000001\",\"version\":1,\"status\":\"active\",\
        \"username\":\"ada\"}');
     INSERT INTO words VALUES ('ada', x'0190d1c2800070008000000000000001');
     INSERT INTO log_head VALUES (1, x'0102030405060708', 1, 1, 0, 0);
     INSERT INTO keys VALUES ('aZ09aZ09aZ', 'one', 'users:read', 1720000000000, 'system', 0, 0, 0,
        0, zeroblob(32), x'', 0);
     INSERT INTO keys_head VALUES (1, 1);",
    "INSERT INTO users VALUES (1, x'0190d1c2800070008000000000000001', 1, 0, 1720000000000, 'ada',
        x'', NULL, NULL, x'', x'',
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000001\",\"version\":1,\"status\":\"active\",\
        \"username\":\"ada\"}');
     INSERT INTO words VALUES ('ada', x'0190d1c2800070008000000000000001');
     INSERT INTO log_head VALUES (1, x'0102030405060708', 1, 1, 0, 0);
     INSERT INTO keys VALUES ('aZ09aZ09aZ', 'one', 'users:read', 1720000000000, 'system', 0, 0, 0,
        0, zeroblob(32), x'', 0);
     INSERT INTO keys_head VALUES (1, 1);
     INSERT INTO groups VALUES (x'0190d1c2800070008000000000000002', 1, 1, 'team', NULL,
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000002\",\"version\":1,\
        \"display_name\":\"Team\"}');
     INSERT INTO group_members VALUES (x'0190d1c2800070008000000000000002',
        x'0190d1c2800070008000000000000001', 0);
     UPDATE groups_head SET total = 1;",
    "INSERT INTO users VALUES (1, x'0190d1c2800070008000000000000001', 1, 0, 1720000000000, 'ada',
        x'', NULL, NULL, x'', x'',
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000001\",\"version\":1,\"status\":\"active\",\
        \"username\":\"ada\"}');
     INSERT INTO words VALUES ('ada', x'0190d1c2800070008000000000000001');
     INSERT INTO log_head VALUES (1, x'0102030405060708', 1, 1, 0, 0);
     INSERT INTO keys VALUES ('aZ09aZ09aZ', 'one', 'users:read', 1720000000000, 'system', 0, 0, 0,
        0, zeroblob(32), x'', 0);
     INSERT INTO keys_head VALUES (1, 1);
     INSERT INTO groups VALUES (x'0190d1c2800070008000000000000002', 1, 1, 'team', NULL,
        '{\"id\":\"0190d1c2-8000-7000-8000-000000000002\",\"version\":1,\
        \"display_name\":\"Team\"}');
     INSERT INTO group_members VALUES (x'0190d1c2800070008000000000000002',
        x'0190d1c2800070008000000000000001', 0);
     UPDATE groups_head SET total = 1;
     INSERT INTO erasures VALUES (x'0190d1c2800070008000000000000003', 7);
     INSERT INTO clock_mark VALUES (1, 5, 1720000000000, 0, 0);",
];

fn schema(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_file_of_every_older_schema_opens_and_keeps_its_users() {
    assert_eq!(HELD.len(), MIGRATIONS.len() + 1, "say what a file of the new schema holds");
    let fresh = tempfile::tempdir().unwrap();
    drop(open(fresh.path()));
    let newest = schema(&Connection::open(fresh.path().join(DATABASE)).unwrap());
    for (version, held) in HELD.iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(DATABASE);
        let old = Connection::open(&path).unwrap();
        for sql in MIGRATIONS.iter().take(version) {
            old.execute_batch(sql).unwrap();
        }
        old.execute_batch(held).unwrap();
        if version > 0 {
            old.pragma_update(None, "application_id", 0x7273_7472).unwrap();
            old.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
        }
        drop(old);
        let store = open(directory.path());
        let users = store.page(PageQuery::first(10)).await.unwrap().items.len();
        assert_eq!(users, usize::from(version > 0), "schema {version}");
        apply(&store, create(1, r#"{"username":"grace"}"#)).await.unwrap();
        drop(store);
        assert_eq!(schema(&Connection::open(&path).unwrap()), newest, "schema {version}");
    }
}

#[tokio::test]
async fn users_of_the_first_schema_are_found_by_words_and_further_keys() {
    let directory = tempfile::tempdir().unwrap();
    let expected = tempfile::tempdir().unwrap();
    let whole = r#"{"username":"ada","name":"Ada King","phone_numbers":[{"value":"+11"},
        {"value":"+44 20 5"}],"emails":[{"value":"a@x.example"},{"value":"B@X.example"}]}"#;
    for at in [directory.path(), expected.path()] {
        let store = open(at);
        apply(&store, create(1, whole)).await.unwrap();
        for n in 2..=300 {
            apply(&store, create(n, &format!(r#"{{"username":"user {n}"}}"#))).await.unwrap();
        }
    }
    // Back to the first schema, with a record that nobody can read.
    let old = Connection::open(directory.path().join(DATABASE)).unwrap();
    old.execute_batch(
        "DROP TABLE words; DROP TABLE further_keys; DROP TABLE idempotency_keys;
         DROP TABLE keys; DROP TABLE keys_head; DROP TABLE groups; DROP TABLE group_members;
         DROP TABLE groups_head; DROP TABLE erasures; DROP TABLE clock_mark;
         UPDATE users SET record = '{' WHERE username_key = 'user 7'; PRAGMA user_version = 1",
    )
    .unwrap();
    drop(old);
    drop(open(directory.path()));
    for sql in [
        "SELECT word || hex(id) FROM words WHERE word <> '7' \
            AND id <> (SELECT id FROM users WHERE username_key = 'user 7') ORDER BY word, id",
        "SELECT kind || key || hex(id) FROM further_keys ORDER BY kind, key",
    ] {
        let found = column(directory.path(), sql);
        assert_eq!(found, column(expected.path(), sql), "{sql}");
        assert!(!found.is_empty());
    }
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::NewerSchema { found: 99, known: 5 }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("99") && text.contains('5'), "{text}");
}

#[test]
fn a_foreign_database_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(DATABASE);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Foreign), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(DATABASE);
    let text = "id,name\n".repeat(1000);
    fs::write(&path, &text).unwrap();
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Foreign), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_database_of_ours_is_marked_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(store.get(id(1)).await.unwrap(), None);
    drop(store);
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let mark: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
    assert_eq!(mark.to_be_bytes(), *b"rstr");
}
