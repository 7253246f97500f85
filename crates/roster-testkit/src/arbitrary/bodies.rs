//! Random bodies of writes.
//!
//! Most values come from small pools, so that names conflict, filters match users and writes change
//! nothing. The rest is arbitrary Unicode. Bodies are mostly valid, because a rejected command
//! tests little of an engine.

use proptest::{
    collection::{btree_map, vec},
    option, prop_oneof,
    sample::select,
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::Json;

pub(super) const USERNAMES: &[&str] = &[
    "ada",
    "ADA",
    "\u{ff41}da",
    "grace",
    "Grace Hopper",
    "zo\u{eb}",
    "zoe\u{308}",
    "bob",
    "%",
    "_",
    "a%",
    "o'brien",
    "\u{10428}",
    "0",
];
pub(super) const EMAILS: &[&str] = &[
    "ada@example.com",
    "ADA@Example.com",
    "grace@example.com",
    "a@b\u{fc}cher.example",
    "a@xn--bcher-kva.example",
    "bob@localhost",
    "\"a b\"@example.com",
];
pub(super) const NAMES: &[&str] = &[
    "",
    "Ada",
    "ada",
    "Zo\u{eb}",
    "Zoe\u{308}",
    "\u{ff5a}",
    "\u{10428}",
    "%",
    "_",
    "\\",
    "'",
    "10",
    "9",
];
pub(super) const NUMBERS: &[&str] =
    &["+44 20 1", "44201", "+44 (20) 1", "\u{664}\u{664}\u{662}\u{660}\u{661}"];
pub(super) const URLS: &[&str] = &["https://example.com/a.png", "https://example.com/b.png"];
pub(super) const EXTERNAL_IDS: &[&str] = &["", "7", "x", "X", "%"];
/// Times around those of the users: the test clock's start and some milliseconds later.
pub(super) const MOMENTS: &[&str] = &[
    "2025-12-31T23:59:59.950Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00.020Z",
    "2026-01-01T01:00:00.1+01:00",
];
pub(super) const KINDS: &[&str] = &["work", "home"];

pub(super) fn one_of(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    select(pool).prop_map(str::to_owned).boxed()
}

/// A text, mostly from the pool, otherwise arbitrary, including control characters.
pub(super) fn text(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    prop_oneof![
        12 => select(pool).prop_map(str::to_owned),
        3 => "[a-c\u{e9}\u{301}\u{1f600} ]{0,4}",
        1 => "\\PC{0,8}",
        1 => option::weighted(0.3, proptest::arbitrary::any::<String>())
            .prop_map(Option::unwrap_or_default),
    ]
    .boxed()
}

fn json_text(strategy: BoxedStrategy<String>) -> BoxedStrategy<Json> {
    strategy.prop_map(Json::Text).boxed()
}

fn object(members: Vec<(&str, Option<Json>)>) -> Json {
    let member = |(name, value): (&str, Option<Json>)| value.map(|value| (name.to_owned(), value));
    Json::Object(members.into_iter().filter_map(member).collect())
}

/// A list of entries, such as `emails`.
fn entries(values: BoxedStrategy<String>) -> BoxedStrategy<Json> {
    let flag = prop_oneof![3 => Just(None), 1 => Just(Some(true)), 1 => Just(Some(false))];
    let entry = (values, option::of(one_of(KINDS)), flag).prop_map(|(value, kind, flag)| {
        object(vec![
            ("value", Some(Json::Text(value))),
            ("type", kind.map(Json::Text)),
            ("primary", flag.map(Json::Bool)),
        ])
    });
    vec(entry, 0..4).prop_map(Json::Array).boxed()
}

/// Any JSON of limited depth, as custom attributes may have.
pub fn tree() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        proptest::arbitrary::any::<bool>().prop_map(Json::Bool),
        proptest::arbitrary::any::<i64>().prop_map(Json::Int),
        proptest::num::f64::NORMAL.prop_map(Json::Float),
        text(NAMES).prop_map(Json::Text),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let members = btree_map("[a-c]{1,2}", inner.clone(), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(Json::Array),
            members.prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Members of any type, and members whose values always have one type.
fn free_object() -> BoxedStrategy<Json> {
    let number = prop_oneof![
        2 => (-2_i64..3).prop_map(Json::Int),
        1 => proptest::arbitrary::any::<i64>().prop_map(Json::Int),
        1 => select(&[0.5, -1e3, 1.0, 9_007_199_254_740_992.0][..]).prop_map(Json::Float),
    ];
    let names = || one_of(NAMES).prop_map(Json::Text);
    let typed = (
        option::weighted(0.8, names()),
        option::weighted(0.8, number),
        option::weighted(0.8, vec(names(), 0..3).prop_map(Json::Array)),
        option::weighted(0.8, one_of(MOMENTS).prop_map(Json::Text)),
    );
    (btree_map("[a-c]{1,2}", tree(), 0..3), typed)
        .prop_map(|(members, (text, number, many, time))| {
            let typed = [("t", text), ("n", number), ("m", many), ("d", time)];
            let typed =
                typed.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Json::Object(members.into_iter().chain(typed).collect())
        })
        .boxed()
}

/// The name of a member and a value for it, or `null`.
fn member() -> BoxedStrategy<(String, Json)> {
    let flag = || proptest::arbitrary::any::<bool>().prop_map(Json::Bool).boxed();
    let status = || json_text(one_of(&["active", "suspended"]));
    let named = |name: &'static str, value: BoxedStrategy<Json>| {
        prop_oneof![9 => value, 1 => Just(Json::Null)]
            .prop_map(move |value| (name.to_owned(), value))
            .boxed()
    };
    prop_oneof![
        4 => named("username", json_text(text(USERNAMES))),
        4 => named("email", json_text(text(EMAILS))),
        3 => named("emails", entries(one_of(EMAILS))),
        3 => named("name", json_text(text(NAMES))),
        3 => named("family_name", json_text(text(NAMES))),
        2 => named("status", status()),
        2 => named("expires_at", json_text(one_of(MOMENTS))),
        2 => named("phone_number", json_text(one_of(NUMBERS))),
        1 => named("phone_numbers", entries(one_of(NUMBERS))),
        1 => named("photos", entries(one_of(URLS))),
        1 => named("picture", json_text(one_of(URLS))),
        2 => named("external_id", json_text(text(EXTERNAL_IDS))),
        1 => named("email_verified", flag()),
        1 => named("phone_number_verified", flag()),
        5 => named("attributes", free_object()),
        1 => named("title", json_text(one_of(NAMES))),
        1 => named("version", (0_i64..4).prop_map(Json::Int).boxed()),
        1 => named("locale", json_text(one_of(&["en", "en_GB", "?"]))),
        1 => named("nmae", json_text(one_of(NAMES))),
    ]
    .boxed()
}

/// A body of a later write. It can also be a patch, because members may be null.
pub fn body() -> BoxedStrategy<Json> {
    let members = vec(member(), 0..6).prop_map(|members| Json::Object(unique(members)));
    prop_oneof![30 => members, 1 => tree()].boxed()
}

/// A body of a create, nearly always with a username or an address that can be the default one.
pub fn newcomer() -> BoxedStrategy<Json> {
    let username = prop_oneof![2 => one_of(USERNAMES), 1 => "u[0-9]"];
    let named = |name: &str, text: String| (name.to_owned(), Json::Text(text));
    let first = prop_oneof![
        5 => username.prop_map(move |text| named("username", text)),
        2 => one_of(EMAILS).prop_map(move |text| named("email", text)),
        1 => member(),
    ];
    (first, vec(member(), 0..6))
        .prop_map(|(first, mut members)| {
            members.insert(0, first);
            Json::Object(unique(members))
        })
        .boxed()
}

/// A body of a create with a unique name, which contains the number.
pub fn person(number: usize) -> BoxedStrategy<Json> {
    (one_of(USERNAMES), vec(member(), 1..8))
        .prop_map(move |(name, mut members)| {
            let username = Json::Text(format!("{name} {number}"));
            members.insert(0, ("username".to_owned(), username));
            Json::Object(unique(members))
        })
        .boxed()
}

/// Keeps the first member of each name.
fn unique(members: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut body: Vec<(String, Json)> = Vec::new();
    for (name, value) in members {
        if body.iter().all(|(found, _)| *found != name) {
            body.push((name, value));
        }
    }
    body
}
