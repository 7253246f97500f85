//! `email_verified` and `phone_number_verified` belong to the primary value only.

use serde_json::{Value, json};

use crate::support::{patch, replace, user, view};

const FLAGS: [(&str, &str, [&str; 3]); 2] = [
    ("email", "email_verified", ["a@example.com", "b@example.com", "A@Example.com"]),
    ("phone_number", "phone_number_verified", ["+44 20 01", "+44 20 02", "+44 (20) 01"]),
];

fn body(short: &str, value: &str, flag: &str, said: Value) -> Value {
    let mut body = json!({"username": "ada"});
    body[short] = json!(value);
    body[flag] = said;
    body
}

#[test]
fn a_create_sets_the_flag_of_its_body() {
    for (short, flag, [value, ..]) in FLAGS {
        for said in [json!(true), json!(false)] {
            assert_eq!(view(&user(&body(short, value, flag, said.clone())))[flag], said);
        }
        let unsaid = user(&body(short, value, flag, Value::Null));
        assert_eq!(view(&unsaid).get(flag), None);
    }
}

#[test]
fn a_replacement_that_changes_the_value_resets_the_flag() {
    for (short, flag, [value, other, _]) in FLAGS {
        let before = user(&body(short, value, flag, json!(true)));
        for said in [json!(true), json!(false), Value::Null] {
            let after = replace(&before, &body(short, other, flag, said)).expect("valid");
            assert_eq!(view(&after)[flag], false);
        }
    }
}

#[test]
fn a_replacement_that_keeps_the_value_or_its_key_may_set_the_flag() {
    for (short, flag, [value, _, respelled]) in FLAGS {
        let before = user(&body(short, value, flag, json!(false)));
        for kept in [value, respelled] {
            let after = replace(&before, &body(short, kept, flag, json!(true))).expect("valid");
            assert_eq!(view(&after)[flag], true, "{kept}");
        }
    }
}

#[test]
fn a_replacement_that_moves_the_primary_flag_changes_the_value() {
    let list = |first: bool| {
        json!([
            {"value": "a@example.com", "primary": first},
            {"value": "b@example.com", "primary": !first},
        ])
    };
    let before = user(&json!({"username": "ada", "emails": list(true), "email_verified": true}));
    let moved = json!({"emails": list(false), "email_verified": true});
    assert_eq!(view(&replace(&before, &moved).expect("valid"))["email_verified"], false);
}

#[test]
fn a_patch_sets_the_flag_that_it_names_and_resets_it_if_only_the_value_changes() {
    for (short, flag, [value, other, respelled]) in FLAGS {
        let before = user(&body(short, value, flag, json!(true)));
        let mut both = json!({});
        both[short] = json!(other);
        let alone = both.clone();
        both[flag] = json!(true);
        assert_eq!(view(&patch(&before, &both).expect("valid"))[flag], true);
        assert_eq!(view(&patch(&before, &alone).expect("valid"))[flag], false);
        let mut spelled = json!({});
        spelled[short] = json!(respelled);
        assert_eq!(view(&patch(&before, &spelled).expect("valid"))[flag], true);
        let mut named = json!({});
        named[flag] = json!(false);
        assert_eq!(view(&patch(&before, &named).expect("valid"))[flag], false);
        let unrelated = patch(&before, &json!({"name": "Ada"})).expect("valid");
        assert_eq!(view(&unrelated)[flag], true);
    }
}

#[test]
fn without_a_value_there_is_no_flag() {
    for (short, flag, [value, ..]) in FLAGS {
        let mut without_value = json!({"username": "ada"});
        without_value[flag] = json!(true);
        assert_eq!(view(&user(&without_value)).get(flag), None);
        let before = user(&body(short, value, flag, json!(true)));
        let after = replace(&before, &without_value).expect("valid");
        assert_eq!(view(&after).get(flag), None);
    }
}
