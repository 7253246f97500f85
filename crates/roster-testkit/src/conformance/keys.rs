//! API keys: their stored members, and their changes.

use roster_core::{
    Actor, Caller, Clock as _, Rules, TenantId, Timestamp,
    access::{
        ApiKey, Expiry, KeyAct, KeyChange, KeyDraft, KeyFailure, KeyRefusal, KeyView, Keyring,
        Presented, Scope, Scopes, Token, Unauthentic,
    },
    limits::KEYS_MAX,
};

use super::Harness;

pub const RULES: Rules = super::DEFAULT;

fn draft(harness: &Harness, name: &str) -> KeyDraft {
    let scopes: Scopes = [Scope::UsersRead, Scope::KeysAdmin].into_iter().collect();
    KeyDraft::of(name, scopes, Expiry::Default, harness.clock.now()).expect("a valid key")
}

async fn change(harness: &Harness, act: KeyAct) -> Result<ApiKey, KeyRefusal> {
    let (view, at) = (KeyView::Tenant(TenantId::DEFAULT), harness.clock.now());
    let change = KeyChange { act, view, at, caller: super::harness::caller() };
    match harness.store().change_keys(change).await {
        Ok(key) => Ok(key),
        Err(KeyFailure::Refused(refusal)) => Err(refusal),
        Err(KeyFailure::Store(error)) => panic!("the store failed: {error:?}"),
    }
}

async fn create(harness: &Harness, name: &str) -> (ApiKey, Token) {
    let token = Token::new(&*harness.clock).expect("a clock with bytes");
    let key = draft(harness, name).into_key(
        TenantId::DEFAULT,
        token.presented(),
        &Actor::Anonymous,
        harness.clock.now(),
    );
    let made = change(harness, KeyAct::Create(Box::new(key.clone()))).await.expect("there is room");
    assert_eq!(made, key);
    (made, token)
}

async fn rotate(
    harness: &Harness,
    key: &ApiKey,
    overlap_ms: i64,
) -> (Token, Result<ApiKey, KeyRefusal>) {
    let token = Token::of(key.id, &*harness.clock).expect("a clock with bytes");
    let act = KeyAct::Rotate { id: key.id, secret: token.digest, overlap_ms };
    let rotated = change(harness, act).await;
    (token, rotated)
}

async fn keyring(harness: &Harness) -> Keyring {
    harness.store().changed_keys(None).await.expect("the store answers").expect("all keys")
}

async fn admitted(harness: &Harness, token: &Token) -> Result<ApiKey, Unauthentic> {
    let presented = Presented::parse(token.reveal()).expect("a whole key");
    let keyring = keyring(harness).await;
    keyring.admit(&presented, harness.clock.now()).map(|(key, _)| key.clone())
}

fn after(moment: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(moment.as_millis() + millis)
}

pub async fn a_store_is_open_until_the_first_key(harness: Harness) {
    assert!(keyring(&harness).await.is_open());
    let (key, _) = create(&harness, "first").await;
    assert!(!keyring(&harness).await.is_open());
    change(&harness, KeyAct::Revoke { id: key.id }).await.expect("it is there");
    assert!(!keyring(&harness).await.is_open(), "closed for good");
}

pub async fn a_caller_without_a_key_creates_the_first_one_alone(harness: Harness) {
    let create = async |number: u8| {
        let token = Token::new(&*harness.clock).expect("a clock with bytes");
        let now = harness.clock.now();
        let draft = draft(&harness, &format!("key {number}"));
        let key = draft.into_key(TenantId::DEFAULT, token.presented(), &Actor::Anonymous, now);
        let caller = Caller { actor: Actor::Anonymous, request_id: "first".to_owned() };
        let (act, view) = (KeyAct::Create(Box::new(key.clone())), KeyView::Operator);
        let change = KeyChange { act, view, at: now, caller };
        (change.clone(), harness.store().change_keys(change).await)
    };
    let (first, made) = create(1).await;
    let made = made.expect("the first key");
    let (_, late) = create(2).await;
    assert!(matches!(late, Err(KeyFailure::Refused(KeyRefusal::Closed))), "{late:?}");
    // An engine may repeat a change whose result was lost.
    let again = harness.store().change_keys(first).await.expect("it was made");
    assert_eq!(again, made);
    assert_eq!(keyring(&harness).await.keys.len(), 1);
}

pub async fn a_key_is_stored_as_it_was_created(harness: Harness) {
    let (one, token) = create(&harness, "Billing, zweite Straße").await;
    harness.clock.step(1);
    let (other, _) = create(&harness, "other").await;
    let kept = keyring(&harness).await;
    assert_eq!(kept.keys.get(&one.id), Some(&one));
    assert_eq!(kept.keys.len(), 2);
    let store = harness.store();
    let view = |view| store.keys(view);
    for found in [KeyView::Tenant(TenantId::DEFAULT), KeyView::Operator, KeyView::Store] {
        let mut keys = view(found).await.expect("the store answers");
        keys.sort_by_key(|key| key.created_at);
        assert_eq!(keys, [one.clone(), other.clone()], "{found:?}");
    }
    let elsewhere = KeyView::Tenant(TenantId::new(77).expect("a tenant may have it"));
    assert_eq!(view(elsewhere).await.expect("the store answers"), []);
    assert_eq!(store.key(other.id).await.expect("the store answers"), Some(other));
    let nobody = Token::new(&*harness.clock).expect("a clock with bytes").id;
    assert_eq!(store.key(nobody).await.expect("the store answers"), None);
    assert_eq!(one.expires_at, Some(after(one.created_at, 365 * 24 * 3600 * 1000)));
    assert_eq!(admitted(&harness, &token).await, Ok(one));
}

pub async fn unchanged_keys_are_not_returned_again(harness: Harness) {
    let at = |generation| harness.store().changed_keys(Some(generation));
    assert_eq!(at(0).await.expect("the store answers"), None);
    let (key, _) = create(&harness, "one").await;
    let told = at(0).await.expect("the store answers").expect("a change");
    assert_eq!(at(told.generation).await.expect("the store answers"), None);
    let (other, _) = create(&harness, "other").await;
    let ids = |keyring: Keyring| keyring.keys.into_keys().collect::<Vec<_>>();
    let later = at(told.generation).await.expect("the store answers").expect("a change");
    assert!(later.generation > told.generation);
    assert_eq!(ids(later.clone()), [other.id], "only what changed");
    change(&harness, KeyAct::Revoke { id: key.id }).await.expect("it is there");
    let last = at(later.generation).await.expect("the store answers").expect("a change");
    assert_eq!(ids(last.clone()), [key.id]);
    // A reader that is ahead has read another store.
    let all = at(last.generation + 5).await.expect("the store answers").expect("all keys");
    assert_eq!(all.keys.len(), 2);
}

pub async fn both_secrets_of_a_rotated_key_are_valid_for_the_overlap(harness: Harness) {
    let (key, first) = create(&harness, "one").await;
    harness.clock.step(1000);
    let (second, rotated) = rotate(&harness, &key, 60_000).await;
    let rotated = rotated.expect("it is active");
    assert_eq!(rotated.rotated_at, Some(harness.clock.now()));
    assert_eq!(keyring(&harness).await.keys.get(&key.id), Some(&rotated));
    assert!(admitted(&harness, &first).await.is_ok());
    assert!(admitted(&harness, &second).await.is_ok());
    harness.clock.step(60_000);
    assert_eq!(admitted(&harness, &first).await, Err(Unauthentic::Expired));
    assert!(admitted(&harness, &second).await.is_ok());
    let (third, _) = rotate(&harness, &key, 0).await;
    assert_eq!(admitted(&harness, &first).await, Err(Unauthentic::Unknown), "two secrets at most");
    assert_eq!(
        admitted(&harness, &second).await,
        Err(Unauthentic::Unknown),
        "no overlap was asked"
    );
    assert!(admitted(&harness, &third).await.is_ok());
}

pub async fn a_revoked_key_stays_revoked(harness: Harness) {
    let (key, token) = create(&harness, "one").await;
    let (second, _) = rotate(&harness, &key, 60_000).await;
    let revoked = change(&harness, KeyAct::Revoke { id: key.id }).await.expect("it is there");
    let moment = harness.clock.now();
    assert_eq!(revoked.revoked_at, Some(moment));
    assert_eq!(admitted(&harness, &second).await, Err(Unauthentic::Revoked));
    assert_eq!(admitted(&harness, &token).await, Err(Unauthentic::Unknown), "gone with it");
    harness.clock.step(1000);
    let again = change(&harness, KeyAct::Revoke { id: key.id }).await.expect("it is there");
    assert_eq!(again.revoked_at, Some(moment), "the first time counts");
    assert_eq!(rotate(&harness, &key, 0).await.1, Err(KeyRefusal::Ended));
}

pub async fn an_expired_key_is_rejected(harness: Harness) {
    let (key, token) = create(&harness, "one").await;
    let end = key.expires_at.expect("a year");
    harness.clock.set(after(end, -1));
    assert!(admitted(&harness, &token).await.is_ok());
    harness.clock.set(end);
    assert_eq!(admitted(&harness, &token).await, Err(Unauthentic::Expired));
    assert_eq!(rotate(&harness, &key, 0).await.1, Err(KeyRefusal::Ended));
}

pub async fn a_wrong_secret_is_rejected(harness: Harness) {
    let (key, _) = create(&harness, "one").await;
    let other = Token::of(key.id, &*harness.clock).expect("a clock with bytes");
    assert_eq!(admitted(&harness, &other).await, Err(Unauthentic::Unknown));
    let nobody = Token::new(&*harness.clock).expect("a clock with bytes");
    assert_eq!(admitted(&harness, &nobody).await, Err(Unauthentic::Unknown));
}

pub async fn an_unknown_key_cannot_be_rotated_or_revoked(harness: Harness) {
    let id = Token::new(&*harness.clock).expect("a clock with bytes").id;
    let refused = Err(KeyRefusal::NotFound);
    assert_eq!(change(&harness, KeyAct::Revoke { id }).await, refused);
    let token = Token::of(id, &*harness.clock).expect("a clock with bytes");
    let act = KeyAct::Rotate { id, secret: token.digest, overlap_ms: 0 };
    assert_eq!(change(&harness, act).await, refused);
    assert!(keyring(&harness).await.is_open(), "nothing was changed");
}

pub async fn only_one_key_is_the_first(harness: Harness) {
    let first = || {
        let token = Token::new(&*harness.clock).expect("a clock with bytes");
        let (presented, at) = (token.presented(), harness.clock.now());
        let key =
            draft(&harness, "first key").into_key(TenantId::DEFAULT, presented, &Actor::System, at);
        KeyAct::CreateFirst(Box::new(key))
    };
    let (one, other) = (first(), first());
    let made = change(&harness, one.clone()).await.expect("there is none");
    assert_eq!(change(&harness, other).await, Err(KeyRefusal::Closed));
    assert_eq!(change(&harness, one).await, Ok(made.clone()), "the same again");
    let keys: Vec<ApiKey> = keyring(&harness).await.keys.into_values().collect();
    assert_eq!(keys, [made]);
}

pub async fn a_repeated_key_change_has_no_effect(harness: Harness) {
    let (key, _) = create(&harness, "one").await;
    let generation = keyring(&harness).await.generation;
    let again = change(&harness, KeyAct::Create(Box::new(key.clone()))).await;
    assert_eq!(again, Ok(key.clone()));
    let (token, rotated) = rotate(&harness, &key, 60_000).await;
    let act = KeyAct::Rotate { id: key.id, secret: token.digest, overlap_ms: 60_000 };
    assert_eq!(change(&harness, act).await, rotated);
    assert_eq!(keyring(&harness).await.generation, generation + 1, "of the one rotation");
    let other = Token::of(key.id, &*harness.clock).expect("a clock with bytes");
    let thief = ApiKey { secret: other.digest, ..key };
    let stolen = change(&harness, KeyAct::Create(Box::new(thief))).await;
    assert_eq!(stolen, Err(KeyRefusal::IdTaken));
}

pub async fn a_full_keyring_replaces_the_key_that_ended_first(harness: Harness) {
    let mut keys = Vec::new();
    for number in 0..KEYS_MAX {
        keys.push(create(&harness, &format!("key {number}")).await.0);
        harness.clock.step(1);
    }
    let token = Token::new(&*harness.clock).expect("a clock with bytes");
    let one_more = draft(&harness, "one more").into_key(
        TenantId::DEFAULT,
        token.presented(),
        &Actor::System,
        harness.clock.now(),
    );
    let one_more = Box::new(one_more);
    let refused = change(&harness, KeyAct::Create(one_more.clone())).await;
    assert_eq!(refused, Err(KeyRefusal::TooMany));
    for index in [7, 3] {
        change(&harness, KeyAct::Revoke { id: keys[index].id }).await.expect("it is there");
        harness.clock.step(1);
    }
    change(&harness, KeyAct::Create(one_more)).await.expect("there is room");
    let kept = keyring(&harness).await;
    assert_eq!(kept.keys.len(), KEYS_MAX);
    assert!(!kept.keys.contains_key(&keys[7].id), "the one that ended first");
    assert!(kept.keys.contains_key(&keys[3].id));
}

pub async fn the_use_of_a_key_is_noted_and_is_no_change(harness: Harness) {
    let (key, _) = create(&harness, "one").await;
    let gone = Token::new(&*harness.clock).expect("a clock with bytes").id;
    let before = keyring(&harness).await;
    let moment = after(key.created_at, 5000);
    for at in [moment, after(moment, -1000)] {
        let uses = vec![(key.id, at), (gone, at)];
        harness.store().note_key_use(uses).await.expect("the store answers");
    }
    let after_it = keyring(&harness).await;
    assert_eq!(after_it.generation, before.generation);
    assert_eq!(after_it.keys.len(), 1);
    assert_eq!(after_it.keys[&key.id].last_used_at, Some(moment), "it never goes back");
    let (_, rotated) = rotate(&harness, &key, 0).await;
    assert_eq!(rotated.expect("it is active").last_used_at, Some(moment), "kept through changes");
    assert_eq!(keyring(&harness).await.keys[&key.id].last_used_at, Some(moment));
}
