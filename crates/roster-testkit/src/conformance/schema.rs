//! The schema of users: declared members of `attributes`.

use roster_core::{
    Effect, EventKind, EventsQuery, Outcome, Refusal, Rules, SchemaDraft, UserSchema,
    ViolationCode, schema::SCHEMA_ID,
};
use serde_json::{Value, json};

use super::{
    harness::{Harness, only_if, tree},
    preconditions::if_match,
};

pub const RULES: Rules = super::DEFAULT;

fn replacing(body: &Value) -> SchemaDraft {
    SchemaDraft::parse(tree(body))
}

/// Replaces the declarations.
pub(super) async fn declare(harness: &Harness, attributes: Value) -> Outcome {
    harness.act(replacing(&json!({"attributes": attributes}))).await.expect("a valid schema")
}

fn codes(result: Result<Outcome, Refusal>) -> Vec<(String, ViolationCode)> {
    let Err(Refusal::Invalid(violations)) = result else { panic!("{result:?}") };
    violations.into_iter().map(|violation| (violation.pointer, violation.code)).collect()
}

pub async fn a_new_store_declares_nothing(harness: Harness) {
    assert_eq!(*harness.store().schema(), UserSchema::default());
    harness.user(json!({"username": "ada", "attributes": {"badge": 7}})).await;
}

pub async fn a_replaced_schema_is_applied_to_the_next_write(harness: Harness) {
    let declared = json!([{"name": "badge", "type": "string", "required": true}]);
    let outcome = declare(&harness, declared).await;
    assert_eq!(outcome.effect, Effect::Changed(EventKind::SchemaUpdated));
    assert_eq!((outcome.stored.version, outcome.position), (2, 1));
    let schema = harness.store().schema();
    assert_eq!(schema.to_record(), outcome.stored.record);
    let refused = harness.create(json!({"username": "ada", "attributes": {"badge": 7}})).await;
    let wrong_type = ("/attributes/badge".to_owned(), ViolationCode::WrongType);
    assert_eq!(codes(refused), [wrong_type]);
    let refused = harness.create(json!({"username": "ada"})).await;
    let required = ("/attributes/badge".to_owned(), ViolationCode::Required);
    assert_eq!(codes(refused), [required]);
    let ada = harness.user(json!({"username": "ada", "attributes": {"badge": "7"}})).await;
    let refused = harness.patch(ada.id, json!({"attributes": {"badge": null}})).await;
    assert_eq!(codes(refused).len(), 1);
    declare(&harness, json!([])).await;
    harness.patch(ada.id, json!({"attributes": {"badge": 7}})).await.expect("any value again");
}

pub async fn stored_values_are_not_checked_against_a_new_schema(harness: Harness) {
    let ada = harness.user(json!({"username": "ada", "attributes": {"badge": 7}})).await;
    let grace = harness.user(json!({"username": "grace"})).await;
    let declared = json!([{"name": "badge", "type": "string", "required": true}]);
    declare(&harness, declared).await;
    harness.patch(ada.id, json!({"title": "T"})).await.expect("the badge is as it was");
    harness.patch(grace.id, json!({"title": "T"})).await.expect("there was no badge");
    let refused = harness.patch(ada.id, json!({"attributes": {"badge": 8}})).await;
    assert_eq!(codes(refused).len(), 1);
    harness.delete(ada.id).await.expect("there");
    harness.restore(ada.id).await.expect("a restore sets no value");
}

pub async fn a_stale_version_of_the_schema_is_refused(harness: Harness) {
    let body = json!({"attributes": [{"name": "badge", "type": "string"}]});
    let replace = |version| harness.act(only_if(replacing(&body), if_match(&[version])));
    assert_eq!(replace(2).await, Err(Refusal::VersionMismatch { current: 1 }));
    replace(1).await.expect("the current version");
    assert_eq!(replace(1).await, Err(Refusal::VersionMismatch { current: 2 }));
}

pub async fn an_equal_schema_changes_nothing(harness: Harness) {
    let declared = json!([{"name": "badge", "type": "string"}]);
    let first = declare(&harness, declared.clone()).await;
    let second = declare(&harness, declared).await;
    assert_eq!((second.effect, second.position), (Effect::Unchanged, first.position));
    assert_eq!(second.stored, first.stored);
}

pub async fn a_dry_run_of_a_schema_stores_nothing(harness: Harness) {
    let body = json!({"attributes": [{"name": "badge", "type": "string"}]});
    let outcome = harness.preview(replacing(&body)).await;
    assert_eq!(outcome.expect("valid").stored.version, 2);
    assert_eq!(*harness.store().schema(), UserSchema::default());
    let invalid = json!({"attributes": [{"name": "badge"}]});
    let refused = harness.preview(replacing(&invalid)).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

pub async fn a_replaced_schema_is_an_event(harness: Harness) {
    let ada = harness.user(json!({"username": "ada"})).await;
    let outcome = declare(&harness, json!([{"name": "badge", "type": "string"}])).await;
    let page = harness.store().events(EventsQuery::after(0, 10)).await.expect("read");
    let kinds: Vec<_> = page.events.iter().map(|(_, event)| (event.kind, event.user_id)).collect();
    assert_eq!(kinds, [(EventKind::Created, ada.id), (EventKind::SchemaUpdated, SCHEMA_ID)]);
    let (position, event) = &page.events[1];
    assert_eq!((*position, event.version), (outcome.position, 2));
    assert_eq!(event.record, outcome.stored.record);
}

pub async fn a_schema_command_without_an_effect_is_repeated(harness: Harness) {
    // The log has no events.
    let draft = || replacing(&json!({"attributes": []}));
    let first = harness.act_once(draft(), 7, 1).await.expect("valid");
    assert_eq!((first.position, first.effect), (0, Effect::Unchanged));
    let again = harness.act_once(draft(), 7, 1).await.expect("the stored result");
    assert_eq!(again, Outcome { replayed: true, ..first });
}

pub async fn a_repeated_schema_command_is_executed_once(harness: Harness) {
    let body = json!({"attributes": [{"name": "badge", "type": "string"}]});
    let first = harness.act_once(replacing(&body), 7, 1).await.expect("valid");
    declare(&harness, json!([])).await;
    let again = harness.act_once(replacing(&body), 7, 1).await.expect("the stored result");
    assert_eq!(again, Outcome { replayed: true, ..first });
    assert!(harness.store().schema().members.is_empty());
    let reused = harness.act_once(replacing(&body), 7, 2).await;
    assert_eq!(reused, Err(Refusal::KeyReused));
}
