//! One process at a time sends to webhooks.

use roster_core::{
    Actor, Caller, Preconditions, Store as _, Timestamp, WebhookStore as _,
    access::AuditView,
    store::Lease,
    webhook::{Progress, WebhookAct, WebhookChange, WebhookDraft, WebhookId, WebhookSecret},
};

use super::support::{beside, id, open, schema, tree};

const EXPIRE: &str = "UPDATE leases SET until = until - 60000";

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_stored_by_the_process_that_has_the_lease_alone() {
    let schema = schema();
    let (one, other) = (open(&schema.url()).await, open(&schema.url()).await);
    let first = one.take_lease([1; 16]).await.unwrap().unwrap();
    assert_eq!(other.take_lease([2; 16]).await.unwrap(), None);
    assert_eq!(one.take_lease([1; 16]).await.unwrap(), Some(first), "it is renewed");

    let draft = tree(r#"{"name":"search","url":"https://h.example.com"}"#);
    let (at, webhook) = (Timestamp::from_millis(1), WebhookId(id(1)));
    let change = WebhookChange {
        act: WebhookAct::Create {
            id: webhook,
            draft: WebhookDraft::parse(&draft).unwrap(),
            secret: WebhookSecret([7; 32]),
        },
        preconditions: Preconditions::default(),
        at,
        caller: Caller { actor: Actor::System, request_id: "r".to_owned() },
        audit: AuditView::Nothing,
        all_tenants: true,
        is_dry_run: false,
    };
    let created = one.webhooks().change(change).await.unwrap().stored;
    let progress = Progress { attempts: 3, ..created.progress };
    let save =
        async |lease| one.save_progress(webhook, 1, progress, Vec::new(), lease).await.unwrap();
    assert!(save(first).await);

    // A process that was stopped for too long.
    beside(&schema.url()).await.batch_execute(EXPIRE).await.unwrap();
    let second = other.take_lease([2; 16]).await.unwrap().unwrap();
    assert_eq!(second, Lease { fence: first.fence + 1 });
    assert!(!save(first).await);
    assert!(save(second).await);
    one.end_lease(first).await.unwrap();
    assert_eq!(one.take_lease([1; 16]).await.unwrap(), None, "it was not its own any more");
    other.end_lease(second).await.unwrap();
    assert!(one.take_lease([1; 16]).await.unwrap().is_some(), "at once");
}
