//! What a check finds on PostgreSQL: every kind of damage, and nothing in a sound store.

use std::sync::Arc;

use roster_core::{
    SchemaDraft, Store as _,
    group::{GroupAct, GroupDraft, StatedKinds},
    json,
    schema::IndexStatus,
};
use roster_testkit::conformance::Harness;
use tokio_postgres::Client;

use super::support::{
    apply, assert_sound, beside, command, create, delete, id, once, open, patch, purge, restore,
    schema,
};
use crate::{Connector, Postgres, check};

/// Writes every kind of event, further keys, a group, and requests with idempotency keys.
async fn fill(store: &Postgres) {
    let user = |n| {
        format!(
            r#"{{"username":"u{n}","name":"Ada Nr{n}","emails":[{{"value":"u{n}@x.example",
            "primary":true}},{{"value":"w{n}@x.example"}}],"external_id":"e{n}",
            "attributes":{{"badge":"B{n}"}}}}"#
        )
    };
    for n in 1..=6 {
        apply(store, once(n, create(n, &user(n)))).await.unwrap();
    }
    apply(store, patch(11, 1, r#"{"title":"Dr"}"#)).await.unwrap();
    apply(store, once(12, patch(12, 1, "{}"))).await.unwrap();
    for n in 4..=6 {
        apply(store, delete(10 + n, n)).await.unwrap();
    }
    apply(store, restore(20, 5)).await.unwrap();
    apply(store, purge(21, 6)).await.unwrap();
    let draft = Box::new(GroupDraft::of(Some("Readers".to_owned()), None));
    let act = GroupAct::Create {
        id: id(50),
        draft,
        members: [id(1)].into(),
        kinds: StatedKinds::new(),
        otherwise: None,
    };
    apply(store, command(22, act)).await.unwrap();
    let declared = br#"{"attributes":[{"name":"badge","type":"string","unique":true}]}"#;
    let draft = SchemaDraft::parse(json::read(declared).unwrap());
    apply(store, command(23, draft)).await.unwrap();
    Harness::new(Arc::new(store.clone())).build_indexes(usize::MAX).await;
    assert_eq!(store.schema().indexes[0].status, IndexStatus::Ready);
}

/// The findings of a check after this damage. The damage is repaired afterwards.
pub(super) async fn told_after(client: &Client, url: &str, damage: &str) -> String {
    let tables = "users, deleted_users, events, log_head, settings, words, further_keys, \
         idempotency_keys, groups, group_members, tenants, erasures, keys";
    for table in tables.split(", ") {
        let copy = format!(
            "DROP TABLE IF EXISTS kept_{table}; CREATE TABLE kept_{table} AS TABLE {table}"
        );
        client.batch_execute(&copy).await.unwrap();
    }
    client.batch_execute(damage).await.unwrap();
    let told = check(&Connector::parse(url).unwrap()).await.unwrap();
    for table in tables.split(", ") {
        let back = format!(
            "DELETE FROM {table}; INSERT INTO {table} TABLE kept_{table}; DROP TABLE kept_{table}"
        );
        client.batch_execute(&back).await.unwrap();
    }
    told.to_string()
}

#[tokio::test]
async fn every_kind_of_damage_is_found() {
    let schema = schema();
    let url = schema.url();
    let store = open(&url).await;
    fill(&store).await;
    store.close().await;
    assert_sound(&url).await;
    let client = beside(&url).await;
    for (damage, fault) in [
        ("UPDATE tenants SET suspended = 7", "tenants.suspended of 0: is 7, but there are 0"),
        ("UPDATE log_head SET position = position + 1", "the head says"),
        (
            "UPDATE users SET username_key = 'x' WHERE version = 2",
            "username_key is not the record's",
        ),
        ("UPDATE users SET email_key = '\\xff' WHERE version = 2", "email_key is not the record's"),
        ("UPDATE users SET status = 1 WHERE version = 2", "status is not the record's"),
        ("UPDATE users SET updated_at = 1 WHERE version = 2", "updated_at is not the record's"),
        ("UPDATE users SET record = 'x' WHERE version = 2", "users of "),
        ("UPDATE users SET version = 9 WHERE version = 2", "the record has another version"),
        ("DELETE FROM users WHERE version = 2", "the last one is not the user that is there"),
        ("UPDATE deleted_users SET deleted_at = 1", "deleted_at is not the record's"),
        (
            "INSERT INTO deleted_users SELECT 0, id, version, 1, username_key, NULL, NULL, record \
          FROM users WHERE version = 2",
            "is live and deleted at once",
        ),
        ("DELETE FROM events WHERE position = 3", "positions 3 to 3 are missing"),
        ("UPDATE events SET kind = 'user.married' WHERE position = 3", "no such kind of event"),
        ("UPDATE events SET version = 5 WHERE position = 7", "its version does not rise by one"),
        ("UPDATE events SET changed = 'email' WHERE position = 7", "what it says changed"),
        ("UPDATE events SET record = '' WHERE position = 7", "the user was not purged"),
        ("DELETE FROM words WHERE word = 'ada'", "words of "),
        ("UPDATE words SET word = 'eve' WHERE word = 'nr2'", "one is not the record's"),
        ("INSERT INTO words VALUES (0, 'eve', gen_random_uuid())", "there is no such user"),
        ("DELETE FROM further_keys", "one is missing"),
        ("UPDATE further_keys SET kind = 1", "one is not the record's"),
        (
            "UPDATE idempotency_keys SET version = 9 WHERE position = 2",
            "not what the request came to",
        ),
        ("UPDATE idempotency_keys SET user_id = gen_random_uuid()", "there is no such user"),
        ("UPDATE groups SET members = 2", "members is 2, but there are 1"),
        ("UPDATE groups SET name_key = 'x'", "name_key is not the record's"),
        ("UPDATE group_members SET kind = 1", "does not belong there"),
        ("UPDATE tenants SET groups = 5", "tenants.groups of 0: is 5, but there are 1"),
        ("UPDATE words SET tenant = 3 WHERE word = 'ada'", "words: 4 rows have no tenant"),
        ("DELETE FROM tenants", "users: 4 rows have no tenant"),
        ("UPDATE tenants SET status = 2", "erasures: 1 purged tenants would never be erased"),
        ("UPDATE tenants SET status = 3", "tenants: 1 rows are purged and still have a name"),
        (
            "INSERT INTO keys VALUES ('k', NULL, 'n', 'scim', 1, 'c', 0, 0, 0, 0, '', '', 0, 1)",
            "keys_head.generation: is lower than the generation of 1 keys",
        ),
        (
            "INSERT INTO erasures SELECT 0, id, 0 FROM users WHERE version = 2",
            "the user was not purged",
        ),
    ] {
        let told = told_after(&client, &url, damage).await;
        assert!(told.contains(fault), "{damage}: {told}");
    }
    client.batch_execute("DROP INDEX users_email_unique").await.unwrap();
    let shared = "UPDATE users SET email_key = (SELECT email_key FROM users ORDER BY id LIMIT 1)";
    let told = told_after(&client, &url, shared).await;
    assert!(told.contains("email-uniqueness: 1 keys that are to be unique"), "{told}");
    assert_sound(&url).await;
}

#[tokio::test]
async fn damage_of_an_index_that_the_schema_names_is_found() {
    let schema = schema();
    let url = schema.url();
    let store = open(&url).await;
    fill(&store).await;
    store.close().await;
    let client = beside(&url).await;
    for (damage, fault) in [
        ("DELETE FROM further_keys WHERE kind = 2", "one is missing"),
        ("UPDATE further_keys SET key = '1zz' WHERE key = '1b1'", "one is missing"),
        (
            "INSERT INTO further_keys SELECT tenant, 2, '1zz', id FROM users",
            "one is not the record's",
        ),
        (
            "INSERT INTO further_keys SELECT tenant, 9, '1zz', id FROM users",
            "one is not the record's",
        ),
        (
            "UPDATE further_keys SET key = '1b1' WHERE kind = 2",
            "attributes.badge: 1 values that are to be unique are shared",
        ),
        (
            "UPDATE settings SET value = 'x' WHERE name = 'indexes'",
            "stored bytes are damaged at indexes",
        ),
    ] {
        let told = told_after(&client, &url, damage).await;
        assert!(told.contains(fault), "{damage}: {told}");
    }
}
