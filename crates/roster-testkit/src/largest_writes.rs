//! Legal requests that write as much as they can: every number is at its limit, and so are the
//! records that they change.
//!
//! A test of `roster-scim` counts their work, and its example `work` measures their time.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]
#![expect(clippy::missing_panics_doc, reason = "a case that is not legal panics")]

use roster_core::{
    Actor, Caller, Command, Decision, Draft, Json, OnConflict, Rules, SchemaDraft, Timestamp, User,
    UserAct, UserId, UserSchema, decide, json,
    limits::JSON_VALUES_MAX,
    schema::{DeclaredMember, ValueType},
};

/// The maximum size of a body by default.
pub const BODY_BYTES: usize = 1_048_576;

const ROSTER_URN: &str = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";

/// A text that is not ASCII is the dearest to compare.
pub fn long(length: usize) -> String {
    "É".repeat(length)
}

/// Joins as many pieces as fit into a body, at most `most`.
pub fn many(most: usize, piece: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    let mut values = 100;
    for number in 0..most {
        let piece = piece(number);
        // A value or a name follows each of these, and a value may begin the piece.
        values += 1 + piece.matches([':', ',', '{', '[']).count();
        if text.len() + piece.len() + 512 > BODY_BYTES || values > JSON_VALUES_MAX {
            break;
        }
        if number > 0 {
            text.push(',');
        }
        text.push_str(&piece);
    }
    text
}

/// The body of a PATCH with as many of these operations as fit.
fn patch(operation: impl Fn(usize) -> String) -> String {
    format!(r#"{{"Operations":[{}]}}"#, many(1000, operation))
}

/// The body of a PATCH with one operation.
fn one(operation: &str) -> String {
    format!(r#"{{"Operations":[{operation}]}}"#)
}

fn tests(count: usize, test: &str) -> String {
    vec![test; count].join(" or ").replace('"', "\\\"")
}

/// Bodies of a PATCH of a user, with names.
pub fn patches() -> Vec<(&'static str, String)> {
    let value = |number: usize| format!(r#"{{"value":"role {number} {}"}}"#, long(20));
    let big = long(BODY_BYTES / 2 - 1000);
    let path = |count: usize, test: &str| format!("roles[{}]", tests(count, test));
    let names = many(usize::MAX, |number| format!(r#""n{number}":1"#));
    let mut all = vec![
        ("conditions of 40 tests", patch(|_| of("remove", &path(40, r#"value co "x""#), "null"))),
        ("conditions of 64 tests", patch(|_| of("remove", &path(64, r#"value co "x""#), "null"))),
        (
            "conditions that change every value",
            patch(|n| of("replace", "roles[value pr].display", &format!("\"{n}\""))),
        ),
        (
            "additions of values that are there",
            patch(|_| of("add", "roles", &format!("[{}]", many(20, value)))),
        ),
        (
            "an addition of 1,000 values",
            one(&of("add", "roles", &format!("[{}]", many(1000, value)))),
        ),
        ("additions of one value", patch(|n| of("add", "roles", &value(n + 10_000)))),
        ("removals of values", patch(|_| of("remove", "roles", &format!("[{}]", many(20, value))))),
        (
            "addresses that are there",
            patch(|_| of("add", "addresses", r#"[{"formatted":"street"},{"country":"DE"}]"#)),
        ),
        (
            "a long text for every value",
            one(&of("replace", "roles.display", &format!("\"{big}\""))),
        ),
        ("unknown names in a value", one(&format!(r#"{{"op":"add","value":{{{names}}}}}"#))),
        (
            "primary values",
            patch(|n| of("add", "roles", &format!(r#"{{"value":"{n}","primary":true}}"#))),
        ),
        (
            "removals of a declared extension",
            patch(|_| r#"{"op":"remove","path":"urn:example:E0"}"#.to_owned()),
        ),
        (
            "the members of a declared extension",
            patch(|n| of("add", &format!("urn:example:E0:m{}", n % 2), "\"x\"")),
        ),
    ];
    all.extend(patches_of_attributes());
    all
}

fn of(op: &str, path: &str, value: &str) -> String {
    format!(r#"{{"op":"{op}","path":"{path}","value":{value}}}"#)
}

/// Bodies of a PATCH of `attributes`.
fn patches_of_attributes() -> Vec<(&'static str, String)> {
    let half = many(JSON_VALUES_MAX / 2 - 200, |number| number.to_string());
    let names = many(usize::MAX, |number| format!(r#""n{number}":1"#));
    // No stored list has them.
    let absent = many(JSON_VALUES_MAX - 200, |number| (number + 2).to_string());
    let list = format!("{ROSTER_URN}:attributes.list");
    vec![
        (
            "names in attributes",
            one(&of("add", &format!("{ROSTER_URN}:attributes"), &format!("{{{names}}}"))),
        ),
        (
            "numbers added to attributes twice",
            format!(r#"{{"Operations":[{0},{0}]}}"#, of("add", &list, &format!("[{half}]"))),
        ),
        (
            "a removal of numbers from attributes",
            one(&of("remove", &list, &format!("[{absent},1]"))),
        ),
        (
            "single members of attributes",
            patch(|n| of("add", &format!("{ROSTER_URN}:attributes.n{n}"), "1")),
        ),
        (
            "deep paths",
            patch(|_| of("add", &format!("{ROSTER_URN}:attributes{}", ".a".repeat(64)), "1")),
        ),
    ]
}

/// Bodies of users for POST and PUT over SCIM, with names.
pub fn scim_users() -> Vec<(&'static str, String)> {
    let names = many(usize::MAX, |number| format!(r#""n{number}":1"#));
    let urns = many(usize::MAX, |number| format!(r#""urn:example:E{}:x{number}":1"#, number % 100));
    let emails = many(usize::MAX, |n| format!(r#"{{"value":"a{n}","primary":true}}"#));
    let repeated = many(usize::MAX, |_| r#"{"value":"a","type":"b"}"#.to_owned());
    let half = |prefix: &str| many(24_000, |number| format!(r#""{prefix}{number}":1"#));
    let quoted = half("m").replace('"', "\\\"");
    let role = format!(r#"{{"value":"{{\"value\":\"a\",{quoted}}}",{}}}"#, half("n"));
    let twice = format!(r#""attributes":{{{}}},"ATTRIBUTES":{{{}}}"#, half("m"), half("n"));
    vec![
        ("an object as a text in its value", format!(r#"{{"userName":"a","roles":[{role}]}}"#)),
        ("attributes twice", format!(r#"{{"userName":"a","{ROSTER_URN}":{{{twice}}}}}"#)),
        ("unknown names over SCIM", format!(r#"{{"userName":"a",{names}}}"#)),
        ("names of declared extensions", format!(r#"{{"userName":"a",{urns}}}"#)),
        ("many primary addresses", format!(r#"{{"userName":"a","emails":[{emails}]}}"#)),
        ("repeated roles", format!(r#"{{"userName":"a","roles":[{repeated}]}}"#)),
    ]
}

/// Bodies of users for POST, PUT and PATCH over REST, with names.
pub fn rest_users() -> Vec<(&'static str, String)> {
    let names = many(usize::MAX, |number| format!(r#""usernam{number}":1"#));
    let entries = many(500, |_| {
        let parts = ["street_address", "locality", "region", "postal_code", "formatted"];
        let parts = parts.map(|part| format!(r#""{part}":"a\u0001""#));
        format!("{{{}}}", parts.join(","))
    });
    let phones = many(usize::MAX, |n| format!(r#"{{"value":"no number {n}","primary":true}}"#));
    let numbers = many(usize::MAX, |_| "0".to_owned());
    vec![
        ("unknown names", format!(r#"{{"username":"a",{names}}}"#)),
        ("addresses with invalid parts", format!(r#"{{"username":"a","addresses":[{entries}]}}"#)),
        ("many invalid numbers", format!(r#"{{"username":"a","phone_numbers":[{phones}]}}"#)),
        ("a list of numbers", format!(r#"{{"username":"a","attributes":{{"a":[{numbers}]}}}}"#)),
        ("many attributes", format!(r#"{{"username":"a","attributes":{{{names}}}}}"#)),
        ("removed attributes", {
            let nulls = many(usize::MAX, |n| format!(r#""m{n}":null"#));
            format!(r#"{{"attributes":{{{nulls}}}}}"#)
        }),
    ]
}

/// Bodies of the schema, with names.
pub fn schemas() -> Vec<(&'static str, String)> {
    let names = many(usize::MAX, |number| format!(r#""attribute{number}":1"#));
    vec![
        ("unknown names of the schema", format!(r#"{{"attributes":[],{names}}}"#)),
        ("unknown names of a declaration", format!(r#"{{"attributes":[{{"name":"a",{names}}}]}}"#)),
    ]
}

/// A Bulk of as many operations as allowed, which refer to each other.
pub fn bulk() -> String {
    let waiting = many(499, |n| {
        let names = many(40, |m| format!(r#"{{"value":"bulkId:a{m}"}}"#));
        format!(
            r#"{{"method":"POST","path":"/Groups","bulkId":"g{n}","data":{{"displayName":"g{n}",
            "members":[{names},{{"value":"bulkId:a500"}}]}}}}"#
        )
    });
    let users: Vec<String> = (0..=500)
        .map(|n| {
            format!(
                r#"{{"method":"POST","path":"/Users","bulkId":"a{n}",
                "data":{{"userName":"a{n}"}}}}"#
            )
        })
        .collect();
    format!(r#"{{"Operations":[{waiting},{}]}}"#, users.join(","))
}

/// A schema of users with all declarations in extensions of their own.
pub fn schema() -> UserSchema {
    let member = |number: usize| DeclaredMember {
        index: None,
        case_exact: false,
        name: format!("m{number}"),
        value_type: ValueType::String,
        multi_valued: false,
        required: false,
        description: None,
        scim_schema: Some(format!("urn:example:E{}", number / 2)),
    };
    UserSchema { members: (0..100).map(member).collect(), ..UserSchema::default() }
}

/// Users whose records are as large as they may be.
pub fn users() -> Vec<User> {
    let role = |n: usize| format!(r#"{{"value":"ROLE {n} {}"}}"#, long(40));
    let roles: Vec<String> = (0..450).map(role).collect();
    let entry = |n: usize| format!(r#"{{"value":"r{n}","display":"D","type":"T{n}"}}"#);
    let entries: Vec<String> = (0..500).map(entry).collect();
    let numbers = vec!["1"; 8_000].join(",");
    let names: Vec<String> = (0..1_000).map(|n| format!(r#""n{n}":{n}"#)).collect();
    let addresses: Vec<String> =
        (0..100).map(|n| format!(r#"{{"formatted":"{n} {}"}}"#, long(30))).collect();
    let bodies = [
        format!(r#"{{"username":"a","roles":[{}]}}"#, roles.join(",")),
        format!(
            r#"{{"username":"a","roles":[{0}],"entitlements":[{0}],
            "attributes":{{"list":[{numbers}]}}}}"#,
            entries.join(",")
        ),
        format!(
            r#"{{"username":"a","addresses":[{}],"attributes":{{{}}}}}"#,
            addresses.join(","),
            names.join(",")
        ),
    ];
    bodies.iter().map(|body| created(body)).collect()
}

fn created(body: &str) -> User {
    let id = UserId::from_bytes([7; 16]);
    let draft = Box::new(Draft::parse(tree(body)));
    let act = UserAct::Create { id, draft, upsert: OnConflict::Fail.into() };
    match decided(None, &act) {
        Ok(Decision::Write(change)) => User::clone(&change.user),
        other => panic!("a user as large as allowed is created: {other:?}"),
    }
}

/// The decision on a command about a user.
pub fn decided(current: Option<&User>, act: &UserAct) -> Result<Decision, roster_core::Refusal> {
    let caller = Caller { actor: Actor::Anonymous, request_id: "request".to_owned() };
    let at = Timestamp::from_millis(1_800_000_000_000);
    let command = Command::of(act.clone(), at, caller);
    decide(Rules::default(), &UserSchema::default(), current, act, &command)
}

/// The tree of a body.
pub fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).expect("JSON")
}

/// Parses a schema.
pub fn schema_draft(text: &str) -> SchemaDraft {
    SchemaDraft::parse(tree(text))
}
