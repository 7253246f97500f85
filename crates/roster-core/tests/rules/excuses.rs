//! A value that equals the stored one is not checked again: values that older rules or another
//! interface accepted can be read, written back, and kept while other members change.

use roster_core::{User, ViolationCode};
use serde_json::{Value, json};

use crate::support::{faults, patch, replace, stored, user, view};

/// Members that no new user may have, as a store may contain them.
fn invalid_members() -> Vec<Value> {
    let long = |length: usize| "x".repeat(length);
    let entries = |count: usize| -> Value {
        (0..count).map(|number| json!({"value": number.to_string()})).collect()
    };
    vec![
        json!({"username": " ada "}),
        json!({"username": "a\u{200b}da"}),
        json!({"name": "a\u{1}b"}),
        json!({"title": long(257)}),
        json!({"locale": "klingon!"}),
        json!({"preferred_language": "de,en;q=0.5"}),
        json!({"zoneinfo": "Mars/Olympus"}),
        json!({"profile": "javascript:alert(1)"}),
        json!({"external_id": long(300)}),
        json!({"manager": {"id": "a\nb"}}),
        json!({"manager": {}}),
        json!({"emails": [{"value": "nobody"}]}),
        json!({"emails": [{"value": "a@example.com", "type": long(300)}]}),
        json!({"emails": [{"type": "work"}, {"value": "a@example.com"}]}),
        json!({"emails": entries(505)}),
        json!({"emails": [
            {"value": "a@x.example", "primary": true}, {"value": "b@x.example", "primary": true},
        ]}),
        json!({"phone_numbers": [{"value": "call me"}]}),
        json!({"photos": [{"value": "ada.png", "primary": true}]}),
        json!({"addresses": [{"country": "UK"}, {"formatted": long(2000)}]}),
        json!({"addresses": [{}]}),
        json!({"addresses": (0..120).map(|n| json!({"type": n.to_string()})).collect::<Value>()}),
        json!({"roles": entries(501)}),
        json!({"x509_certificates": [{"value": "not base64"}]}),
        json!({"attributes": {"a": "\u{2}", "b": long(20_000)}}),
        json!({"attributes": {"a": [[[[[[[[[1]]]]]]]]]}}),
    ]
}

#[test]
fn no_such_user_can_be_created() {
    for members in invalid_members() {
        let mut body = json!({"username": "ada"});
        for (name, value) in members.as_object().expect("an object") {
            body[name] = value.clone();
        }
        faults(crate::support::create(&body));
    }
}

#[test]
fn each_can_be_written_back_with_other_changes() {
    for members in invalid_members() {
        let before = stored(&members);
        let mut edited = view(&before);
        edited["nickname"] = json!("A");
        for result in [replace(&before, &edited), patch(&before, &json!({"nickname": "A"}))] {
            let after = result.unwrap_or_else(|refusal| panic!("{members}: {refusal:?}"));
            let mut expected = edited.clone();
            expected["version"] = json!(4);
            expected["updated_at"] = view(&after)["updated_at"].clone();
            assert_eq!(view(&after), expected, "{members}");
        }
    }
}

#[test]
fn each_can_be_written_back_without_a_change() {
    for members in invalid_members() {
        let before = stored(&members);
        assert_eq!(replace(&before, &view(&before)), Ok(before.clone()), "{members}");
        assert_eq!(patch(&before, &json!({})), Ok(before), "{members}");
    }
}

fn faults_of_both(before: &User, body: &Value) -> Vec<(String, ViolationCode)> {
    let of_patch = faults(patch(before, body));
    let of_replacement = faults(replace(before, body));
    assert_eq!(of_patch, of_replacement);
    of_replacement
}

#[test]
fn another_invalid_value_is_rejected() {
    let before = stored(&json!({"locale": "klingon!", "email": "x", "emails": [{"value": "x"}]}));
    let locale = ("/locale".to_owned(), ViolationCode::InvalidLanguageTag);
    assert_eq!(faults_of_both(&before, &json!({"locale": "klingon?"})), [locale]);
    let email = ("/emails/0/value".to_owned(), ViolationCode::InvalidEmail);
    assert_eq!(
        faults_of_both(&before, &json!({"email": "x", "emails": [{"value": "y"}]})),
        [email]
    );
    let email = ("/email".to_owned(), ViolationCode::InvalidEmail);
    let other = json!({"email": "y", "emails": [{"value": "x"}]});
    assert_eq!(faults_of_both(&before, &other), [email]);
}

#[test]
fn an_invalid_part_stays_while_its_list_changes_around_it() {
    let before =
        stored(&json!({"emails": [{"value": "x", "type": "old"}, {"value": "a@x.example"}]}));
    for emails in [
        json!([{"value": "x", "type": "new"}, {"value": "b@x.example"}]),
        json!([{"value": "b@x.example"}, {"value": "x"}]),
        json!([{"value": "x"}]),
        json!([{"value": "x"}, {"value": "x"}, {"value": "c@x.example", "primary": true}]),
    ] {
        let body = json!({"emails": emails, "email": null});
        let after = replace(&before, &body).expect("the invalid value is a stored one");
        assert_eq!(view(&after)["emails"], emails);
    }
    let body = json!({"email": null, "emails": [{"value": "x"}, {"value": "y"}]});
    let found = [("/emails/1/value".to_owned(), ViolationCode::InvalidEmail)];
    assert_eq!(faults(replace(&before, &body)), found);
    // It is excused only in its own part.
    let moved = json!({"email": null, "emails": [{"value": "old"}]});
    assert_eq!(faults(replace(&before, &moved)).len(), 1);
}

#[test]
fn values_of_another_user_or_member_excuse_nothing() {
    let before = stored(&json!({"locale": "klingon!"}));
    let found = faults_of_both(&before, &json!({"preferred_language": "klingon!"}));
    assert_eq!(found, [("/preferred_language".to_owned(), ViolationCode::InvalidLanguageTag)]);
    let fresh = user(&json!({"username": "ada"}));
    assert_eq!(faults_of_both(&fresh, &json!({"locale": "klingon!"})).len(), 1);
}

#[test]
fn an_invalid_short_form_as_stored_may_be_sent_alone() {
    let before = stored(&json!({"emails": [{"value": "x", "type": "work"}]}));
    let after = replace(&before, &json!({"email": "x"})).expect("as stored");
    assert_eq!(view(&after)["emails"], json!([{"value": "x", "type": "work", "primary": true}]));
}

#[test]
fn an_invalid_value_may_become_the_primary_one() {
    let before = stored(&json!({"emails": [{"value": "a@x.example"}, {"value": "x"}]}));
    let after = patch(&before, &json!({"email": "x"})).expect("a stored value");
    let moved = json!([{"value": "a@x.example"}, {"value": "x", "primary": true}]);
    assert_eq!(view(&after)["emails"], moved);
}

#[test]
fn values_that_cannot_be_parsed_are_never_excused() {
    let before = stored(&json!({"name": "Ada"}));
    for body in [json!({"name": 1}), json!({"nmae": "Ada"}), json!({"status": "gone"})] {
        assert_eq!(faults_of_both(&before, &body).len(), 1, "{body}");
    }
}
