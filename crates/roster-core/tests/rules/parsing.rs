//! Reading a body: every member against every kind of fault, and all faults at once.

use roster_core::{
    Attribute, Draft, Refusal, ViolationCode,
    attribute::{Kind, PartKind, Shape, TextRule},
    limits::{ADDRESSES_MAX, ENTRIES_MAX},
};
use serde_json::{Value, json};

use crate::support::{create, faults, faults_of_every_write, tree, user, view};

/// One value of each JSON type, without `null`, which is absence.
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

/// A value that every rule of this kind takes.
fn valid_text(rule: TextRule) -> &'static str {
    match rule {
        TextRule::Plain | TextRule::AddressLines | TextRule::Username => "x",
        TextRule::Email => "x@example.com",
        TextRule::PhoneNumber => "+44 20",
        TextRule::Url => "https://example.com/",
        TextRule::LanguageTag => "en",
        TextRule::Zone => "Europe/London",
        TextRule::Country => "GB",
        TextRule::Certificate => "AAAA",
    }
}

/// A place of the table, the rule of its text, and the body that has a text there.
type TextPlace = (String, TextRule, Box<dyn Fn(&str) -> Value>);

/// Every text member and every text part of the table: how to send a text there, and its place.
fn text_places() -> Vec<TextPlace> {
    let mut places: Vec<TextPlace> = Vec::new();
    for attribute in Attribute::ALL {
        let name = attribute.name();
        match attribute.kind() {
            Kind::Text(rule) | Kind::ShortForm { rule, .. } => {
                let send = move |text: &str| one(name, json!(text));
                places.push((format!("/{name}"), rule, Box::new(send)));
            }
            Kind::One(shape) => {
                for (part, kind) in shape.parts {
                    let PartKind::Text(rule) = *kind else { continue };
                    let part = part.name();
                    let send = move |text: &str| one(name, one(part, json!(text)));
                    places.push((format!("/{name}/{part}"), rule, Box::new(send)));
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
                    places.push((format!("/{name}/0/{part}"), rule, Box::new(send)));
                }
            }
            Kind::ServerMade | Kind::Status | Kind::Flag { .. } | Kind::Object => {}
        }
    }
    places
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
fn every_text_of_the_table_takes_a_valid_value() {
    let places = text_places();
    assert!(places.len() > 50, "the whole table is walked");
    for (place, rule, send) in places {
        let mut body = send(valid_text(rule));
        if body.get("username").is_none() {
            body["username"] = json!("ada");
        }
        let seen = view(&user(&body));
        assert_eq!(seen.pointer(&place), Some(&json!(valid_text(rule))), "{place}");
    }
}

#[test]
fn every_member_refuses_every_other_type() {
    for attribute in Attribute::ALL {
        let taken = match attribute.kind() {
            Kind::ServerMade => continue,
            Kind::Status | Kind::Text(_) | Kind::ShortForm { .. } => "string",
            Kind::Flag { .. } => "boolean",
            Kind::One(_) | Kind::Object => "object",
            Kind::Many(_) => "array",
        };
        let name = attribute.name();
        for (kind, value) in types() {
            if kind != taken {
                expect(&one(name, value), &format!("/{name}"), ViolationCode::WrongType);
            }
        }
    }
}

#[test]
fn every_part_refuses_every_other_type() {
    for attribute in Attribute::ALL {
        let (Kind::Many(shape) | Kind::One(shape)) = attribute.kind() else { continue };
        let is_list = matches!(attribute.kind(), Kind::Many(_));
        let name = attribute.name();
        for (part, kind) in shape.parts {
            let taken = if matches!(kind, PartKind::Flag) { "boolean" } else { "string" };
            for (kind, value) in types() {
                if kind == taken {
                    continue;
                }
                let mut entry = valid_entry(shape);
                entry[part.name()] = value;
                let part = part.name();
                let (body, place) = if is_list {
                    (one(name, json!([entry])), format!("/{name}/0/{part}"))
                } else {
                    (one(name, entry), format!("/{name}/{part}"))
                };
                let found = faults_of_every_write(&body);
                assert!(found.contains(&(place, ViolationCode::WrongType)), "{body} {found:?}");
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
fn every_text_refuses_one_code_point_too_many() {
    for (place, rule, send) in text_places() {
        let max = rule.length_max();
        // Of four bytes each, so that bytes and code points cannot be confused.
        let text = "\u{1f600}".repeat(max + 1);
        expect(&send(&text), &place, ViolationCode::TooLong);
        if matches!(rule, TextRule::Plain | TextRule::AddressLines) {
            let mut body = send(&"\u{1f600}".repeat(max));
            body["username"] = json!("ada");
            create(&body).expect("as long as it may be");
        }
    }
}

#[test]
fn lengths_are_counted_after_normalisation() {
    let decomposed = "e\u{301}".repeat(256);
    let made = user(&json!({"username": "ada", "name": decomposed}));
    assert_eq!(view(&made)["name"], "\u{e9}".repeat(256));
}

#[test]
fn every_text_refuses_control_characters() {
    for (place, rule, send) in text_places() {
        for control in ["\0", "\u{1}", "\u{1b}", "\u{7f}", "\u{85}"] {
            let text = format!("{}{control}", valid_text(rule));
            expect(&send(&text), &place, ViolationCode::ControlCharacter);
        }
        for line_break in ["\t", "\r", "\n"] {
            let body = send(&format!("a{line_break}b"));
            if rule == TextRule::AddressLines {
                let mut body = body;
                body["username"] = json!("ada");
                create(&body).expect("an address has lines");
            } else {
                expect(&body, &place, ViolationCode::ControlCharacter);
            }
        }
    }
}

#[test]
fn every_list_refuses_one_entry_too_many() {
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
fn every_list_refuses_a_second_primary_entry() {
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
fn places_count_what_is_no_entry() {
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
fn an_entry_without_what_it_needs_is_refused() {
    for (body, pointer) in [
        (json!({"emails": [{}]}), "/emails/0/value"),
        (json!({"emails": [{"value": null, "type": "x"}]}), "/emails/0/value"),
        (json!({"roles": [{"display": "x"}]}), "/roles/0/value"),
        (json!({"addresses": [{"type": "home"}, {}]}), "/addresses/1"),
        (json!({"addresses": [{"country": null}]}), "/addresses/0"),
        (json!({"manager": {}}), "/manager/id"),
        (json!({"manager": {"id": null}}), "/manager/id"),
    ] {
        expect(&body, pointer, ViolationCode::Required);
    }
}

#[test]
fn every_text_is_kept_as_nfc() {
    for (place, rule, send) in text_places() {
        if matches!(rule, TextRule::Plain | TextRule::AddressLines | TextRule::Username) {
            let mut body = send("Zoe\u{308}");
            if body.get("username").is_none() {
                body["username"] = json!("ada");
            }
            assert_eq!(view(&user(&body)).pointer(&place), Some(&json!("Zo\u{eb}")), "{place}");
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
            Kind::ServerMade
            | Kind::Status
            | Kind::Text(_)
            | Kind::ShortForm { .. }
            | Kind::Flag { .. }
            | Kind::One(_) => {}
        }
        for form in forms {
            let mut body = one(attribute.name(), form);
            body["username"] = json!("ada");
            assert_eq!(create(&body), Ok(bare.clone()), "{body}");
        }
    }
}

#[test]
fn an_unknown_member_is_refused_with_the_one_that_was_meant() {
    let detail = |name: &str| {
        let body = one(name, json!("x"));
        let mut created = body.clone();
        created["username"] = json!("ada");
        let Err(Refusal::Invalid(violations)) = create(&created) else {
            panic!("{name} is refused")
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
fn a_password_is_refused_with_the_reason() {
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
    for (place, _, send) in text_places() {
        for text in [format!("{secret}\u{1}"), secret.repeat(2000)] {
            let mut body = send(&text);
            if body.get("username").is_none() {
                body["username"] = json!("ada");
            }
            let Err(Refusal::Invalid(violations)) = create(&body) else { panic!("{place}") };
            for violation in violations {
                assert!(!violation.detail.contains(secret), "{place}: {}", violation.detail);
            }
        }
    }
}

#[test]
fn what_is_no_object_is_no_user() {
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
    let short = [("/username".to_owned(), ViolationCode::TooShort)];
    assert_eq!(faults(create(&json!({"username": "", "email": "a@example.com"}))), short);
}

#[test]
fn a_default_username_that_cannot_be_one_is_told_with_all_other_faults() {
    let body = json!({"email": "\"a  b\"@example.com", "locale": "?"});
    let found = [
        ("/locale".to_owned(), ViolationCode::InvalidLanguageTag),
        ("/username".to_owned(), ViolationCode::InvalidUsername),
    ];
    assert_eq!(faults(create(&body)), found);
    // An address that is none has its own fault, and no second one.
    let found = [("/email".to_owned(), ViolationCode::InvalidEmail)];
    assert_eq!(faults(create(&json!({"email": "nobody"}))), found);
}

#[test]
fn all_violations_are_told_at_once() {
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
        panic!("refused")
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
fn a_draft_is_read_from_any_json_without_a_panic() {
    for attribute in Attribute::ALL {
        for (_, value) in types() {
            let deep = json!([{"value": value, "": [value]}, value, null]);
            for sent in [value, deep] {
                drop(Draft::parse(tree(&one(attribute.name(), sent))));
            }
        }
    }
}
