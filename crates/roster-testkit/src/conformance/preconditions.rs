//! Preconditions (promise "No lost updates"; RFC 9110 section 13): reading, editing and writing
//! cannot lose a concurrent write. The order of errors is 404, 412, 422, 409.

use roster_core::{Preconditions, Refusal, Rules, Tags};
use serde_json::json;

use super::harness::{Harness, view};

pub const RULES: Rules = super::DEFAULT;

pub(super) fn if_match(versions: &[i64]) -> Preconditions {
    Preconditions { if_match: Some(Tags::Versions(versions.to_vec())), if_none_match: None }
}

fn if_none_match(tags: Tags) -> Preconditions {
    Preconditions { if_match: None, if_none_match: Some(tags) }
}

const STALE: Refusal = Refusal::VersionMismatch { current: 2 };

/// A user at version 2.
async fn ada(harness: &Harness) -> roster_core::UserId {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.replace(user.id, json!({"name": "Ada"})).await.expect("valid");
    user.id
}

pub async fn replace_with_a_stale_version_is_refused(harness: Harness) {
    let id = ada(&harness).await;
    let before = harness.image().await;
    for preconditions in [if_match(&[1]), if_match(&[3]), if_match(&[]), if_match(&[1, 3])] {
        let result = harness.replace_if(id, json!({"name": "B"}), preconditions).await;
        assert_eq!(result, Err(STALE));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn replace_with_the_current_version_is_executed(harness: Harness) {
    let id = ada(&harness).await;
    let any = Preconditions { if_match: Some(Tags::Any), if_none_match: None };
    for (version, preconditions) in [(3, if_match(&[2])), (4, if_match(&[9, 3, 1])), (5, any)] {
        let body = json!({"name": version.to_string()});
        let outcome = harness.replace_if(id, body, preconditions).await.expect("it holds");
        assert_eq!(outcome.stored.version, version);
    }
}

pub async fn patch_and_delete_with_a_stale_version_are_refused(harness: Harness) {
    let id = ada(&harness).await;
    let before = harness.image().await;
    assert_eq!(harness.patch_if(id, json!({"name": "B"}), if_match(&[1])).await, Err(STALE));
    assert_eq!(harness.delete_if(id, if_match(&[1])).await, Err(STALE));
    assert_eq!(harness.image().await, before);
    assert!(harness.patch_if(id, json!({"name": "B"}), if_match(&[2])).await.is_ok());
    assert!(harness.delete_if(id, if_match(&[3])).await.is_ok());
}

pub async fn a_stale_version_in_the_body_is_refused_in_replace_and_patch(harness: Harness) {
    let id = ada(&harness).await;
    let before = harness.image().await;
    for version in [1, 3, 0, -1] {
        let body = json!({"version": version, "name": "B"});
        assert_eq!(harness.replace(id, body.clone()).await, Err(STALE));
        assert_eq!(harness.patch(id, body).await, Err(STALE));
    }
    assert_eq!(harness.image().await, before);
    let body = json!({"version": 2, "name": "B"});
    assert_eq!(harness.patch(id, body).await.expect("it holds").stored.version, 3);
}

pub async fn header_and_body_version_must_both_hold(harness: Harness) {
    let id = ada(&harness).await;
    for (header, body) in [(1, 2), (2, 1)] {
        let sent = json!({"version": body, "name": "B"});
        assert_eq!(harness.replace_if(id, sent.clone(), if_match(&[header])).await, Err(STALE));
        assert_eq!(harness.patch_if(id, sent, if_match(&[header])).await, Err(STALE));
    }
    let sent = json!({"version": 2, "name": "B"});
    assert!(harness.replace_if(id, sent, if_match(&[2])).await.is_ok());
}

pub async fn a_stale_version_is_refused_even_where_nothing_would_change(harness: Harness) {
    let id = ada(&harness).await;
    let same = json!({"name": "Ada"});
    assert_eq!(harness.replace_if(id, same.clone(), if_match(&[1])).await, Err(STALE));
    assert_eq!(harness.replace(id, json!({"name": "Ada", "version": 1})).await, Err(STALE));
    assert_eq!(harness.patch(id, json!({"version": 1})).await, Err(STALE));
}

pub async fn if_none_match_refuses_the_versions_it_names(harness: Harness) {
    let id = ada(&harness).await;
    for tags in [Tags::Any, Tags::Versions(vec![2]), Tags::Versions(vec![7, 2])] {
        let preconditions = if_none_match(tags);
        let body = json!({"name": "B"});
        assert_eq!(harness.replace_if(id, body.clone(), preconditions.clone()).await, Err(STALE));
        assert_eq!(harness.patch_if(id, body, preconditions.clone()).await, Err(STALE));
        assert_eq!(harness.delete_if(id, preconditions).await, Err(STALE));
    }
    let preconditions = if_none_match(Tags::Versions(vec![1]));
    assert!(harness.replace_if(id, json!({"name": "B"}), preconditions).await.is_ok());
}

pub async fn not_found_is_reported_before_any_precondition(harness: Harness) {
    let id = ada(&harness).await;
    harness.delete(id).await.expect("there");
    let invalid = json!({"locale": "?"});
    for preconditions in [if_match(&[1]), if_none_match(Tags::Any)] {
        let result = harness.replace_if(id, invalid.clone(), preconditions.clone()).await;
        assert_eq!(result, Err(Refusal::NotFound));
        assert_eq!(
            harness.patch_if(id, invalid.clone(), preconditions.clone()).await,
            Err(Refusal::NotFound)
        );
        assert_eq!(harness.delete_if(id, preconditions).await, Err(Refusal::NotFound));
    }
}

pub async fn a_stale_version_is_reported_before_an_invalid_user(harness: Harness) {
    let id = ada(&harness).await;
    let invalid = json!({"locale": "?", "nmae": 1});
    assert_eq!(harness.replace_if(id, invalid.clone(), if_match(&[1])).await, Err(STALE));
    assert_eq!(harness.patch_if(id, invalid, if_match(&[1])).await, Err(STALE));
}

pub async fn an_invalid_user_is_reported_before_a_taken_name(harness: Harness) {
    let id = ada(&harness).await;
    harness.user(json!({"username": "grace"})).await;
    let body = json!({"username": "grace", "locale": "?"});
    for result in [
        harness.replace(id, body.clone()).await,
        harness.patch(id, body.clone()).await,
        harness.create(body).await,
    ] {
        assert!(matches!(result, Err(Refusal::Invalid(_))), "{result:?}");
    }
}

pub async fn a_stale_version_is_reported_before_a_taken_name(harness: Harness) {
    let id = ada(&harness).await;
    harness.user(json!({"username": "grace"})).await;
    let body = json!({"username": "grace"});
    assert_eq!(harness.replace_if(id, body, if_match(&[1])).await, Err(STALE));
}

pub async fn a_read_and_write_back_of_another_member_loses_no_update(harness: Harness) {
    let id = ada(&harness).await;
    let mut mine = view(&harness.get(id).await.expect("there"));
    harness.patch(id, json!({"title": "Countess"})).await.expect("valid");
    mine["nickname"] = json!("A");
    let current = Refusal::VersionMismatch { current: 3 };
    assert_eq!(harness.replace(id, mine).await, Err(current));
    let mut fresh = view(&harness.get(id).await.expect("there"));
    fresh["nickname"] = json!("A");
    let seen = view(&harness.replace(id, fresh).await.expect("it holds").stored);
    assert_eq!((&seen["title"], &seen["nickname"]), (&json!("Countess"), &json!("A")));
}
