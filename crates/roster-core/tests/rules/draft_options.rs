//! What an interface may add to a draft: members to keep, accepted violations, flags to set, and a
//! version.

use roster_core::{Attribute, Draft, Refusal, ViolationCode};
use serde_json::json;

use crate::support::{faults, replace_by, stored, tree, view};

#[test]
fn a_replacement_keeps_only_the_members_that_are_retained() {
    let before = stored(&json!({"attributes": {"team": "core"}, "title": "Countess"}));
    let mut draft = Draft::parse(tree(&json!({"username": "ada"})));
    draft.retain(Attribute::Attributes);
    let after = view(&replace_by(&before, draft).expect("valid"));
    assert_eq!((&after["attributes"], after.get("title")), (&json!({"team": "core"}), None));
    let mut draft = Draft::parse(tree(&json!({"attributes": {"team": "other"}})));
    draft.retain(Attribute::Attributes);
    let after = view(&replace_by(&before, draft).expect("valid"));
    assert_eq!(after["attributes"], json!({"team": "other"}));
}

#[test]
fn a_retained_flag_is_reset_when_the_address_changes() {
    let before = stored(&json!({"emails": [{"value": "a@example.com"}], "email_verified": true}));
    let draft = |address: &str| {
        let mut draft = Draft::parse(tree(&json!({"emails": [{"value": address}]})));
        draft.retain(Attribute::EmailVerified);
        view(&replace_by(&before, draft).expect("valid"))
    };
    assert_eq!(draft("a@example.com")["email_verified"], true);
    assert_eq!(draft("b@example.com")["email_verified"], false);
}

#[test]
fn a_vouched_flag_is_set_for_the_new_address() {
    let before = stored(&json!({"emails": [{"value": "a@example.com"}]}));
    let body = json!({"emails": [{"value": "b@example.com"}], "email_verified": true});
    let mut draft = Draft::parse(tree(&body));
    draft.vouch(Attribute::EmailVerified);
    assert_eq!(view(&replace_by(&before, draft).expect("valid"))["email_verified"], true);
}

#[test]
fn only_the_named_violations_are_accepted() {
    let before = stored(&json!({}));
    let body = json!({"locale": "not one", "zoneinfo": "Mars", "nmae": "x"});
    let mut draft = Draft::parse(tree(&body));
    draft.excuse(&[ViolationCode::InvalidLanguageTag]);
    let left = [
        ("/nmae".to_owned(), ViolationCode::UnknownMember),
        ("/zoneinfo".to_owned(), ViolationCode::InvalidZone),
    ];
    assert_eq!(faults(replace_by(&before, draft)), left);
}

#[test]
fn a_replacement_has_its_version_as_precondition() {
    let before = stored(&json!({}));
    let held = |version| {
        let mut draft = Draft::parse(tree(&json!({"title": "x"})));
        draft.hold_version(version);
        replace_by(&before, draft)
    };
    assert!(held(3).is_ok());
    assert_eq!(held(2), Err(Refusal::VersionMismatch { current: 3 }));
}
