//! Random filters and searches, over the members that random users have.
//!
//! Values come from the pools of the bodies, so that most filters match some user. All filters are
//! valid.

use proptest::{
    collection::vec,
    prop_oneof,
    sample::select,
    strategy::{BoxedStrategy, Strategy},
};

use roster_core::GroupId;

use super::bodies::{
    EMAILS, EXTERNAL_IDS, KINDS, MOMENTS, NAMES, NUMBERS, URLS, USERNAMES, one_of, text,
};

/// Operators on texts.
const OF_TEXTS: &[&str] = &["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"];
/// Operators on values that are ordered but have no parts.
const OF_ORDER: &[&str] = &["eq", "ne", "gt", "ge", "lt", "le"];
/// Operators on values that can only be equal or not equal.
const OF_EQUALITY: &[&str] = &["eq", "ne"];
/// Members for the operator `pr`, and for tests of absent values.
const PRESENT: &[&str] = &[
    "username",
    "name",
    "family_name",
    "email",
    "emails",
    "emails.type",
    "phone_number",
    "phone_numbers",
    "external_id",
    "expires_at",
    "photos",
    "picture",
    "email_verified",
    "locale",
    "attributes",
    "attributes.a",
    "attributes.b",
    "title",
    "manager",
    "groups",
    "groups.display",
];
/// The groups that random queries name. The last one does not exist.
pub(crate) const GROUP_IDS: &[[u8; 16]] = &[[0xA0; 16], [0xA1; 16], [0xA2; 16], [0xA3; 16]];
/// Their names.
pub(crate) const GROUP_NAMES: &[&str] = &["Engines", "engine room", "\u{c9}quipe"];

/// A text as a literal of a filter.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn comparison(
    paths: &'static [&'static str],
    operators: &'static [&'static str],
    value: BoxedStrategy<String>,
) -> BoxedStrategy<String> {
    (select(paths), select(operators), value)
        .prop_map(|(path, operator, value)| format!("{path} {operator} {value}"))
        .boxed()
}

/// A value of a pool, or a part of one, as a literal of a filter.
fn piece(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    let cut = (text(pool), 0_usize..4, 0_usize..3).prop_map(|(text, from, many)| {
        let piece: String = text.chars().skip(from).take(many).collect();
        quoted(&piece)
    });
    prop_oneof![3 => text(pool).prop_map(|text| quoted(&text)), 2 => cut].boxed()
}

fn group_id() -> BoxedStrategy<String> {
    select(GROUP_IDS).prop_map(|id| quoted(&GroupId::from_bytes(id).to_string())).boxed()
}

/// A condition on one group.
fn of_group() -> BoxedStrategy<String> {
    let one = prop_oneof![
        comparison(&["value"], OF_EQUALITY, group_id()),
        comparison(&["display"], OF_TEXTS, piece(GROUP_NAMES)),
    ];
    let one = one.prop_recursive(2, 4, 2, |inner| combined(&inner));
    one.prop_map(|inside| format!("groups[{inside}]")).boxed()
}

fn flag() -> BoxedStrategy<String> {
    one_of(&["true", "false"])
}

/// A comparison inside the brackets of a list of addresses, numbers or pictures.
fn inside(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    let one = prop_oneof![
        4 => comparison(&["value"], OF_TEXTS, piece(pool)),
        3 => comparison(&["type"], OF_TEXTS, piece(KINDS)),
        2 => comparison(&["primary"], OF_EQUALITY, flag()),
        1 => one_of(&["type pr", "primary pr", "value pr", "display pr"]),
    ];
    one.prop_recursive(2, 4, 2, |inner| combined(&inner)).boxed()
}

fn simple() -> BoxedStrategy<String> {
    let path = |list: &'static str, pool| {
        inside(pool).prop_map(move |inside| format!("{list}[{inside}]")).boxed()
    };
    let own = prop_oneof![
        comparison(OWN, OF_TEXTS, piece(NAMES)),
        comparison(OWN, OF_ORDER, number_literal()),
        comparison(OWN, OF_EQUALITY, flag()),
    ];
    prop_oneof![
        3 => comparison(&["username"], OF_TEXTS, piece(USERNAMES)),
        3 => comparison(&["name", "family_name"], OF_TEXTS, piece(NAMES)),
        2 => comparison(&["email", "emails.value"], OF_TEXTS, piece(EMAILS)),
        1 => comparison(&["emails.type", "phone_numbers.type"], OF_TEXTS, piece(KINDS)),
        1 => comparison(&["emails.primary", "email_verified"], OF_EQUALITY, flag()),
        2 => comparison(&["phone_number", "phone_numbers.value"], OF_TEXTS, piece(NUMBERS)),
        1 => comparison(&["picture", "photos.value"], OF_TEXTS, piece(URLS)),
        2 => comparison(&["external_id"], OF_TEXTS, piece(EXTERNAL_IDS)),
        2 => comparison(&["status"], OF_EQUALITY, one_of(&["\"active\"", "\"suspended\""])),
        1 => comparison(&["locale"], OF_TEXTS, piece(&["en", "en-GB", "EN_gb"])),
        2 => comparison(&["created_at", "updated_at", "expires_at"], OF_ORDER, moment()),
        1 => own,
        10 => typed(number_literal()),
        2 => path("emails", EMAILS),
        1 => path("phone_numbers", NUMBERS),
        1 => path("photos", URLS),
        1 => comparison(&["groups.value", "groups"], OF_EQUALITY, group_id()),
        1 => comparison(&["groups.display"], OF_TEXTS, piece(GROUP_NAMES)),
        1 => of_group(),
        2 => select(PRESENT).prop_map(|path| format!("{path} pr")),
    ]
    .boxed()
}

fn number_literal() -> BoxedStrategy<String> {
    prop_oneof![
        (-2_i64..3).prop_map(|number| number.to_string()),
        proptest::arbitrary::any::<i64>().prop_map(|number| number.to_string()),
        one_of(&["0.5", "-1e3", "1.0"]),
    ]
    .boxed()
}

/// A comparison of a member that a random schema may declare and index.
fn typed(number: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![
        3 => comparison(&["attributes.t", "attributes.m"], OF_TEXTS, piece(NAMES)),
        2 => comparison(&["attributes.n"], OF_ORDER, number),
        1 => comparison(&["attributes.d"], OF_ORDER, moment()),
        1 => comparison(&["title", "locale"], OF_TEXTS, piece(NAMES)),
        1 => one_of(&["attributes.t pr", "attributes.n pr", "attributes.m pr", "attributes.d pr"]),
    ]
    .boxed()
}

const OWN: &[&str] = &["attributes.a", "attributes.b", "attributes.c", "attributes.ab"];

fn moment() -> BoxedStrategy<String> {
    one_of(MOMENTS).prop_map(|moment| quoted(&moment)).boxed()
}

/// Filters that are joined, negated and in parentheses, with keywords in any case and varying
/// spaces.
fn combined(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let joined = |words: &'static [&'static str]| {
        (inner.clone(), select(words), inner.clone())
            .prop_map(|(one, word, other)| format!("{one} {word} {other}"))
    };
    prop_oneof![
        3 => joined(&["and", "AND"]),
        3 => joined(&["or", "Or"]),
        1 => inner.clone().prop_map(|inner| format!("not ({inner})")),
        1 => inner.clone().prop_map(|inner| format!("({inner})")),
    ]
    .boxed()
}

/// A filter.
pub fn filter() -> BoxedStrategy<String> {
    simple().prop_recursive(3, 8, 2, |inner| combined(&inner)).boxed()
}

/// The words of a search: whole ones and prefixes, up to many, and texts without a word.
pub fn search() -> BoxedStrategy<String> {
    let word = prop_oneof![
        6 => one_of(WORDS),
        1 => "[a-c\u{e9}]{1,2}",
        1 => one_of(&["nobody", "zz", "examples"]),
    ];
    let rest = prop_oneof![
        6 => vec(one_of(WORDS), 0..3),
        1 => vec(one_of(&["a", "ad", "ada", "@"]), 3..20),
    ];
    let words = (word, rest).prop_map(|(first, rest)| format!("{first} {}", rest.join(" ")));
    prop_oneof![20 => words, 1 => one_of(&["@", "..."])].boxed()
}

/// Words of the pools, and prefixes of them.
const WORDS: &[&str] = &[
    "a",
    "ada",
    "AD",
    "\u{ff41}da",
    "grace",
    "Gr",
    "hopper",
    "zo",
    "zo\u{eb}",
    "ZOE\u{308}",
    "bob",
    "brien",
    "o'br",
    "\u{10400}",
    "\u{10428}",
    "0",
    "1",
    "10",
    "9",
    "example",
    "ex",
    "com",
    "b\u{fc}cher",
    "b",
    "localhost",
    "z",
];
