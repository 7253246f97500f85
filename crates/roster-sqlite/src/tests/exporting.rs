//! Exports of a store that does not change: all rows, in order, in chunks of any size.

use roster_core::{
    Actor, Caller, KeyStore as _, Preconditions, Store as _, TenantId, Timestamp,
    access::{
        AuditView, Expiry, KeyAct, KeyChange, KeyDraft, KeyId, KeyView, Presented, Scopes,
        SecretDigest,
    },
    webhook::{WebhookAct, WebhookChange, WebhookDraft, WebhookId, WebhookSecret},
};
use roster_engine::{Cell, Table, Values};
use rusqlite::Connection;

use super::support::{
    apply, column, create, create_group, delete, id, once, open, patch, purge, settings, tree,
};
use crate::{
    BackupError, OpenError, Sqlite, reads::rows::Rows, settings::DATABASE, unload::Export,
};

/// A directory with rows in every table.
async fn populated() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store).await;
    drop(store);
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    connection
        .execute_batch(
            "INSERT INTO erasures VALUES (0, zeroblob(16), 7);
             INSERT INTO former_logs VALUES (3, zeroblob(8)), (9, x'0123456789abcdef');
             INSERT INTO clock_mark VALUES (1, 5, 1720000000000, 0, 0)",
        )
        .unwrap();
    directory
}

async fn fill(store: &Sqlite) {
    for n in 0..40 {
        let user = format!(
            r#"{{"username":"user {n}","email":"u{n}@x.example","name":"Ada {n} Grün",
                "emails":[{{"value":"u{n}@x.example","primary":true}},{{"value":"o{n}@x.example"}}],
                "phone_numbers":[{{"value":"+4{n}"}},{{"value":"+9{n}"}}]}}"#
        );
        apply(store, once(u8::try_from(n).unwrap(), create(n, &user))).await.unwrap();
    }
    let bare = create(100, r#"{"username":"bare","external_id":"x"}"#);
    apply(store, bare).await.unwrap();
    apply(store, patch(200, 1, r#"{"status":"suspended"}"#)).await.unwrap();
    for n in 2..6 {
        apply(store, delete(300 + n, n)).await.unwrap();
    }
    apply(store, purge(400, 2)).await.unwrap();
    apply(store, create_group(500, "one", &[10, 11])).await.unwrap();
    apply(store, create_group(501, "two", &[500, 12])).await.unwrap();
    let id = KeyId::parse("aZ09aZ09aZ").unwrap();
    let secret = SecretDigest::of("secret");
    let token = Presented { id, digest: secret };
    let (view, at) = (KeyView::Tenant(TenantId::DEFAULT), Timestamp::from_millis(1));
    let draft = KeyDraft::of("key", Scopes::all(), Expiry::Default, at);
    let key = draft.unwrap().into_key(TenantId::DEFAULT, token, &Actor::System, at);
    let act = KeyAct::Create(Box::new(key));
    let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
    store.change_keys(KeyChange { act, view, at, caller: caller.clone() }).await.unwrap();
    let draft = tree(r#"{"name":"search","url":"https://h.example.com"}"#);
    let change = WebhookChange {
        act: WebhookAct::Create {
            id: WebhookId(super::support::id(900)),
            draft: WebhookDraft::parse(&draft).unwrap(),
            secret: WebhookSecret([7; 32]),
        },
        preconditions: Preconditions::default(),
        at,
        caller,
        audit: AuditView::Own,
        all_tenants: true,
        is_dry_run: false,
    };
    store.webhooks().change(change).await.unwrap();
}

fn table(name: &str) -> &'static Table {
    Table::ALL.iter().find(|table| table.name == name).unwrap()
}

#[tokio::test]
async fn every_column_of_the_schema_is_exported() {
    let directory = populated().await;
    let at = directory.path();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'log_head' \
        ORDER BY name";
    let mut names: Vec<_> = Table::ALL.iter().map(|table| table.name).collect();
    names.sort_unstable();
    assert_eq!(column(at, tables), names);
    for table in Table::ALL {
        // The row number is only the position in the file. It is not exported.
        let columns = format!(
            "SELECT name FROM pragma_table_info('{}') WHERE name <> 'number' ORDER BY name",
            table.name
        );
        let mut names: Vec<_> = table.columns.split(", ").collect();
        names.sort_unstable();
        assert_eq!(column(at, &columns), names, "{}", table.name);
    }
}

#[tokio::test]
async fn chunks_of_every_size_return_the_same_rows_in_key_order() {
    let directory = populated().await;
    let export = Export::open(directory.path()).unwrap();
    for (table, count) in export.tables() {
        let cells = |rows: Vec<Values>| rows.into_iter().map(|row| row.0).collect::<Vec<_>>();
        let whole = cells(export.chunk(table, None, usize::MAX).unwrap());
        assert_eq!(u64::try_from(whole.len()).unwrap(), *count, "{}", table.name);
        assert!(*count > 0, "{}", table.name);
        for bytes_max in [1, 100, 1_000] {
            let (mut rows, mut after) = (Vec::new(), None);
            loop {
                let chunk = export.chunk(table, after.as_deref(), bytes_max).unwrap();
                let Some(last) = chunk.last() else { break };
                assert!(bytes_max > 1 || chunk.len() == 1);
                after = Some(table.key_of(last));
                rows.extend(cells(chunk));
            }
            assert!(rows == whole, "{} by {bytes_max}", table.name);
        }
        let keys: Vec<_> = whole.iter().map(|row| &row[..table.key.split(", ").count()]).collect();
        assert!(keys.is_sorted() && keys.windows(2).all(|two| two[0] != two[1]));
        assert_eq!(export.digest(table).unwrap().rows, *count);
    }
}

#[tokio::test]
async fn every_value_changes_the_digest_of_its_table() {
    let directory = populated().await;
    let digest = |name: &str| Export::open(directory.path()).unwrap().digest(table(name)).unwrap();
    for (name, change) in [
        ("users", "version = version + 1"),
        ("users", "name_key = ''"),
        ("users", "email_key = name_key, name_key = email_key"),
        ("users", "email_key = x''"),
        ("users", "external_id = NULL"),
        ("users", "external_id = ''"),
        ("keys", "former_secret = x'00'"),
    ] {
        let before = digest(name);
        let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
        let last = format!("UPDATE {name} SET {change} WHERE id = (SELECT max(id) FROM {name})");
        assert_eq!(connection.execute(&last, []).unwrap(), 1);
        drop(connection);
        let after = digest(name);
        assert_eq!(after.rows, before.rows);
        assert_ne!(after.sha256, before.sha256, "{change}");
    }
}

#[tokio::test]
async fn values_are_exported_unchanged() {
    let directory = populated().await;
    let export = Export::open(directory.path()).unwrap();
    let all = |name: &str| -> Vec<Vec<Cell>> {
        let rows = export.chunk(table(name), None, usize::MAX).unwrap();
        rows.into_iter().map(|row| row.0).collect()
    };
    let users = all("users");
    let of = |n: u64| users.iter().find(|row| row[1] == Cell::from(id(n))).unwrap();
    let (bare, suspended) = (of(100), of(1));
    assert_eq!((&bare[2], &bare[3]), (&Cell::Integer(1), &Cell::Integer(0)));
    assert_eq!(bare[5], Cell::from("bare"));
    let absent = Cell::from([].as_slice());
    assert_eq!((&bare[6], &bare[7], &bare[9]), (&absent, &Cell::Null, &absent));
    assert_eq!(bare[8], Cell::from("x"));
    assert_eq!((&suspended[2], &suspended[3]), (&Cell::Integer(2), &Cell::Integer(1)));
    let deleted: Vec<_> = all("deleted_users").into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(deleted, [3, 4, 5].map(|n| Cell::from(id(n))));
    let emptied = all("events").iter().filter(|row| row[9] == Cell::from("")).count();
    assert_eq!(emptied, 3, "an empty record is no absent one");
    let settings: Vec<_> = all("settings").into_iter().map(|row| row[1].clone()).collect();
    let names = ["cursor_secret", "email_sharing", "external_id_sharing"];
    assert_eq!(settings, names.map(Cell::from));
}

#[tokio::test]
async fn export_and_service_exclude_each_other() {
    let directory = populated().await;
    let store = open(directory.path());
    let refused = Export::open(directory.path()).err().unwrap();
    assert!(matches!(refused, BackupError::Served { .. }), "{refused}");
    drop(store);
    let export = Export::open(directory.path()).unwrap();
    let settings = settings(directory.path());
    assert!(matches!(Sqlite::open(settings.clone()), Err(OpenError::Locked { .. })));
    drop(export);
    drop(Sqlite::open(settings).unwrap());
}

#[tokio::test]
async fn an_older_schema_is_rejected_with_instructions() {
    let directory = populated().await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    connection.pragma_update(None, "user_version", 0).unwrap();
    drop(connection);
    let refused = Export::open(directory.path()).err().unwrap();
    assert!(matches!(refused, BackupError::OlderSchema { found: 0, .. }), "{refused}");
    assert!(refused.to_string().contains("start `roster serve --data "), "{refused}");
}

#[test]
fn a_directory_without_a_store_is_rejected_and_left_empty() {
    let directory = tempfile::tempdir().unwrap();
    let refused = Export::open(directory.path()).err().unwrap();
    assert!(matches!(refused, BackupError::NoStore { .. }), "{refused}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_store_whose_counters_are_wrong_is_refused() {
    for wrong in [
        "tenants SET active = active + 1",
        "tenants SET deleted = deleted - 1",
        "log_head SET position = position + 1",
    ] {
        let directory = populated().await;
        let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
        connection.execute_batch(&format!("UPDATE {wrong}")).unwrap();
        drop(connection);
        let refused = Export::open(directory.path()).err().unwrap();
        assert!(matches!(refused, BackupError::Unsound { .. }), "{wrong}: {refused}");
    }
}

#[tokio::test]
async fn commits_left_in_the_write_ahead_log_are_exported() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    // A snapshot prevents a sweep from emptying the log while it is copied.
    let reader = Connection::open(directory.path().join(DATABASE)).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM users").unwrap();
    fill(&store).await;
    // The files of a running service are the files that remain if it is killed.
    let crashed = tempfile::tempdir().unwrap();
    for end in ["-wal", ""] {
        let name = format!("{DATABASE}{end}");
        std::fs::copy(directory.path().join(&name), crashed.path().join(&name)).unwrap();
    }
    drop(reader);
    drop(store);
    let (one, other) =
        (Export::open(directory.path()).unwrap(), Export::open(crashed.path()).unwrap());
    assert_eq!((one.log_id(), one.position()), (other.log_id(), other.position()));
    for table in Table::ALL {
        assert_eq!(one.digest(table).unwrap(), other.digest(table).unwrap());
    }
}

#[tokio::test]
async fn rows_after_a_key_are_found_by_its_index() {
    let directory = populated().await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    let mut plans = Vec::new();
    for table in Table::ALL {
        let sql = format!("EXPLAIN QUERY PLAN {}", table.select::<Rows<'_>>(true));
        let mut statement = connection.prepare(&sql).unwrap();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().unwrap() {
            plans.push(row.get::<_, String>(3).unwrap());
        }
    }
    insta::assert_snapshot!(plans.join("\n"), @"
    SEARCH users USING INDEX users_id ((tenant,id)>(?,?))
    SEARCH deleted_users USING INDEX deleted_users_id ((tenant,id)>(?,?))
    SEARCH events USING INTEGER PRIMARY KEY (rowid>?)
    SEARCH words USING PRIMARY KEY ((tenant,word,id)>(?,?,?))
    SEARCH further_keys USING PRIMARY KEY ((tenant,kind,key,id)>(?,?,?,?))
    SEARCH idempotency_keys USING PRIMARY KEY ((tenant,key)>(?,?))
    SEARCH settings USING PRIMARY KEY ((tenant,name)>(?,?))
    SEARCH keys USING PRIMARY KEY (id>?)
    SEARCH keys_head USING INTEGER PRIMARY KEY (rowid>?)
    SEARCH groups USING PRIMARY KEY ((tenant,id)>(?,?))
    SEARCH group_members USING PRIMARY KEY ((tenant,group_id,member_id)>(?,?,?))
    SEARCH tenants USING INTEGER PRIMARY KEY (rowid>?)
    SEARCH webhooks USING PRIMARY KEY ((tenant,id)>(?,?))
    SEARCH erasures USING PRIMARY KEY ((tenant,id)>(?,?))
    SEARCH former_logs USING INTEGER PRIMARY KEY (rowid>?)
    SEARCH clock_mark USING INTEGER PRIMARY KEY (rowid>?)
    ");
}

#[tokio::test]
async fn a_key_of_another_table_is_refused() {
    let directory = populated().await;
    let export = Export::open(directory.path()).unwrap();
    let words = export.chunk(table("words"), None, 1).unwrap();
    let key = table("words").key_of(&words[0]);
    assert!(export.chunk(table("users"), Some(&key), 1).is_err());
}

#[tokio::test]
async fn a_value_of_another_kind_is_refused_with_its_place() {
    let directory = populated().await;
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    for (table_name, change) in [
        ("users", "UPDATE users SET name_key = 7 WHERE version = 2"),
        ("users", "UPDATE users SET name_key = x'07' WHERE version = 2"),
        ("settings", "UPDATE settings SET value = 7 WHERE name = 'email_sharing'"),
    ] {
        connection.execute_batch(change).unwrap();
        let export = Export::open(directory.path()).unwrap();
        let refused = export.chunk(table(table_name), None, usize::MAX).unwrap_err();
        let told =
            format!("damaged: a value in {table_name} has the wrong type; see `roster check`");
        assert!(refused.to_string().ends_with(&told), "{change}: {refused}");
    }
}
