//! The record over HTTP: valid bodies, their results, and errors.

use roster_core::ViolationCode;
use serde_json::{Value, json};

use crate::service::{Backend, path};

pub(crate) async fn an_email_is_enough_for_a_user(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"email": "Ada@Example.com", "name": "Ada"})).await;
    assert_eq!(user["username"], "Ada@Example.com");
    assert_eq!(user["email"], "Ada@Example.com");
    assert_eq!(user["status"], "active");
    assert_eq!(user["emails"], json!([{"value": "Ada@Example.com", "primary": true}]));
}

pub(crate) async fn a_username_is_enough_for_a_user(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    assert_eq!(user.get("email"), None);
    assert_eq!(user.get("emails"), None);
}

pub(crate) async fn a_username_that_is_the_email_follows_it(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"email": "ada@example.com"})).await;
    assert_eq!(user["username_from_email"], true);
    let user = service.put(&user, json!({"email": "king@example.com"})).await.expect(200).json();
    assert_eq!(user["username"], "king@example.com");
    assert_eq!(user["email"], "king@example.com");
}

/// Each row: the body of a PUT on a user with home `a` and work `b` (primary), and the resulting
/// list, or `None` if short form and list contradict each other.
fn rows() -> Vec<(Value, Option<Value>)> {
    let (a, b, c) = ("a@x.org", "b@x.org", "c@x.org");
    let as_stored = json!([{"value": a, "type": "home"},
        {"value": b, "type": "work", "primary": true}]);
    vec![
        // Only the short form.
        (json!({"email": c}), Some(json!([{"value": c, "primary": true}]))),
        (json!({"email": a}), Some(json!([{"value": a, "type": "home", "primary": true}]))),
        // Only the list, to which no flag is added.
        (json!({"emails": [{"value": c}]}), Some(json!([{"value": c}]))),
        // Neither.
        (json!({}), Some(Value::Null)),
        (json!({"email": null, "emails": []}), Some(Value::Null)),
        // Both, in agreement.
        (json!({"email": c, "emails": [{"value": c}]}), Some(json!([{"value": c}]))),
        // The short form as stored: the list rules.
        (json!({"email": b, "emails": [{"value": c}]}), Some(json!([{"value": c}]))),
        // The list as stored: the short form rules.
        (
            json!({"email": c, "emails": as_stored}),
            Some(json!([{"value": a, "type": "home"},
                {"value": c, "type": "work", "primary": true}])),
        ),
        (
            json!({"email": a, "emails": as_stored}),
            Some(json!([{"value": a, "type": "home", "primary": true},
                {"value": b, "type": "work"}])),
        ),
        // Both changed, to different values.
        (json!({"email": c, "emails": [{"value": "d@x.org"}]}), None),
    ]
}

pub(crate) async fn the_short_form_and_its_list_follow_the_documented_table(backend: Backend) {
    let service = backend.open().await;
    let stored = json!({"username": "ada", "emails": [{"value": "a@x.org", "type": "home"},
        {"value": "b@x.org", "type": "work", "primary": true}]});
    let user = service.user(stored.clone()).await;
    for (body, expected) in rows() {
        service.put(&user, stored.clone()).await.expect(200);
        let reply = service.put(&user, body.clone()).await;
        if let Some(list) = expected {
            assert_eq!(reply.expect(200).json()["emails"], list, "{body}");
        } else {
            let faults = reply.refused(422, "invalid-user").faults();
            let conflict = ("/email".to_owned(), "conflicting-short-form".to_owned());
            assert_eq!(faults, [conflict], "{body}");
        }
    }
}

pub(crate) async fn a_patch_of_the_short_form_moves_the_primary_entry(backend: Backend) {
    let service = backend.open().await;
    let user = service
        .user(json!({"emails": [{"value": "a@x.org", "type": "home"}, {"value": "b@x.org"}]}))
        .await;
    let reply = service.patch(&user, json!({"email": "c@x.org"})).await.expect(200);
    let list = json!([{"value": "c@x.org", "type": "home"}, {"value": "b@x.org"}]);
    assert_eq!(reply.json()["emails"], list);
    let reply = service.patch(&user, json!({"email": "b@x.org"})).await.expect(200);
    let list = json!([{"value": "c@x.org", "type": "home"}, {"value": "b@x.org", "primary": true}]);
    assert_eq!(reply.json()["emails"], list);
    assert_eq!(reply.json()["email"], "b@x.org");
}

pub(crate) async fn a_patch_that_removes_the_short_form_clears_its_only_entry(backend: Backend) {
    let service = backend.open().await;
    for (short, list, one, two) in [
        ("email", "emails", "a@x.org", "b@x.org"),
        ("phone_number", "phone_numbers", "+1 22", "+1 33"),
        ("picture", "photos", "https://x.org/a", "https://x.org/b"),
    ] {
        let user = service.user(json!({"username": short, short: one, "title": "Dr."})).await;
        let reply = service.patch(&user, json!({short: null})).await.expect(200).json();
        assert_eq!((reply.get(short), reply.get(list)), (None, None), "{reply}");
        assert_eq!((&reply["version"], &reply["title"]), (&json!(2), &json!("Dr.")), "{reply}");
        // A member that is already absent may be removed again.
        let reply = service.patch(&user, json!({short: null})).await.expect(200).json();
        assert_eq!(reply["version"], 2);
        // Nothing determines which of several entries becomes the primary one.
        let entries = json!([{"value": one, "primary": true}, {"value": two}]);
        service.patch(&user, json!({list: entries})).await.expect(200);
        let refused = service.patch(&user, json!({short: null})).await;
        let refused = refused.refused(422, "invalid-user");
        let fault = (format!("/{short}"), "conflicting-short-form".to_owned());
        assert_eq!(refused.faults(), [fault]);
        assert!(refused.text().contains(&format!("send {list} with those to keep")));
        // The patch that has both determines it.
        let body = json!({short: null, list: [{"value": two}]});
        let reply = service.patch(&user, body).await.expect(200).json();
        assert_eq!(reply[short], two);
        let both = json!({short: null, list: null});
        let reply = service.patch(&user, both).await.expect(200).json();
        assert_eq!((reply.get(short), reply.get(list)), (None, None));
    }
}

pub(crate) async fn a_password_is_refused_with_the_reason(backend: Backend) {
    let service = backend.open().await;
    let reply = service.post(json!({"username": "ada", "password": "hunter2"})).await;
    let reply = reply.refused(422, "invalid-user");
    let fault = ("/password".to_owned(), "password-not-kept".to_owned());
    assert_eq!(reply.faults(), [fault]);
    assert!(!reply.text().contains("hunter2"));
}

pub(crate) async fn an_unknown_member_is_refused_with_the_one_that_was_meant(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "nmae": "Ada", "e~mail/s": 1,
        "emails": [{"value": "a@x.org", "tpye": "home"}], "zzzzzz": null});
    let reply = service.post(body).await.refused(422, "invalid-user");
    let errors = reply.json()["errors"].clone();
    let told = |pointer: &str| {
        let errors = errors.as_array().expect("errors");
        let found = errors.iter().find(|error| error["pointer"] == pointer);
        found.unwrap_or_else(|| panic!("{pointer} in {errors:?}"))["detail"].clone()
    };
    assert_eq!(told("/nmae"), "did you mean name?");
    assert_eq!(told("/emails/0/tpye"), "did you mean type?");
    assert_eq!(told("/zzzzzz"), "no member of that name; own data goes under attributes");
    assert!(told("/e~0mail~1s").is_string());
    assert_eq!(errors.as_array().map(Vec::len), Some(4));
    assert_eq!(reply.json()["detail"], "4 members need attention");
}

pub(crate) async fn all_errors_are_listed_at_once(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": " ", "email": "ada", "name": 7, "status": "away",
        "locale": "english please", "addresses": [{"country": "XX"}], "nmae": "x"});
    let reply = service.post(body).await.refused(422, "invalid-user");
    let mut faults = reply.faults();
    faults.sort();
    let expected = [
        ("/addresses/0/country", "invalid-country"),
        ("/email", "invalid-email"),
        ("/locale", "invalid-language-tag"),
        ("/name", "wrong-type"),
        ("/nmae", "unknown-member"),
        ("/status", "invalid-value"),
        ("/username", "invalid-username"),
    ];
    let expected = expected.map(|(place, code)| (place.to_owned(), code.to_owned()));
    assert_eq!(faults, expected);
}

/// A body for each code, with the pointer of its error.
fn violations() -> Vec<(Value, &'static str, &'static str)> {
    let over = |count: usize| "x".repeat(count + 1);
    let deep = (0..8).fold(json!(1), |inner, _| json!({"a": inner}));
    let photo = |n: usize| json!({"value": format!("https://x.org/{n}")});
    let certificate = json!({"value": "A".repeat(8192)});
    vec![
        (json!({"name": "Ada"}), "/username", "required"),
        (json!({"emails": [{"type": "home"}], "username": "a"}), "/emails/0/value", "required"),
        (json!({"username": "a", "nope": 1}), "/nope", "unknown-member"),
        (json!({"username": "a", "name": ["Ada"]}), "/name", "wrong-type"),
        (json!([]), "", "wrong-type"),
        (json!({"username": "a", "status": "gone"}), "/status", "invalid-value"),
        (json!({"username": "a", "name": over(256)}), "/name", "too-long"),
        (json!({"username": over(256)}), "/username", "too-long"),
        (json!({"username": "a", "phone_number": "1".repeat(65)}), "/phone_number", "too-long"),
        (
            json!({"username": "a", "addresses": [{"formatted": over(1024)}]}),
            "/addresses/0/formatted",
            "too-long",
        ),
        (json!({"username": "a", "nickname": "\u{200b} "}), "/nickname", "too-short"),
        (
            json!({"username": "a", "photos": (0..501).map(photo).collect::<Vec<_>>()}),
            "/photos",
            "too-many",
        ),
        (json!({"username": "a", "attributes": {"a": deep}}), "/attributes", "too-deep"),
        (json!({"username": "a", "attributes": {"a": over(16_384)}}), "/attributes", "too-large"),
        (json!({"username": "a", "x509_certificates": vec![certificate; 9]}), "", "user-too-large"),
        (json!({"username": "a", "name": "A\u{7}da"}), "/name", "control-character"),
        (
            json!({"username": "a", "attributes": {"k/1": ["\u{0}"]}}),
            "/attributes/k~11/0",
            "control-character",
        ),
        (json!({"username": "a\u{2028}b"}), "/username", "invalid-username"),
        (json!({"email": "ada"}), "/email", "invalid-email"),
        (
            json!({"username": "a", "phone_number": "call me"}),
            "/phone_number",
            "invalid-phone-number",
        ),
        (json!({"username": "a", "picture": "/ada.png"}), "/picture", "invalid-url"),
        (json!({"username": "a", "profile": "javascript:x"}), "/profile", "script-url"),
        (json!({"username": "a", "locale": "in English"}), "/locale", "invalid-language-tag"),
        (json!({"username": "a", "zoneinfo": "Mars/Base"}), "/zoneinfo", "invalid-zone"),
        (
            json!({"username": "a", "addresses": [{"country": "gb"}]}),
            "/addresses/0/country",
            "invalid-country",
        ),
        (
            json!({"username": "a", "x509_certificates": [{"value": "?"}]}),
            "/x509_certificates/0/value",
            "invalid-certificate",
        ),
        (
            json!({"username": "a", "roles": [{"value": "x", "primary": true},
                {"value": "y", "primary": true}]}),
            "/roles/1/primary",
            "duplicate-primary",
        ),
        (
            json!({"email": "a@x.org", "emails": [{"value": "b@x.org"}]}),
            "/email",
            "conflicting-short-form",
        ),
        (json!({"username": "a", "password": "x"}), "/password", "password-not-kept"),
    ]
}

pub(crate) async fn every_error_of_a_user_has_its_code(backend: Backend) {
    let service = backend.open().await;
    // Only possible with a stored user, and tested there.
    let mut told = vec!["id-mismatch"];
    for (body, place, code) in violations() {
        let reply = service.post(body.clone()).await.refused(422, "invalid-user");
        assert_eq!(reply.faults(), [(place.to_owned(), code.to_owned())], "{body}");
        told.push(code);
    }
    for code in ViolationCode::ALL {
        assert!(told.contains(&code.as_str()), "{} is told", code.as_str());
    }
    assert_eq!(service.head().await.position, 0);
}

pub(crate) async fn values_of_the_maximum_size_are_accepted(backend: Backend) {
    let service = backend.open().await;
    let nested = (0..7).fold(json!(1), |inner, _| json!({"a": inner}));
    let role = |n: usize| json!({"value": n.to_string()});
    let body = json!({"username": "u".repeat(256), "name": "\u{e9}".repeat(256),
        "attributes": nested,
        "roles": (0..20).map(role).collect::<Vec<_>>(),
        "addresses": [{"formatted": format!("\t\r\n{}", "x".repeat(1021))}],
        "picture": format!("https://x.org/{}", "p".repeat(2034))});
    let user = service.user(body).await;
    // NFC is applied before the length is checked, which no schema can express.
    let title = json!({"title": "e\u{301}".repeat(256)});
    let request = service.request("PATCH", &path(&user)).json(&title);
    let reply = request.unwitnessed().await.expect(200);
    assert_eq!(reply.json()["title"], "\u{e9}".repeat(256));
}

pub(crate) async fn null_empty_and_absent_mean_the_same(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "name": null, "emails": [], "attributes": {"a": null},
        "manager": null, "roles": null, "status": null});
    let user = service.user(body).await;
    let members: Vec<&String> = user.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["created_at", "id", "status", "updated_at", "username", "version"]);
}

pub(crate) async fn custom_attributes_keep_numbers_and_order(backend: Backend) {
    let service = backend.open().await;
    let body = r#"{"username":"ada","attributes":{"z":9223372036854775807,"a":-0.5,"e":1e300}}"#;
    let sent = service.request("POST", "/users").body("application/json", body).send().await;
    let text = sent.expect(201).text().to_owned();
    assert!(
        text.contains(r#""attributes":{"z":9223372036854775807,"a":-0.5,"e":1e300}"#),
        "{text}"
    );
}

pub(crate) async fn a_put_that_changes_the_address_clears_its_verified_flag(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"email": "a@x.org", "email_verified": true})).await;
    assert_eq!(user["email_verified"], true);
    let kept = json!({"email": "A@x.org", "email_verified": true});
    let kept = service.put(&user, kept).await.expect(200).json();
    assert_eq!(kept["email_verified"], true, "another spelling is the same address");
    let other = json!({"email": "b@x.org", "email_verified": true});
    let other = service.put(&user, other).await.expect(200).json();
    assert_eq!(other["email_verified"], false);
    let named = json!({"email": "c@x.org", "email_verified": true});
    let named = service.patch(&user, named).await.expect(200).json();
    assert_eq!(named["email_verified"], true, "a patch that names it sets it");
}
