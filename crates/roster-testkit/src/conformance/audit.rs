//! Audit events: changes of keys, tenants and settings are events of the log.

use roster_core::{
    Actor, Clock as _, Event, EventKind, Json, Rules, TenantId,
    access::{
        ApiKey, AuditView, Expiry, KeyAct, KeyChange, KeyDraft, KeyView, Reach, Scope, Token,
    },
    audit::{audit_subject, key_subject},
    json,
    store::StartSettings,
    tenant::{TenantAct, TenantDraft},
};
use serde_json::json;

use super::{
    Harness,
    harness::{caller, tree},
    tenants::{change, create, name, of},
};

pub const RULES: Rules = super::DEFAULT;

/// The default tenant, and the end of the log. The cases also run in another tenant.
async fn begin(harness: Harness) -> (Harness, i64) {
    let store = harness.store().of_tenant(TenantId::DEFAULT).await.expect("the store answers");
    let harness = harness.on(store);
    let position = harness.head().await.position;
    (harness, position)
}

async fn change_keys(harness: &Harness, act: KeyAct) -> ApiKey {
    let (view, at) = (KeyView::Store, harness.clock.now());
    let change = KeyChange { act, view, at, caller: caller() };
    harness.store().change_keys(change).await.expect("the rules allow it")
}

/// Creates a key.
async fn key(harness: &Harness, reach: Reach) -> ApiKey {
    let (token, now) = (Token::new(&*harness.clock).expect("bytes"), harness.clock.now());
    let scopes = [Scope::UsersRead].into_iter().collect();
    let draft = KeyDraft::of("a key", scopes, Expiry::Never, now).expect("a valid key");
    let key = draft.into_key(TenantId::DEFAULT, token.presented(), &Actor::Anonymous, now);
    change_keys(harness, KeyAct::Create(Box::new(ApiKey { reach, ..key }))).await
}

fn record(event: &Event) -> Json {
    json::read(&event.record).expect("a JSON record")
}

/// The kinds and subjects of events.
fn told(events: &[(i64, Event)]) -> Vec<(EventKind, String)> {
    let told = |(_, event): &(i64, Event)| {
        (event.kind, audit_subject(event).unwrap_or_else(|| "other".to_owned()))
    };
    events.iter().map(told).collect()
}

pub async fn each_change_of_a_key_is_an_event(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let made = key(&harness, Reach::default()).await;
    let secret = Token::of(made.id, &*harness.clock).expect("bytes").digest;
    let rotate = KeyAct::Rotate { id: made.id, secret, overlap_ms: 1000 };
    harness.clock.step(5);
    let rotated = change_keys(&harness, rotate.clone()).await;
    change_keys(&harness, rotate).await;
    harness.user(json!({"username": "ada"})).await;
    let revoked = change_keys(&harness, KeyAct::Revoke { id: made.id }).await;
    change_keys(&harness, KeyAct::Revoke { id: made.id }).await;

    let events = harness.events_after(start, 100).await;
    let subject = format!("keys/{}", made.id);
    let expected = [
        (EventKind::KeyCreated, subject.clone()),
        (EventKind::KeyRotated, subject.clone()),
        (EventKind::Created, "other".to_owned()),
        (EventKind::KeyRevoked, subject),
    ];
    assert_eq!(told(&events), expected, "and none of what changes nothing");
    assert_eq!(harness.head().await.position, start + 4);
    let states = [(0, made), (1, rotated), (3, revoked)];
    for (index, key) in states {
        let (_, event) = &events[index];
        assert_eq!(record(event), Json::Object(key.members_in_event(event.at)));
        assert_eq!((event.actor.as_str(), event.request_id.as_str()), ("system", "audit"));
        assert_eq!((event.user_id, event.version), (key_subject(key.id), 1));
    }
    assert_eq!(events[1].1.at, harness.clock.now());
}

pub async fn a_key_of_a_tenant_is_told_in_its_log_alone(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let acme = create(&harness, json!({"name": "acme"})).await;
    let of_operator = key(&harness, Reach::All).await;
    let of_acme = key(&harness, Reach::Tenant(acme.id)).await;
    let of_default = key(&harness, Reach::default()).await;
    let subject = |key: &ApiKey| (EventKind::KeyCreated, format!("keys/{}", key.id));
    let tenant = (EventKind::TenantCreated, "tenants/acme".to_owned());
    let events = harness.events_after(start, 100).await;
    assert_eq!(told(&events), [tenant, subject(&of_operator), subject(&of_default)]);
    let events_of_acme = of(&harness, &acme).await.events().await;
    assert_eq!(told(&events_of_acme), [subject(&of_acme)]);

    let shown = |view: AuditView| {
        let shown = events.iter().filter(move |(_, event)| view.shows(event));
        told(&shown.cloned().collect::<Vec<_>>())
    };
    assert_eq!(shown(AuditView::Nothing), []);
    assert_eq!(shown(AuditView::Own), [subject(&of_default)]);
    assert_eq!(shown(AuditView::Everything), told(&events));
}

pub async fn each_change_of_a_tenant_is_an_event_of_the_default_tenant(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let acme = create(&harness, json!({"name": "acme", "display_name": "Acme Ltd"})).await;
    let patch = || TenantAct::Patch(name("acme"), tree(&json!({"users_max": 5})));
    let patched = change(&harness, patch()).await.expect("it is there").tenant;
    change(&harness, patch()).await.expect("it is there");
    let taken = TenantDraft::parse(&tree(&json!({"name": "acme"}))).expect("a tenant");
    change(&harness, TenantAct::Create(taken)).await.expect_err("the name is taken");
    let deleted = change(&harness, TenantAct::Delete(name("acme"))).await.expect("it is there");
    let restored = change(&harness, TenantAct::Restore(name("acme"))).await.expect("it is kept");

    let events = harness.events_after(start, 100).await;
    let kinds = [
        EventKind::TenantCreated,
        EventKind::TenantUpdated,
        EventKind::TenantDeleted,
        EventKind::TenantRestored,
    ];
    assert_eq!(told(&events), kinds.map(|kind| (kind, "tenants/acme".to_owned())));
    let tenants = [&acme, &patched, &deleted.tenant, &restored.tenant];
    for ((_, event), tenant) in events.iter().zip(tenants) {
        assert_eq!(record(event), Json::Object(tenant.members()));
        assert_eq!((event.version, event.request_id.as_str()), (tenant.version, "audit"));
    }
}

pub async fn a_purge_of_a_tenant_erases_the_events_about_it(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let acme = create(&harness, json!({"name": "acme", "display_name": "Acme Ltd"})).await;
    create(&harness, json!({"name": "globex"})).await;
    change(&harness, TenantAct::Delete(name("acme"))).await.expect("it is there");
    change(&harness, TenantAct::Purge(name("acme"))).await.expect("it is deleted");
    let number = format!("tenants/#{}", acme.id.number());
    let expected = [
        (EventKind::TenantCreated, number.clone()),
        (EventKind::TenantCreated, "tenants/globex".to_owned()),
        (EventKind::TenantDeleted, number.clone()),
        (EventKind::TenantPurged, number),
    ];
    assert_eq!(told(&harness.events_after(start, 100).await), expected, "hidden at once");
    super::erasure::erase_all(&harness).await;
    let events = harness.events_after(start, 100).await;
    assert_eq!(told(&events), expected);
    assert!(events[0].1.record.is_empty(), "and erased later");
    assert_eq!([2, 3].map(|index: usize| events[index].1.version), [2, 3], "a change too");

    create(&harness, json!({"name": "acme"})).await;
    let last = harness.events_after(start, 100).await.pop().expect("an event");
    assert_eq!(audit_subject(&last.1).as_deref(), Some("tenants/acme"), "another one is told");
}

pub async fn a_start_with_other_settings_is_an_event(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let note = async |settings: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = settings.iter().map(own).collect();
        let start = StartSettings { settings, caller: caller(), at: harness.clock.now() };
        harness.store().note_settings(start).await.expect("the store answers")
    };
    let first = [("log", "\"info\""), ("put_guard", "false"), ("hosts", "[]")];
    assert_eq!(note(&first).await, [""; 0], "the first start changes nothing");
    assert_eq!(note(&first).await, [""; 0]);
    assert_eq!(harness.head().await.position, start);
    let second = [("hosts", "[\"a\"]"), ("log", "\"warn\""), ("put_guard", "false"), ("new", "1")];
    assert_eq!(note(&second).await, ["hosts", "log"], "a new setting is not counted");
    assert_eq!(note(&second).await, [""; 0]);
    let events = harness.events_after(start, 100).await;
    assert_eq!(told(&events), [(EventKind::SettingsChanged, "settings".to_owned())]);
    assert_eq!(&*events[0].1.record, br#"["hosts","log"]"#);
}

pub async fn writes_continue_after_an_audit_event(harness: Harness) {
    let (harness, start) = begin(harness).await;
    let ada = harness.create(json!({"username": "ada"})).await.expect("a new user");
    key(&harness, Reach::default()).await;
    let acme = create(&harness, json!({"name": "acme"})).await;
    let of_acme = of(&harness, &acme).await;
    harness.create(json!({"username": "grace"})).await.expect("a new user");
    of_acme.user(json!({"username": "ada"})).await;
    key(&harness, Reach::Tenant(acme.id)).await;
    let patched = harness.patch(ada.stored.id, json!({"title": "T"})).await.expect("it is there");
    let events = harness.events_after(start, 100).await;
    let kinds: Vec<EventKind> = events.iter().map(|(_, event)| event.kind).collect();
    let expected = [
        EventKind::Created,
        EventKind::KeyCreated,
        EventKind::TenantCreated,
        EventKind::Created,
        EventKind::Updated,
    ];
    assert_eq!(kinds, expected);
    assert_eq!(events.last().map(|(position, _)| *position), Some(patched.position));
    let head = harness.store().totals().await.expect("the store answers");
    assert_eq!(head.position, start + 7, "one log for all");
}
