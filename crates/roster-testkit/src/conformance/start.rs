//! Changes with a limited wait: a change that has not begun by then is dropped, one that has begun
//! is executed.

use roster_core::{Command, Failure, Rules, Start, StoreError, UserAct};
use serde_json::json;

use super::harness::{Harness, deleting, replacing};

pub const RULES: Rules = super::DEFAULT;

/// A single command with a start deadline, as one request sends it.
async fn started(
    harness: &Harness,
    act: UserAct,
    start: &Start,
) -> Result<roster_core::Outcome, Failure> {
    let command = Command { start: Some(start.clone()), ..harness.command(act) };
    harness.store().apply(vec![command]).await.pop().expect("one result for each command")
}

pub async fn a_cancelled_command_is_not_begun(harness: Harness) {
    let ada = harness.user(json!({"username": "ada"})).await;
    let before = harness.image().await;
    for act in [
        harness.creating(&json!({"username": "grace"})),
        replacing(ada.id, &json!({"username": "x"})),
        deleting(ada.id),
    ] {
        let start = Start::default();
        assert!(start.give_up());
        let result = started(&harness, act, &start).await;
        assert!(matches!(result, Err(Failure::Store(StoreError::TimedOut))), "{result:?}");
    }
    assert_eq!(harness.image().await, before);
    // Other commands are executed.
    harness.user(json!({"username": "grace"})).await;
}

pub async fn a_begun_command_cannot_be_cancelled(harness: Harness) {
    let start = Start::default();
    let outcome = started(&harness, harness.creating(&json!({"username": "ada"})), &start).await;
    let stored = outcome.expect("valid").stored;
    assert!(!start.give_up());
    assert_eq!(harness.get(stored.id).await, Some(stored));
}
