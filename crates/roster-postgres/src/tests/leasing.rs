//! One process at a time sends to webhooks.

use roster_core::{
    Store as _, WebhookStore as _,
    store::Lease,
    webhook::{Progress, WebhookId},
};

use super::support::{beside, id, new_webhook, open, schema};

const EXPIRE: &str = "UPDATE leases SET until = until - 60000";

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_stored_by_the_process_that_has_the_lease_alone() {
    let schema = schema();
    let (one, other) = (open(&schema.url()).await, open(&schema.url()).await);
    let first = one.take_lease([1; 16]).await.unwrap().unwrap();
    assert_eq!(other.take_lease([2; 16]).await.unwrap(), None);
    assert_eq!(one.take_lease([1; 16]).await.unwrap(), Some(first), "it is renewed");

    let webhook = WebhookId(id(1));
    let change = new_webhook(webhook);
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
