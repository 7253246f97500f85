//! Parsing a body: every member with every kind of violation, and all violations together.

use roster_core::{
    Attribute, Draft, Refusal, ViolationCode,
    attribute::{Kind, PartKind, Shape, TextRule},
    limits::{ADDRESSES_MAX, ENTRIES_MAX},
};
use serde_json::{Value, json};

use crate::support::{create, faults, faults_of_every_write, tree, user, view};

/// One value of each JSON type except `null`, which means absent.
fn types() -> [(&'static str, Value); 5] {
    [
        ("boolean", json!(true)),
        ("number", json!(7)),
        ("string", json!("x")),
        ("array", json!([1])),
        ("object", json!({"x": 1})),
    ]
}

fn one(name: &str, value: Value) -> Value {
    let mut body = json!({});
    body[name] = value;
    body
}

fn expect(body: &Value, pointer: &str, code: ViolationCode) {
    assert_eq!(faults_of_every_write(body), [(pointer.to_owned(), code)], "{body}");
}

/// A valid value for this rule.
fn valid_text(rule: TextRule) -> &'static str {
    match rule {
        TextRule::Plain
        | TextRule::Name
        | TextRule::EntryText
        | TextRule::AddressLines
        | TextRule::Username => "x",
        TextRule::Email => "x@example.com",
        TextRule::PhoneNumber => "+44 20",
        TextRule::Url => "https://example.com/",
        TextRule::LanguageTag => "en",
        TextRule::Zone => "Europe/London",
        TextRule::Time => "2027-01-31T12:00:00.000Z",
        TextRule::Country => "GB",
        TextRule::Certificate => "AAAA",
    }
}

/// A pointer to a text, its rule, and a function that returns a body with a text there.
type TextCase = (String, TextRule, Box<dyn Fn(&str) -> Value>);

/// Every text member and every text part of the table.
fn text_cases() -> Vec<TextCase> {
    let mut cases: Vec<TextCase> = Vec::new();
    for attribute in Attribute::ALL {
        let name = attribute.name();
        match attribute.kind() {
            Kind::Text(rule) | Kind::ShortForm { rule, .. } => {
                let send = move |text: &str| one(name, json!(text));
                cases.push((format!("/{name}"), rule, Box::new(send)));
            }
            Kind::One(shape) => {
                for (part, kind) in shape.parts {
                    let PartKind::Text(rule) = *kind else { continue };
                    let part = part.name();
                    let send = move |text: &str| {
                        let mut entry = valid_entry(shape);
                        entry[part] = json!(text);
                        one(name, entry)
                    };
                    cases.push((format!("/{name}/{part}"), rule, Box::new(send)));
                }
            }
            Kind::Many(shape) => {
                for (part, kind) in shape.parts {
                    let PartKind::Text(rule) = *kind else { continue };
                    let part = part.name();
                    let send = move |text: &str| {
                        let mut entry = valid_entry(shape);
                        entry[part] = json!(text);
                        one(name, json!([entry]))
                    };
                    cases.push((format!("/{name}/0/{part}"), rule, Box::new(send)));
                }
            }
            Kind::ServerMade | Kind::Mark | Kind::Status | Kind::Flag { .. } | Kind::Object => {}
        }
    }
    cases
}

fn valid_entry(shape: &Shape) -> Value {
    let mut entry = json!({});
    for (part, kind) in shape.parts {
        if let PartKind::Text(rule) = kind
            && shape.required.is_none_or(|required| required == *part)
        {
            entry[part.name()] = json!(valid_text(*rule));
        }
    }
    entry
}

#[test]
fn every_text_of_the_table_accepts_a_valid_value() {
    let cases = text_cases();
    assert!(cases.len() > 50, "the whole table is covered");
    for (pointer, rule, send) in cases {
        let mut body = send(valid_text(rule));
        if body.get("username").is_none() {
            body["username"] = json!("ada");
        }
        let seen = view(&user(&body));
        assert_eq!(seen.pointer(&pointer), Some(&json!(valid_text(rule))), "{pointer}");
    }
}

#[test]
fn every_member_rejects_every_other_type() {
    for attribute in Attribute::ALL {
        let accepted = match attribute.kind() {
            Kind::ServerMade => continue,
            Kind::Status | Kind::Text(_) | Kind::ShortForm { .. } => "string",
            Kind::Flag { .. } | Kind::Mark => "boolean",
            Kind::One(_) | Kind::Object => "object",
            Kind::Many(_) => "array",
        };
        let name = attribute.name();
        for (kind, value) in types() {
            if kind != accepted {
                expect(&one(name, value), &format!("/{name}"), ViolationCode::WrongType);
            }
        }
    }
}

#[test]
fn every_part_rejects_every_other_type() {
    for attribute in Attribute::ALL {
        let (Kind::Many(shape) | Kind::One(shape)) = attribute.kind() else { continue };
        let is_list = matches!(attribute.kind(), Kind::Many(_));
        let name = attribute.name();
        for (part, kind) in shape.parts {
            let accepted = if matches!(kind, PartKind::Flag) { "boolean" } else { "string" };
            for (kind, value) in types() {
                if kind == accepted {
                    continue;
                }
                let mut entry = valid_entry(shape);
                entry[part.name()] = value;
                let part = part.name();
                let (body, pointer) = if is_list {
                    (one(name, json!([entry])), format!("/{name}/0/{part}"))
                } else {
                    (one(name, entry), format!("/{name}/{part}"))
                };
                let found = faults_of_every_write(&body);
                assert!(found.contains(&(pointer, ViolationCode::WrongType)), "{body} {found:?}");
            }
        }
        if is_list {
            for value in [json!("x"), json!(1), json!(true), json!(null), json!([])] {
                let body = one(name, json!([valid_entry(shape), value]));
                expect(&body, &format!("/{name}/1"), ViolationCode::WrongType);
            }
        }
    }
}

#[test]
fn every_text_rejects_one_code_point_too_many() {
    for (pointer, rule, send) in text_cases() {
        let max = rule.length_max();
        // Each character has four bytes, so bytes and code points differ.
        let text = "\u{1f600}".repeat(max + 1);
        expect(&send(&text), &pointer, ViolationCode::TooLong);
        let plain = [TextRule::Plain, TextRule::EntryText, TextRule::AddressLines];
        if rule == TextRule::Name || plain.contains(&rule) {
            let mut body = send(&"\u{1f600}".repeat(max));
            body["username"] = json!("ada");
            create(&body).expect("as long as it may be");
        }
    }
}

#[test]
fn lengths_are_counted_after_normalization() {
    let decomposed = "e\u{301}".repeat(256);
    let made = user(&json!({"username": "ada", "name": decomposed}));
    assert_eq!(view(&made)["name"], "\u{e9}".repeat(256));
}

#[test]
fn every_text_rejects_control_characters() {
    for (pointer, rule, send) in text_cases() {
        for control in ["\0", "\u{1}", "\u{1b}", "\u{7f}", "\u{85}"] {
            let text = format!("{}{control}", valid_text(rule));
            expect(&send(&text), &pointer, ViolationCode::ControlCharacter);
        }
        for line_break in ["\t", "\r", "\n"] {
            let body = send(&format!("a{line_break}b"));
            if rule == TextRule::AddressLines {
                let mut body = body;
                body["username"] = json!("ada");
                create(&body).expect("an address has lines");
            } else {
                expect(&body, &pointer, ViolationCode::ControlCharacter);
            }
        }
    }
}

#[test]
fn every_list_rejects_one_entry_too_many() {
    for attribute in Attribute::ALL {
        let Kind::Many(shape) = attribute.kind() else { continue };
        let max = if *attribute == Attribute::Addresses { ADDRESSES_MAX } else { ENTRIES_MAX };
        let name = attribute.name();
        let list = |count: usize| one(name, vec![valid_entry(shape); count].into());
        expect(&list(max + 1), &format!("/{name}"), ViolationCode::TooMany);
        let mut fitting = list(max);
        fitting["username"] = json!("ada");
        create(&fitting).expect("as many as there may be");
    }
}

#[test]
fn every_list_rejects_a_second_primary_entry() {
    for attribute in Attribute::ALL {
        let Kind::Many(shape) = attribute.kind() else { continue };
        let name = attribute.name();
        let entry = |primary: bool| {
            let mut entry = valid_entry(shape);
            entry["primary"] = json!(primary);
            entry
        };
        let body = one(name, json!([entry(true), entry(false), entry(true)]));
        expect(&body, &format!("/{name}/2/primary"), ViolationCode::DuplicatePrimary);
    }
}

#[test]
fn pointers_count_items_that_are_not_entries() {
    let bad = |value: &str| json!({"value": value, "primary": true});
    let body = json!({"emails": [3, bad("a@example.com"), null, bad("x")]});
    let found = [
        ("/emails/0".to_owned(), ViolationCode::WrongType),
        ("/emails/2".to_owned(), ViolationCode::WrongType),
        ("/emails/3/value".to_owned(), ViolationCode::InvalidEmail),
        ("/emails/3/primary".to_owned(), ViolationCode::DuplicatePrimary),
    ];
    assert_eq!(faults_of_every_write(&body), found);
}

#[test]
fn an_entry_without_a_required_part_is_rejected() {
    for (body, pointer) in [
        (json!({"emails": [{}]}), "/emails/0/value"),
        (json!({"emails": [{"value": null, "type": "x"}]}), "/emails/0/value"),
        (json!({"roles": [{"display": "x"}]}), "/roles/0/value"),
        (json!({"addresses": [{"type": "home"}, {}]}), "/addresses/1"),
        (json!({"addresses": [{"country": null}]}), "/addresses/0"),
        (json!({"manager": {}}), "/manager/id"),
        (json!({"manager": {"id": null}}), "/manager/id"),
        (json!({"emails": [{"value": "", "type": "x"}]}), "/emails/0/value"),
        (json!({"roles": [{"value": "a"}, {"value": ""}]}), "/roles/1/value"),
        (json!({"addresses": [{"country": "", "locality": ""}]}), "/addresses/0"),
        (json!({"manager": {"id": ""}}), "/manager/id"),
    ] {
        expect(&body, pointer, ViolationCode::Required);
    }
}

#[test]
fn an_empty_part_that_is_not_required_is_absent() {
    let user = user(&json!({
        "username": "ada", "emails": [{"value": "a@example.com", "type": "", "display": ""}],
        "addresses": [{"country": "", "locality": "Graz"}], "manager": {"id": "7", "ref": ""},
    }));
    let view = view(&user);
    assert_eq!(view["emails"], json!([{"value": "a@example.com"}]));
    assert_eq!(view["addresses"], json!([{"locality": "Graz"}]));
    assert_eq!(view["manager"], json!({"id": "7"}));
}

#[test]
fn every_text_is_stored_as_nfc() {
    for (pointer, rule, send) in text_cases() {
        if matches!(
            rule,
            TextRule::Plain
                | TextRule::Name
                | TextRule::EntryText
                | TextRule::AddressLines
                | TextRule::Username
        ) {
            let mut body = send("Zoe\u{308}");
            if body.get("username").is_none() {
                body["username"] = json!("ada");
            }
            assert_eq!(view(&user(&body)).pointer(&pointer), Some(&json!("Zo\u{eb}")), "{pointer}");
        }
    }
}

#[test]
fn null_and_empty_and_absent_mean_the_same() {
    let bare = user(&json!({"username": "ada"}));
    for attribute in Attribute::ALL {
        if *attribute == Attribute::Username {
            continue;
        }
        let mut forms = vec![Value::Null];
        match attribute.kind() {
            Kind::Many(_) => forms.push(json!([])),
            Kind::Object => forms.push(json!({})),
            Kind::Text(_) | Kind::ShortForm { .. } => forms.push(json!("")),
            Kind::ServerMade | Kind::Mark | Kind::Status | Kind::Flag { .. } | Kind::One(_) => {}
        }
        for form in forms {
            let mut body = one(attribute.name(), form);
            body["username"] = json!("ada");
            assert_eq!(create(&body), Ok(bare.clone()), "{body}");
        }
    }
}

#[test]
fn an_unknown_member_is_rejected_with_a_suggestion() {
    let detail = |name: &str| {
        let body = one(name, json!("x"));
        let mut created = body.clone();
        created["username"] = json!("ada");
        let Err(Refusal::Invalid(violations)) = create(&created) else {
            panic!("{name} is not rejected")
        };
        let [violation] = violations.items() else { panic!("{violations:?}") };
        assert_eq!(violation.code, ViolationCode::UnknownMember);
        violation.detail.to_string()
    };
    for (name, meant) in [
        ("nmae", "name"),
        ("userName", "username"),
        ("givenName", "given_name"),
        ("Email", "email"),
        ("emial", "email"),
        ("firstname", "given_name"),
        ("phoneNumber", "phone_number"),
        ("locale ", "locale"),
    ] {
        assert_eq!(detail(name), format!("did you mean {meant}?"));
    }
    assert!(detail("blood_group").contains("attributes"));
    assert!(detail("").contains("attributes"));
    expect(&json!({"a/b~c": 1}), "/a~1b~0c", ViolationCode::UnknownMember);
    expect(
        &json!({"manager": {"id": "1", "name": "x"}}),
        "/manager/name",
        ViolationCode::UnknownMember,
    );
    let body = json!({"addresses": [{"contry": "GB", "type": "x"}]});
    expect(&body, "/addresses/0/contry", ViolationCode::UnknownMember);
}

#[test]
fn a_password_is_rejected_with_the_reason() {
    for name in ["password", "passwd", "password_hash", "passwordHash"] {
        for value in [json!("secret"), json!(1), json!({})] {
            let body = one(name, value);
            expect(&body, &format!("/{name}"), ViolationCode::PasswordNotKept);
        }
    }
}

#[test]
fn a_violation_never_repeats_the_value() {
    let secret = "correct horse";
    for (pointer, _, send) in text_cases() {
        for text in [format!("{secret}\u{1}"), secret.repeat(2000)] {
            let mut body = send(&text);
            if body.get("username").is_none() {
                body["username"] = json!("ada");
            }
            let Err(Refusal::Invalid(violations)) = create(&body) else { panic!("{pointer}") };
            for violation in violations {
                assert!(!violation.detail.contains(secret), "{pointer}: {}", violation.detail);
            }
        }
    }
}

#[test]
fn a_user_must_be_an_object() {
    for body in [json!([]), json!("x"), json!(1), json!(null), json!(true)] {
        assert_eq!(faults(create(&body)), [(String::new(), ViolationCode::WrongType)]);
    }
}

#[test]
fn a_new_user_needs_a_username_or_an_email_and_nothing_else() {
    user(&json!({"username": "ada"}));
    user(&json!({"email": "ada@example.com"}));
    user(&json!({"emails": [{"value": "ada@example.com"}]}));
    let required = [("/username".to_owned(), ViolationCode::Required)];
    for body in [json!({}), json!({"name": "Ada"}), json!({"username": null, "emails": []})] {
        assert_eq!(faults(create(&body)), required, "{body}");
    }
    assert_eq!(faults(create(&json!({"username": "", "email": ""}))), required);
    let user = user(&json!({"username": "", "email": "a@example.com"}));
    assert_eq!(view(&user)["username"], "a@example.com");
}

#[test]
fn any_valid_address_is_the_username_of_a_user_without_one() {
    let address = "\"a  b\"@example.com";
    let seen = view(&user(&json!({"email": address})));
    assert_eq!((&seen["username"], &seen["username_from_email"]), (&json!(address), &json!(true)));
    // Sent as a username it is judged as one, unless an export marks it as the address.
    let mut body = json!({"email": address, "username": address});
    let found = [("/username".to_owned(), ViolationCode::InvalidUsername)];
    assert_eq!(faults(create(&body)), found);
    body["username_from_email"] = json!(true);
    assert_eq!(view(&user(&body))["username_from_email"], json!(true));
    body["username"] = json!("ada");
    assert_eq!(view(&user(&body)).get("username_from_email"), None);
    // An invalid address has its own violation and no second one.
    let found = [("/email".to_owned(), ViolationCode::InvalidEmail)];
    assert_eq!(faults(create(&json!({"email": "nobody"}))), found);
}

#[test]
fn all_violations_are_reported_together() {
    let body = json!({
        "id": 7, "version": "x", "nmae": "Ada", "password": "secret", "name": 7,
        "given_name": "x".repeat(257), "family_name": "a\u{7}", "status": "gone",
        "username": " ada", "email": "nobody", "email_verified": "yes",
        "emails": [{"value": "a@example.com", "primary": true}, {"value": "b", "primary": true}, 3],
        "phone_number": "call me", "picture": "ada.png", "profile": "http:", "locale": "en,de",
        "zoneinfo": "europe/berlin", "preferred_language": "?",
        "addresses": [{"country": "UK", "stret": "x"}, {}], "manager": {"id": "a\nb"},
        "x509_certificates": [{"value": "*"}], "roles": "admin",
        "attributes": {"a": [[[[[[[[1]]]]]]]], "b": "\u{0}"},
    });
    let current = crate::support::stored(&json!({}));
    let Err(Refusal::Invalid(violations)) = crate::support::replace(&current, &body) else {
        panic!("not rejected")
    };
    let lines: Vec<String> = violations
        .items()
        .iter()
        .map(|violation| {
            format!("{}  {}  {}", violation.pointer, violation.code.as_str(), violation.detail)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_draft_is_parsed_from_any_json_without_a_panic() {
    for attribute in Attribute::ALL {
        for (_, value) in types() {
            let deep = json!([{"value": value, "": [value]}, value, null]);
            for sent in [value, deep] {
                drop(Draft::parse(tree(&one(attribute.name(), sent))));
            }
        }
    }
}
