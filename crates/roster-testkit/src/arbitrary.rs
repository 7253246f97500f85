//! Random bodies, questions and steps, for comparing stores.
//!
//! Most values come from small pools, so that names clash, filters meet somebody and writes change
//! nothing; the rest is arbitrary Unicode. Bodies are mostly valid, since a refused command tells
//! little about an engine.

use proptest::{
    collection::{btree_map, vec},
    option, prop_oneof,
    sample::{Index, select},
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::{
    Clock as _, Json, Status, Timestamp, UserId,
    keys::username_lookup,
    list::{Direction, Equals, PageKey, PageQuery, Sort, SortBy, SortKey},
    text::{email_key, fold_key, phone_key},
};

use crate::TestClock;

const USERNAMES: &[&str] = &[
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
const EMAILS: &[&str] = &[
    "ada@example.com",
    "ADA@Example.com",
    "grace@example.com",
    "a@b\u{fc}cher.example",
    "a@xn--bcher-kva.example",
    "bob@localhost",
    "\"a b\"@example.com",
];
const NAMES: &[&str] = &[
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
const NUMBERS: &[&str] =
    &["+44 20 1", "44201", "+44 (20) 1", "\u{664}\u{664}\u{662}\u{660}\u{661}"];
const URLS: &[&str] = &["https://example.com/a.png", "https://example.com/b.png"];
const EXTERNAL_IDS: &[&str] = &["", "7", "x", "X", "%"];
const KINDS: &[&str] = &["work", "home"];

fn one_of(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    select(pool).prop_map(str::to_owned).boxed()
}

/// Mostly from the pool, else arbitrary text, control characters included.
fn text(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    prop_oneof![
        12 => select(pool).prop_map(str::to_owned),
        3 => "[a-c\u{e9}\u{301}\u{1f600} ]{0,4}",
        1 => "\\PC{0,8}",
        1 => proptest::arbitrary::any::<String>(),
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

/// A list of entries such as `emails`.
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

/// Any JSON of some depth, as own data may be.
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

fn free_object() -> BoxedStrategy<Json> {
    btree_map("[a-c]{1,2}", tree(), 0..4)
        .prop_map(|members| Json::Object(members.into_iter().collect()))
        .boxed()
}

/// A member with a value for it, or `null`.
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
        2 => named("phone_number", json_text(one_of(NUMBERS))),
        1 => named("phone_numbers", entries(one_of(NUMBERS))),
        1 => named("photos", entries(one_of(URLS))),
        1 => named("picture", json_text(one_of(URLS))),
        2 => named("external_id", json_text(text(EXTERNAL_IDS))),
        1 => named("email_verified", flag()),
        1 => named("phone_number_verified", flag()),
        1 => named("attributes", free_object()),
        1 => named("version", (0_i64..4).prop_map(Json::Int).boxed()),
        1 => named("locale", json_text(one_of(&["en", "en_GB", "?"]))),
        1 => named("nmae", json_text(one_of(NAMES))),
    ]
    .boxed()
}

/// A body of a write; also a patch, since members may be null.
pub fn body() -> BoxedStrategy<Json> {
    let unique = |members: Vec<(String, Json)>| {
        let mut body: Vec<(String, Json)> = Vec::new();
        for (name, value) in members {
            if body.iter().all(|(found, _)| *found != name) {
                body.push((name, value));
            }
        }
        Json::Object(body)
    };
    prop_oneof![30 => vec(member(), 0..6).prop_map(unique), 1 => tree()].boxed()
}

/// What a step holds against the user it is about.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// `If-Match` with the version as it is before the step's batch.
    Current,
    /// `If-Match` with the version before that.
    Stale,
    /// `If-Match: *`.
    Any,
    /// `If-None-Match` with the version as it is before the step's batch.
    NotCurrent,
}

/// A write. Whom it is about is an index into all users that were ever created.
#[derive(Clone, Debug)]
pub enum Step {
    /// Create a user.
    Create(Json),
    /// Replace one.
    Replace(Index, Json, Held),
    /// Patch one.
    Patch(Index, Json, Held),
    /// Delete one.
    Delete(Index, Held),
}

/// One write.
pub fn step() -> BoxedStrategy<Step> {
    let held = || {
        prop_oneof![
            6 => Just(Held::Nothing),
            2 => Just(Held::Current),
            1 => Just(Held::Stale),
            1 => Just(Held::Any),
            1 => Just(Held::NotCurrent),
        ]
    };
    let whom = proptest::arbitrary::any::<Index>;
    prop_oneof![
        5 => body().prop_map(Step::Create),
        3 => (whom(), body(), held()).prop_map(|(whom, body, h)| Step::Replace(whom, body, h)),
        3 => (whom(), body(), held()).prop_map(|(whom, body, h)| Step::Patch(whom, body, h)),
        2 => (whom(), held()).prop_map(|(whom, held)| Step::Delete(whom, held)),
    ]
    .boxed()
}

/// What happens next.
#[derive(Clone, Debug)]
pub enum Turn {
    /// Writes that are handed over together.
    Writes(Vec<Step>),
    /// The clock moves, perhaps back.
    Elapse(i64),
    /// A list is walked from its start.
    Walk(Box<Question>),
}

/// A list to walk; ids are indices into all users that were ever created.
#[derive(Clone, Debug)]
pub struct Question {
    query: PageQuery,
    ids: Option<Vec<Index>>,
    after: Option<Place>,
}

/// Where a walk begins: anywhere, as when the row of a cursor has changed or gone.
#[derive(Clone, Debug)]
struct Place {
    text: Option<String>,
    /// Milliseconds after the clock's start.
    time: i64,
    id: Index,
}

impl Question {
    /// The question, given all ids that were ever made.
    pub fn query(&self, known: &[UserId]) -> PageQuery {
        let chosen = |indices: &Vec<Index>| {
            let ids = indices.iter().filter(|_| !known.is_empty());
            ids.map(|index| *index.get(known)).collect()
        };
        let mut query = self.query.clone();
        query.equals.ids = self.ids.as_ref().map(chosen);
        query.after = self
            .after
            .as_ref()
            .filter(|_| !known.is_empty())
            .map(|place| PageKey { key: place.key(query.sort.by), id: *place.id.get(known) });
        query
    }
}

impl Place {
    fn key(&self, by: SortBy) -> SortKey {
        match by {
            SortBy::Id => SortKey::Id,
            SortBy::UpdatedAt => {
                let start = TestClock::new().now().as_millis();
                SortKey::Time(Timestamp::from_millis(start + self.time))
            }
            SortBy::Username => {
                SortKey::Text(Some(username_lookup(self.text.as_deref().unwrap_or_default())))
            }
            SortBy::Email => SortKey::Text(self.text.as_deref().map(email_key)),
            SortBy::FamilyName | SortBy::Name => SortKey::Text(self.text.as_deref().map(fold_key)),
        }
    }
}

/// A list to walk, from its start or from anywhere.
pub fn question() -> BoxedStrategy<Question> {
    let sort = (select(SortBy::ALL), select(&[Direction::Ascending, Direction::Descending][..]));
    let rare = |strategy: BoxedStrategy<String>| {
        let some = strategy.prop_map(Some);
        prop_oneof![4 => Just(None), 1 => some]
    };
    let conditions = (
        rare(text(USERNAMES).prop_map(|text| username_lookup(&text)).boxed()),
        rare(text(EMAILS).prop_map(|text| email_key(&text)).boxed()),
        rare(text(EXTERNAL_IDS)),
        rare(one_of(NUMBERS).prop_map(|text| phone_key(&text)).boxed()),
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(Status::Active)),
            1 => Just(Some(Status::Suspended)),
        ],
    );
    let equals = conditions.prop_map(|(username, email, external_id, phone_number, status)| {
        Equals { ids: None, username, email, external_id, phone_number, status }
    });
    let ids = prop_oneof![
        5 => Just(None),
        1 => vec(proptest::arbitrary::any::<Index>(), 0..5).prop_map(Some),
    ];
    let count = proptest::arbitrary::any::<bool>();
    let texts = prop_oneof![text(USERNAMES), text(EMAILS), text(NAMES)];
    let place = (option::of(texts), -50_i64..500, proptest::arbitrary::any::<Index>())
        .prop_map(|(text, time, id)| Place { text, time, id });
    let after = prop_oneof![2 => Just(None), 1 => place.prop_map(Some)];
    (sort, equals, ids, after, 0_usize..6, count)
        .prop_map(|((by, direction), equals, ids, after, limit, count)| {
            let sort = Sort { by, direction };
            let query = PageQuery { sort, equals, count, ..PageQuery::first(limit) };
            Question { query, ids, after }
        })
        .boxed()
}

/// What happens, in order.
pub fn turns() -> BoxedStrategy<Vec<Turn>> {
    let millis = prop_oneof![4 => 0_i64..50, 1 => -100_i64..0];
    let turn = prop_oneof![
        6 => vec(step(), 1..6).prop_map(Turn::Writes),
        1 => millis.prop_map(Turn::Elapse),
        3 => question().prop_map(Box::new).prop_map(Turn::Walk),
    ];
    vec(turn, 1..24).boxed()
}
