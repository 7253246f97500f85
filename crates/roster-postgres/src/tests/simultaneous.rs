//! Changes of keys and of the policy by several processes at once.

use std::sync::Arc;

use roster_core::{
    Actor, Caller, KeyStore as _, PolicyKey, Sharing, TenantId, Timestamp,
    access::{
        Expiry, KeyAct, KeyChange, KeyDraft, KeyId, KeyView, Presented, Scopes, SecretDigest,
    },
};
use tokio::task::JoinSet;

use super::support::{AT, apply, assert_sound, beside, create as create_user, open, schema};
use crate::{Connector, change_policy, read_policy};

const KEYS: usize = 24;

const ERA: &str = "SELECT era FROM log_head WHERE number = 1";

fn create_key(number: usize) -> KeyChange {
    let at = Timestamp::from_millis(1);
    let id = KeyId::parse(&format!("key{number:07}")).unwrap();
    let draft = KeyDraft::of(&format!("key {number}"), Scopes::all(), Expiry::Default, at);
    let token = Presented { id, digest: SecretDigest::of(&format!("secret {number}")) };
    let key = draft.unwrap().into_key(TenantId::DEFAULT, token, &Actor::System, at);
    let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
    let (act, view) = (KeyAct::Create(Box::new(key)), KeyView::Tenant(TenantId::DEFAULT));
    KeyChange { act, view, at, caller }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_two_stores_create_at_once_are_all_there() {
    let schema = schema();
    let url = schema.url();
    let stores = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
    // Someone who reads the keys all the time delays nobody.
    let reader = beside(&url).await;
    reader.batch_execute("BEGIN; SELECT * FROM keys; SELECT * FROM settings").await.unwrap();
    let mut changes = JoinSet::new();
    for number in 0..KEYS {
        let store = Arc::clone(&stores[number % 2]);
        changes.spawn(async move { store.change_keys(create_key(number)).await });
    }
    for made in changes.join_all().await {
        made.unwrap();
    }
    for store in &stores {
        let keyring = store.changed_keys(None).await.unwrap().unwrap();
        assert_eq!((keyring.keys.len(), keyring.generation), (KEYS, 24), "each change counts once");
    }
    reader.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_changes_of_the_policy_take_effect_one_after_the_other() {
    let schema = schema();
    let url = schema.url();
    let store = open(&url).await;
    let client = beside(&url).await;
    let era = async || -> i64 { client.query_one(ERA, &[]).await.unwrap().get(0) };
    let before = era().await;
    let mut changes = JoinSet::new();
    for number in 0..8 {
        let connector = Connector::parse(&url).unwrap();
        let sharing = if number % 2 == 0 { Sharing::Shared } else { Sharing::Unique };
        changes
            .spawn(async move { change_policy(&connector, PolicyKey::Email, sharing, AT).await });
    }
    let results = changes.join_all().await;
    let effective = results.into_iter().filter(|result| *result.as_ref().unwrap()).count();
    assert_eq!(era().await - before, i64::try_from(effective).unwrap());
    let policy = read_policy(&Connector::parse(&url).unwrap()).await.unwrap();
    let email = policy.iter().find(|(key, _)| *key == PolicyKey::Email).unwrap().1;
    let twin = |n| create_user(n, &format!(r#"{{"username":"u{n}","email":"a@x.example"}}"#));
    apply(&store, twin(1)).await.unwrap();
    let second = apply(&store, twin(2)).await;
    assert_eq!(second.is_ok(), email == Sharing::Shared, "the policy that is stored is in force");
    assert_sound(&url).await;
}
