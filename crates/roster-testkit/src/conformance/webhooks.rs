//! Webhooks: their rows, their progress, and what a purge leaves of them.

use roster_core::{
    Clock as _, EventKind, Position, Preconditions, Rules, Status, Tags, TenantId, Timestamp,
    access::AuditView,
    limits::WEBHOOKS_MAX,
    store::Lease,
    tenant::TenantAct,
    webhook::{
        Attempt, DELIVERIES_KEPT, Progress, StoredWebhook, WebhookAct, WebhookChange,
        WebhookDecision, WebhookDelivery, WebhookDraft, WebhookFailure, WebhookId, WebhookRefusal,
        WebhookSecret, WebhookStatus,
    },
};
use serde_json::{Value, json};

use super::{
    Harness,
    harness::{caller, tree},
    tenants::{self, name, of},
};

pub const RULES: Rules = super::DEFAULT;

async fn change(harness: &Harness, act: WebhookAct) -> Result<WebhookDecision, WebhookRefusal> {
    make(harness, change_by_operator(harness, act)).await
}

fn change_by_operator(harness: &Harness, act: WebhookAct) -> WebhookChange {
    WebhookChange {
        act,
        preconditions: Preconditions::default(),
        at: harness.clock.now(),
        caller: caller(),
        audit: AuditView::Own,
        all_tenants: true,
        is_dry_run: false,
    }
}

async fn make(harness: &Harness, change: WebhookChange) -> Result<WebhookDecision, WebhookRefusal> {
    match harness.store().webhooks().change(change).await {
        Ok(decision) => Ok(decision),
        Err(WebhookFailure::Refused(refusal)) => Err(refusal),
        Err(WebhookFailure::Store(error)) => panic!("the store failed: {error:?}"),
    }
}

async fn create(harness: &Harness, body: Value) -> StoredWebhook {
    let draft = WebhookDraft::parse(&tree(&body)).expect("a valid webhook");
    let (id, secret) = (WebhookId(harness.new_id()), WebhookSecret([7; 32]));
    let created = change(harness, WebhookAct::Create { id, draft, secret }).await;
    created.expect("there is room").stored
}

async fn get(harness: &Harness, id: WebhookId) -> Option<StoredWebhook> {
    harness.store().webhooks().webhook(id).await.expect("the store answers")
}

fn body(called: &str) -> Value {
    json!({"name": called, "url": "https://h.example.com/r?a=b", "types": ["user.*", "key.created"],
        "batch_max": 7, "payload": "thin"})
}

pub async fn a_webhook_is_stored_as_it_was_created(harness: Harness) {
    harness.user(json!({"username": "ada"})).await;
    let head = harness.head().await.position;
    let one = create(&harness, body("one")).await;
    assert_eq!(one.progress, Progress::at(Position { number: head, ..one.progress.position }));
    harness.clock.step(1);
    let other =
        create(&harness, json!({"name": "other", "url": "https://[2001:db8::1]:8443"})).await;
    assert_eq!(get(&harness, one.webhook.id).await, Some(one.clone()));
    let all = harness.store().webhooks().list().await.expect("the store answers");
    assert_eq!(all, [one.clone(), other]);
    assert_eq!(get(&harness, WebhookId(harness.new_id())).await, None);

    harness.clock.step(1);
    let id = one.webhook.id;
    let patch = WebhookAct::Patch(id, tree(&json!({"status": "paused", "name": "third"})));
    let patched = change(&harness, patch.clone()).await.expect("it is there").stored;
    assert_eq!((patched.webhook.version, patched.webhook.status), (2, WebhookStatus::Paused));
    assert!(!change(&harness, patch).await.expect("it is there").changes);
    let secret = WebhookSecret([9; 32]);
    let rotate = WebhookAct::Rotate { id, secret, overlap_ms: 1000 };
    let rotated = change(&harness, rotate).await.expect("it is there").stored;
    assert_eq!(rotated.secrets.former.map(|(former, _)| former), Some(one.secrets.newest));
    let start = Position { number: 0, ..one.progress.position };
    let replayed = change(&harness, WebhookAct::Replay(id, start)).await.expect("it is there");
    assert_eq!(get(&harness, id).await, Some(replayed.stored));
    // Once more after the connection to the database was lost at the commit.
    let again = change(&harness, WebhookAct::Replay(id, start)).await.expect("it is there");
    assert_eq!((again.changes, again.stored.webhook.version), (false, 4));
    let rotate = WebhookAct::Rotate { id, secret, overlap_ms: 1000 };
    assert!(!change(&harness, rotate).await.expect("it is there").changes);
    // Another replay: what is stored may be behind what was sent.
    harness.clock.step(1);
    let again = change(&harness, WebhookAct::Replay(id, start)).await.expect("it is there");
    assert_eq!((again.changes, again.stored.webhook.version), (true, 5));
    change(&harness, WebhookAct::Delete(id)).await.expect("it is there");
    assert_eq!(get(&harness, id).await, None);
    assert_eq!(change(&harness, WebhookAct::Delete(id)).await, Err(WebhookRefusal::NotFound));
    let events = harness.events().await;
    let kinds: Vec<EventKind> = events.iter().skip(1).map(|(_, event)| event.kind).collect();
    let expected = [
        EventKind::WebhookCreated,
        EventKind::WebhookCreated,
        EventKind::WebhookUpdated,
        EventKind::WebhookRotated,
        EventKind::WebhookReplayed,
        EventKind::WebhookReplayed,
        EventKind::WebhookDeleted,
    ];
    assert_eq!(kinds, expected);
}

pub async fn a_webhook_for_all_tenants_is_changed_by_the_operator_alone(harness: Harness) {
    let mut all = body("all");
    all["tenants"] = json!("all");
    let one = create(&harness, all.clone()).await;
    let id = one.webhook.id;
    let draft = WebhookDraft::parse(&tree(&all)).expect("a valid webhook");
    let secret = WebhookSecret([9; 32]);
    for act in [
        WebhookAct::Replace(id, draft),
        WebhookAct::Patch(id, tree(&json!({"url": "https://evil.example"}))),
        WebhookAct::Rotate { id, secret, overlap_ms: 0 },
        WebhookAct::Replay(id, one.progress.position),
        WebhookAct::Delete(id),
    ] {
        let change = change_by_operator(&harness, act);
        let by_other = WebhookChange { all_tenants: false, ..change };
        assert_eq!(make(&harness, by_other).await, Err(WebhookRefusal::NotFound));
    }
    assert_eq!(get(&harness, id).await, Some(one));
}

pub async fn events_of_a_webhook_have_the_times_of_its_changes(harness: Harness) {
    let one = create(&harness, body("one")).await;
    let id = one.webhook.id;
    // Changes at once, in another order than that of their requests.
    for (second, millis) in [("a", 5), ("b", 3), ("c", 8)] {
        let patch = WebhookAct::Patch(id, tree(&json!({"name": second})));
        let at = harness.clock.now().as_millis() + millis;
        let at = Timestamp::from_millis(at);
        let change = WebhookChange { at, ..change_by_operator(&harness, patch) };
        let updated_at =
            make(&harness, change).await.expect("it is there").stored.webhook.updated_at;
        let events = harness.events().await;
        assert_eq!(events.last().map(|(_, event)| event.at), Some(updated_at));
    }
    let delete = change(&harness, WebhookAct::Delete(id)).await.expect("it is there");
    let events = harness.events().await;
    let last = events.last().map(|(_, event)| event.at);
    assert_eq!(last, Some(delete.stored.webhook.updated_at), "the clock is behind");
}

pub async fn a_webhook_that_was_changed_is_not_ended(harness: Harness) {
    let one = create(&harness, body("one")).await;
    let id = one.webhook.id;
    let url = WebhookAct::Patch(id, tree(&json!({"url": "https://other.example.com"})));
    let changed = change(&harness, url).await.expect("it is there").stored;
    let end = |version| WebhookChange {
        preconditions: Preconditions {
            if_match: Some(Tags::Versions(vec![version])),
            if_none_match: None,
        },
        ..change_by_operator(&harness, WebhookAct::End(id, WebhookStatus::Parked))
    };
    assert_eq!(make(&harness, end(1)).await, Err(WebhookRefusal::VersionMismatch(2)));
    assert_eq!(get(&harness, id).await, Some(changed));
    assert!(make(&harness, end(2)).await.expect("it is there").changes);
    // Once more after the connection to the database was lost at the commit.
    assert!(!make(&harness, end(2)).await.expect("it is there").changes);
}

pub async fn a_dry_run_is_refused_where_the_limit_is_reached(harness: Harness) {
    for number in 0..WEBHOOKS_MAX {
        create(&harness, body(&number.to_string())).await;
    }
    for is_dry_run in [true, false] {
        let draft = WebhookDraft::parse(&tree(&body("more"))).expect("a valid webhook");
        let (id, secret) = (WebhookId(harness.new_id()), WebhookSecret([7; 32]));
        let act = WebhookAct::Create { id, draft, secret };
        let change = WebhookChange { is_dry_run, ..change_by_operator(&harness, act) };
        assert_eq!(make(&harness, change).await, Err(WebhookRefusal::TooMany));
    }
}

pub async fn progress_is_stored_in_one_version_alone(harness: Harness) {
    let one = create(&harness, body("one")).await;
    let webhooks = harness.store().webhooks();
    let lease =
        webhooks.take_lease([1; 16]).await.expect("the store answers").expect("nobody has it");
    let (id, position) = (one.webhook.id, one.progress.position);
    let save = async |version, progress| {
        let saved = webhooks.save_progress(id, version, progress, Vec::new(), lease);
        saved.await.expect("the store answers")
    };
    let head = harness.head().await.position;
    let attempt = Attempt {
        last: position.number + 1,
        at: harness.clock.now(),
        retry_after_ms: None,
        random: 5,
    };
    let failed = one.progress.failed(attempt);
    assert!(save(1, failed).await);
    assert_eq!(get(&harness, id).await.map(|stored| stored.progress), Some(failed));
    assert!(!save(2, one.progress).await, "another version");
    let pause = WebhookAct::Patch(id, tree(&json!({"status": "paused"})));
    change(&harness, pause).await.expect("it is there");
    assert!(!save(1, one.progress).await, "a former version");
    assert_eq!(get(&harness, id).await.map(|stored| stored.progress), Some(failed));
    assert_eq!(harness.head().await.position, head + 1, "progress is no event");
    webhooks.end_lease(lease).await.expect("the store answers");
    let next: Option<Lease> = webhooks.take_lease([2; 16]).await.expect("the store answers");
    assert!(next.is_some(), "it was ended");
}

pub async fn the_last_deliveries_are_stored(harness: Harness) {
    let one = create(&harness, body("one")).await;
    let webhooks = harness.store().webhooks();
    let lease =
        webhooks.take_lease([1; 16]).await.expect("the store answers").expect("nobody has it");
    let (id, progress) = (one.webhook.id, one.progress);
    let delivery = |number: i64, result: Result<u16, String>| WebhookDelivery {
        id: format!("{}-{number}", progress.position),
        at: harness.clock.now(),
        attempt: number,
        events: 2,
        duration_ms: 15,
        result,
    };
    let save = async |version, new| {
        let saved = webhooks.save_progress(id, version, progress, new, lease);
        saved.await.expect("the store answers")
    };
    let list = async || webhooks.deliveries(id).await.expect("the store answers");
    assert_eq!(list().await, Some(Vec::new()));
    let first = vec![delivery(2, Ok(204)), delivery(1, Err("no \"TLS\": é".to_owned()))];
    assert!(save(1, first.clone()).await);
    assert_eq!(list().await, Some(first.clone()));
    assert!(!save(2, vec![delivery(3, Ok(200))]).await, "another version");
    let pause = WebhookAct::Patch(id, tree(&json!({"status": "paused"})));
    change(&harness, pause).await.expect("it is there");
    assert_eq!(list().await, Some(first.clone()), "a change keeps them");
    for number in 3..90 {
        assert!(save(2, vec![delivery(number, Ok(503))]).await);
    }
    let kept = list().await.expect("it is there");
    assert_eq!(kept.len(), DELIVERIES_KEPT + 1);
    assert_eq!((kept.first(), kept.last()), (Some(&delivery(89, Ok(503))), first.first()));
    change(&harness, WebhookAct::Delete(id)).await.expect("it is there");
    assert_eq!(list().await, None);
}

pub async fn active_webhooks_of_active_tenants_are_served(harness: Harness) {
    let acme = tenants::create(&harness, json!({"name": "acme"})).await;
    let of_acme = of(&harness, &acme).await;
    let one = create(&of_acme, body("one")).await;
    let default =
        harness.on(harness.store().of_tenant(TenantId::DEFAULT).await.expect("it is there"));
    let two = create(&default, body("two")).await;
    let served = async || {
        let served = harness.store().webhooks().served().await.expect("the store answers");
        let names = served.iter().map(|one| {
            let tenant = one.tenant_name.as_ref().map(ToString::to_string);
            (tenant, one.stored.webhook.name.clone())
        });
        names.collect::<Vec<_>>()
    };
    let both = [(None, "two".to_owned()), (Some("acme".to_owned()), "one".to_owned())];
    assert_eq!(served().await, both);
    let status =
        |status: Status| TenantAct::Patch(name("acme"), tree(&json!({"status": status.as_str()})));
    tenants::change(&harness, status(Status::Suspended)).await.expect("it is there");
    assert_eq!(served().await, both[..1]);
    tenants::change(&harness, status(Status::Active)).await.expect("it is there");
    assert_eq!(served().await, both);
    let end = WebhookAct::End(two.webhook.id, WebhookStatus::Parked);
    change(&default, end).await.expect("it is there");
    assert_eq!(served().await, both[1..]);
    tenants::change(&harness, TenantAct::Delete(name("acme"))).await.expect("it is there");
    assert_eq!(served().await, []);
    // A process may have found the tenant before it was deleted.
    let gone = Err(WebhookRefusal::TenantNotFound);
    let pause = WebhookAct::Patch(one.webhook.id, tree(&json!({"status": "paused"})));
    assert_eq!(change(&of_acme, pause).await, gone);
    assert_eq!(change(&of_acme, WebhookAct::Delete(one.webhook.id)).await, gone);
    let end = WebhookAct::End(one.webhook.id, WebhookStatus::Parked);
    change(&of_acme, end).await.expect("the sender may end it");
    tenants::change(&harness, TenantAct::Purge(name("acme"))).await.expect("it is deleted");
    super::erasure::erase_all(&harness).await;
    assert_eq!(get(&of_acme, one.webhook.id).await, None);
}
