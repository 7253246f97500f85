//! The guards of PUT and DELETE (promise "No lost updates"): with these settings, a destructive
//! write must name the version that the caller has read.

use roster_core::{Attribute, Guard, OnConflict, Preconditions, Refusal, Rules, Tags};
use serde_json::json;

use super::{
    harness::{Harness, only_if, purging, view},
    preconditions::if_match,
};

pub const RULES: Rules = Rules { put: Guard::On, delete: Guard::On, ..super::DEFAULT };

pub async fn a_guarded_replace_that_clears_members_names_them(harness: Harness) {
    let body = json!({"username": "ada", "name": "Ada", "title": "T", "email": "a@example.com"});
    let user = harness.user(body).await;
    let before = harness.image().await;
    let result = harness.replace(user.id, json!({"title": "T"})).await;
    let Err(Refusal::PreconditionRequired { cleared }) = result else { panic!("{result:?}") };
    assert!(cleared.contains(&Attribute::Name) && cleared.contains(&Attribute::Emails));
    assert!(!cleared.contains(&Attribute::Title) && !cleared.contains(&Attribute::Username));
    assert_eq!(harness.image().await, before);
    // A member of `attributes` counts.
    let body = json!({"username": "grace", "attributes": {"badge": "7", "free": 1}});
    let grace = harness.user(body).await;
    let result = harness.replace(grace.id, json!({"attributes": {"free": 2}})).await;
    let cleared = vec![Attribute::Attributes];
    assert_eq!(result, Err(Refusal::PreconditionRequired { cleared }));
    let both = json!({"attributes": {"free": 2, "badge": "8", "new": 1}});
    assert_eq!(harness.replace(grace.id, both).await.expect("it is kept").stored.version, 2);
}

pub async fn a_guarded_replace_that_clears_nothing_needs_no_precondition(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "name": "Ada"})).await;
    let outcome = harness.replace(user.id, json!({"name": "A", "title": "T"})).await;
    assert_eq!(outcome.expect("nothing is cleared").stored.version, 2);
}

pub async fn any_precondition_satisfies_the_guard(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "name": "1", "title": "2"})).await;
    let by_header = harness.replace_if(user.id, json!({"title": "2"}), if_match(&[1])).await;
    assert_eq!(by_header.expect("it holds").stored.version, 2);
    let by_body = harness.replace(user.id, json!({"version": 2})).await.expect("it holds").stored;
    assert!(view(&by_body).get("title").is_none());
    harness.patch(user.id, json!({"name": "3"})).await.expect("a patch is not guarded");
    let any = Preconditions { if_match: Some(Tags::Any), if_none_match: None };
    assert!(harness.replace_if(user.id, json!({}), any).await.is_ok());
}

pub async fn a_guarded_delete_needs_a_precondition(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let refusal = Refusal::PreconditionRequired { cleared: vec![] };
    assert_eq!(harness.delete(user.id).await, Err(refusal));
    assert!(harness.get(user.id).await.is_some());
    let stale = Refusal::VersionMismatch { current: 1 };
    assert_eq!(harness.delete_if(user.id, if_match(&[9])).await, Err(stale));
    assert!(harness.delete_if(user.id, if_match(&[1])).await.is_ok());
    assert_eq!(harness.delete(user.id).await, Err(Refusal::NotFound));
}

pub async fn a_guarded_purge_needs_a_precondition_and_a_restore_does_not(harness: Harness) {
    let id = harness.user(json!({"username": "ada"})).await.id;
    harness.delete_if(id, if_match(&[1])).await.expect("it holds");
    harness.restore(id).await.expect("nothing is destroyed by it");
    harness.delete_if(id, if_match(&[3])).await.expect("it holds");
    let before = harness.image().await;
    let refusal = Refusal::PreconditionRequired { cleared: vec![] };
    assert_eq!(harness.purge(id).await, Err(refusal));
    assert_eq!(harness.image().await, before);
    assert!(harness.act(only_if(purging(id), if_match(&[4]))).await.is_ok());
    assert_eq!(harness.purge(id).await, Err(Refusal::NotFound));
}

pub async fn a_replacement_of_a_holder_is_guarded_like_any(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "name": "Ada"})).await;
    let replacing = |body| harness.creating_or(&body, OnConflict::Replace);
    let result = harness.act(replacing(json!({"username": "ada", "title": "T"}))).await;
    assert_eq!(result, Err(Refusal::PreconditionRequired { cleared: vec![Attribute::Name] }));
    // A member that a create ignores does not satisfy the guard.
    let result = harness.act(replacing(json!({"username": "ada", "version": 1}))).await;
    assert_eq!(result, Err(Refusal::PreconditionRequired { cleared: vec![Attribute::Name] }));
    assert_eq!(harness.get(user.id).await, Some(user.clone()));
    let whole = json!({"username": "ada", "name": "A", "title": "T"});
    assert_eq!(harness.act(replacing(whole)).await.expect("clears nothing").stored.version, 2);
}
