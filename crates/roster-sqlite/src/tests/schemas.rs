//! Schemas: an older file is migrated. A newer or foreign file is not changed.

use std::fs;

use roster_core::Store;
use rusqlite::Connection;

use super::support::{apply, create, id, open, settings};
use crate::{MIGRATIONS, OpenError, Sqlite, migrations::migrate, settings::DATABASE};

fn schema(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn an_older_schema_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    drop(store);
    let mut connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let version = |connection: &Connection| {
        let count: u8 = connection.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        usize::from(count)
    };
    let before = schema(&connection);
    let known = MIGRATIONS.len();
    migrate(&mut connection, MIGRATIONS).unwrap();
    assert_eq!((version(&connection), schema(&connection)), (known, before.clone()));
    let add = "ALTER TABLE users ADD COLUMN note TEXT; UPDATE users SET note = username_key;";
    let fail = "CREATE TABLE other (note TEXT) STRICT; INSERT INTO missing VALUES (1);";
    let newer = [MIGRATIONS, &[add, fail]].concat();
    migrate(&mut connection, &newer).unwrap_err();
    assert_eq!(version(&connection), known + 1, "a step that fails changes nothing");
    assert_eq!(schema(&connection).len(), before.len());
    let note: String = connection.query_row("SELECT note FROM users", [], |r| r.get(0)).unwrap();
    assert_eq!(note, "ada");
    drop(connection);
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::NewerSchema { .. }), "{refused:?}");
}

#[test]
fn a_newer_schema_is_rejected_with_both_version_numbers() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::NewerSchema { found: 99, known: 1 }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("99") && text.contains('1'), "{text}");
}

#[test]
fn a_foreign_database_is_rejected_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(DATABASE);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Foreign), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_not_a_database_is_rejected_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(DATABASE);
    let text = "id,name\n".repeat(1000);
    fs::write(&path, &text).unwrap();
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Foreign), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_new_database_has_the_application_id() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(store.get(id(1)).await.unwrap(), None);
    drop(store);
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let mark: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
    assert_eq!(mark.to_be_bytes(), *b"rstr");
}
