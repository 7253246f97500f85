//! Texts that are difficult for engines: NUL, the marks of SQL, very long keys, the largest record.

use roster_core::{
    Rules, ViolationCode,
    keys::username_lookup,
    limits::{TEXT_LENGTH_MAX, USER_BYTES_MAX},
    list::{PageQuery, SortBy},
};
use serde_json::{Value, json};

use crate::Conditions;

use super::harness::{Harness, faults, view};

pub const RULES: Rules = super::DEFAULT;

const MARKS: [&str; 14] = [
    "%",
    "_",
    "a%",
    "a_",
    "'",
    "''",
    "\"",
    "\\",
    "\\%",
    "';--",
    "a'; drop table users;--",
    "?1",
    ":id",
    "[a-z]",
];

pub async fn nul_is_rejected_everywhere(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let before = harness.image().await;
    for (member, body) in [
        ("/name", json!({"name": "a\0b"})),
        ("/username", json!({"username": "\0"})),
        ("/external_id", json!({"external_id": "\0"})),
        ("/emails/0/type", json!({"emails": [{"value": "a@example.com", "type": "\0"}]})),
        ("/attributes/a", json!({"attributes": {"a": "x\0"}})),
        ("/addresses/0/formatted", json!({"addresses": [{"formatted": "\0"}]})),
    ] {
        for result in
            [harness.patch(user.id, body.clone()).await, harness.replace(user.id, body).await]
        {
            let control = ViolationCode::ControlCharacter;
            assert_eq!(faults(result), [(member.to_owned(), control)]);
        }
    }
    assert_eq!(harness.image().await, before);
}

pub async fn sql_metacharacters_are_plain_text(harness: Harness) {
    for mark in MARKS {
        let body =
            json!({"username": mark, "name": mark, "family_name": mark, "external_id": mark});
        let user = harness.user(body).await;
        assert_eq!(view(&user)["name"], mark);
        assert_eq!(harness.get(user.id).await, Some(user));
    }
    for mark in MARKS {
        for equals in [
            Conditions { username: Some(username_lookup(mark)), ..Conditions::default() },
            Conditions { external_id: Some(mark.to_owned()), ..Conditions::default() },
        ] {
            let page = harness.page(equals.of(PageQuery::first(9))).await;
            assert_eq!(page.items.len(), 1, "{mark}");
            assert_eq!(view(&page.items[0])["username"], mark);
        }
    }
}

pub async fn the_longest_keys_are_kept_compared_and_walked(harness: Harness) {
    let tails = ["", "a", "b", "\u{e9}"];
    let mut made = Vec::new();
    for tail in tails {
        let head = "\u{10428}".repeat(TEXT_LENGTH_MAX - 1);
        let text = format!("{head}{tail}");
        let body = json!({"username": text, "name": text, "external_id": text});
        made.push(harness.user(body.clone()).await.id);
        assert!(harness.create(body).await.is_err(), "the name is taken");
    }
    for by in [SortBy::Username, SortBy::Name] {
        let mut query = PageQuery::first(1);
        query.sort.by = by;
        let seen: Vec<_> = harness.walk(query).await.iter().map(|user| user.id).collect();
        assert_eq!(seen, made);
    }
}

/// A large user, with some bytes in addition to the required members.
fn large(more: usize) -> Value {
    let certificates: Vec<Value> = (0..7).map(|_| json!({"value": "A".repeat(8192)})).collect();
    let line = |index: usize| 1 + more.saturating_sub(index * 1000).min(1000);
    let addresses: Vec<Value> =
        (0..10).map(|index| json!({"formatted": "l".repeat(line(index))})).collect();
    json!({"username": "ada", "x509_certificates": certificates, "addresses": addresses})
}

pub async fn a_record_of_the_maximum_size_is_stored_and_a_larger_one_rejected(harness: Harness) {
    let user = harness.user(large(0)).await;
    let missing = USER_BYTES_MAX - user.record.len();
    let largest = harness.replace(user.id, large(missing)).await.expect("it fits").stored;
    assert_eq!(largest.record.len(), USER_BYTES_MAX);
    assert_eq!(harness.get(user.id).await.as_ref(), Some(&largest));
    let before = harness.image().await;
    let too_large = [(String::new(), ViolationCode::UserTooLarge)];
    let more = large(missing + 1);
    assert_eq!(faults(harness.replace(user.id, more.clone()).await), too_large);
    assert_eq!(faults(harness.patch(user.id, json!({"name": "x"})).await), too_large);
    assert_eq!(faults(harness.create(more).await), too_large);
    assert_eq!(harness.image().await, before);
    assert_eq!(before.users, [largest]);
    let suspended = harness.patch(user.id, json!({"status": "suspended"})).await;
    assert!(
        suspended.expect("a full record may be suspended").stored.record.len() > USER_BYTES_MAX
    );
    harness.delete(user.id).await.expect("a full record may leave");
}

pub async fn every_script_is_read_back_as_nfc(harness: Harness) {
    for (number, text) in [
        "Ame\u{301}lie",
        "\u{212b}ngstro\u{308}m",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        "\u{645}\u{6cc}\u{200c}\u{62e}",
        "\u{674e}\u{5c0f}\u{9f99}",
        "\u{1f469}\u{200d}\u{1f680}",
        "\u{e01}\u{e33}",
        "\u{fdfa}",
        "\u{feff}x",
        "\u{10ffff}",
        "a\u{a0}b",
        "a\u{2028}",
        "\u{202e}x",
    ]
    .iter()
    .enumerate()
    {
        let body =
            json!({"username": format!("u{number}"), "name": text, "attributes": {"t": text}});
        let user = harness.user(body).await;
        let seen = view(&harness.get(user.id).await.expect("there"));
        assert_eq!(seen["name"], roster_core::text::nfc((*text).to_owned()));
        assert_eq!(seen["attributes"]["t"], *text, "own data is kept as it was sent");
    }
}

pub async fn numbers_in_custom_attributes_keep_their_value(harness: Harness) {
    let attributes = json!({
        "max": i64::MAX, "min": i64::MIN, "half": 0.5, "tenth": 0.1, "huge": 1e300, "tiny": 5e-324,
        "whole": 12.0, "deep": [[[[[[[1]]]]]]],
    });
    let user = harness.user(json!({"username": "ada", "attributes": attributes})).await;
    let seen = view(&harness.get(user.id).await.expect("there"));
    assert_eq!(seen["attributes"], attributes);
    let text = String::from_utf8(user.record.to_vec()).expect("UTF-8");
    assert!(text.contains("9223372036854775807") && text.contains("-9223372036854775808"));
}
