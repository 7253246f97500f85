//! What an interface may add to a draft: members that a patch names, and accepted violations.

use roster_core::{Attribute, Draft, ViolationCode};
use serde_json::json;

use crate::support::{faults, replace_by, stored, tree, view};

#[test]
fn a_flag_that_a_patch_names_is_set_for_the_new_address() {
    let before = stored(&json!({"emails": [{"value": "a@example.com"}]}));
    let body = json!({"emails": [{"value": "b@example.com"}], "email_verified": true});
    for (names_it, expected) in [(false, false), (true, true)] {
        let mut draft = Draft::parse(tree(&body));
        if names_it {
            draft.name(Attribute::EmailVerified);
        }
        let after = view(&replace_by(&before, draft).expect("valid"));
        assert_eq!(after["email_verified"], expected);
    }
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
