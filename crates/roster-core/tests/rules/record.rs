//! The canonical JSON: a record parses to the user that it was written from, and that user gives
//! the same bytes.

use proptest::{
    arbitrary::any,
    collection::{btree_map, vec},
    prelude::prop,
    proptest,
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::{
    Attribute, Entry, Json, Part, Profile, Scalar, Status, Timestamp, User, UserId, Value,
    attribute::{Kind, PartKind, Shape},
};

fn text() -> BoxedStrategy<String> {
    proptest::prop_oneof![any::<String>(), "\\PC{0,6}", "[\"\\\\/\u{0}-\u{1f}\u{7f}]{0,4}"].boxed()
}

fn tree() -> BoxedStrategy<Json> {
    let leaf = proptest::prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (prop::num::f64::ANY).prop_filter("finite", |f| f.is_finite()).prop_map(Json::Float),
        (-400_i32..400, 1_u32..10).prop_map(|(e, m)| {
            let number = f64::from(m) * 10_f64.powi(e);
            Json::Float(if number.is_finite() { number } else { 1e300 })
        }),
        text().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        proptest::prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Json::Array),
            btree_map(text(), inner, 0..5).prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

fn entry(shape: &'static Shape) -> BoxedStrategy<Entry> {
    let part = |(part, kind): &'static (Part, PartKind)| {
        let value = match kind {
            PartKind::Text(_) => text().prop_map(Scalar::Text).boxed(),
            PartKind::Flag => any::<bool>().prop_map(Scalar::Flag).boxed(),
        };
        prop::option::of(value.prop_map(move |value| (*part, value)))
    };
    let parts: Vec<_> = shape.parts.iter().map(part).collect();
    parts.prop_map(|parts| Entry::new(parts.into_iter().flatten().collect())).boxed()
}

fn value(kind: Kind) -> Option<BoxedStrategy<Value>> {
    match kind {
        Kind::ServerMade | Kind::Status | Kind::ShortForm { .. } => None,
        Kind::Text(_) => Some(text().prop_map(Value::Text).boxed()),
        Kind::Mark => Some(Just(Value::Flag(true)).boxed()),
        Kind::Flag { .. } => Some(any::<bool>().prop_map(Value::Flag).boxed()),
        Kind::One(shape) => Some(entry(shape).prop_map(Value::One).boxed()),
        Kind::Many(shape) => Some(vec(entry(shape), 1..4).prop_map(Value::Many).boxed()),
        Kind::Object => {
            let members = btree_map(text(), tree(), 1..4);
            Some(members.prop_map(|map| Value::Object(map.into_iter().collect())).boxed())
        }
    }
}

pub(crate) fn profile() -> BoxedStrategy<Profile> {
    let member = |attribute: &Attribute| {
        let attribute = *attribute;
        value(attribute.kind())
            .map(|value| prop::option::of(value).prop_map(move |value| (attribute, value)))
    };
    let members: Vec<_> = Attribute::ALL.iter().filter_map(member).collect();
    members
        .prop_map(|members| {
            let mut profile = Profile::default();
            for (attribute, value) in members {
                profile.set(attribute, value);
            }
            profile
        })
        .boxed()
}

fn user() -> BoxedStrategy<User> {
    let status = proptest::prop_oneof![Just(Status::Active), Just(Status::Suspended)];
    let time = (0_i64..4_000_000_000_000).prop_map(Timestamp::from_millis);
    (any::<[u8; 16]>(), 1..i64::MAX, status, profile(), time)
        .prop_map(|(mut id, version, status, profile, updated_at)| {
            // A UUIDv7 of this or an earlier century.
            id[0] = 0;
            let id = UserId::from_bytes(id);
            User { id, version, status, profile, updated_at }
        })
        .boxed()
}

proptest! {
    #[test]
    fn a_record_parses_to_the_user_that_it_was_written_from(user in user()) {
        let record = user.to_record();
        let read = User::from_record(&record);
        proptest::prop_assert_eq!(read.as_ref(), Ok(&user));
        proptest::prop_assert_eq!(read.map(|user| user.to_record()), Ok(record.clone()));
        // Another parser agrees that it is JSON without duplicate members.
        let other: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
        proptest::prop_assert_eq!(&other["id"], &serde_json::json!(user.id.to_string()));
    }
}

#[test]
fn members_are_in_table_order_and_bytes_never_change() {
    let record = concat!(
        r#"{"id":"0190d1c2-8000-7000-8000-000000000001","version":2,"status":"suspended","#,
        r#""username":"ada","name":"Ada \"A\" L\\","email":"b@example.com","email_verified":true,"#,
        r#""emails":[{"value":"a@example.com","type":"home"},"#,
        r#"{"value":"b@example.com","primary":true,"display":"B"}],"#,
        r#""addresses":[{"formatted":"1 High St\nLondon","country":"GB","primary":false}],"#,
        r#""manager":{"id":"7"},"attributes":{"z":1,"a":[1.0,-0.5,1e21,null]},"#,
        r#""created_at":"2024-07-20T20:08:23.296Z","updated_at":"2026-01-01T00:00:00.000Z"}"#,
    );
    let user = User::from_record(record.as_bytes()).expect("a record");
    assert_eq!(String::from_utf8(user.to_record().to_vec()).expect("UTF-8"), record);
}

#[test]
fn a_number_does_not_change_when_it_is_read_and_written() {
    let record = concat!(
        r#"{"id":"0190d1c2-8000-7000-8000-000000000001","version":1,"status":"active","#,
        r#""username":"ada","attributes":{"n":1.0000000000000002e113},"#,
        r#""created_at":"2024-07-20T20:08:23.296Z","updated_at":"2026-01-01T00:00:00.000Z"}"#,
    );
    let user = User::from_record(record.as_bytes()).expect("a record");
    assert_eq!(user.to_record(), record.as_bytes());
}

#[test]
fn the_error_of_a_damaged_record_names_the_member() {
    let id = r#""id":"0190d1c2-8000-7000-8000-000000000001""#;
    let rest = r#""version":2,"status":"active","updated_at":"2026-01-01T00:00:00.000Z""#;
    for (record, member) in [
        (String::new(), "its JSON"),
        ("{".to_owned(), "its JSON"),
        ("[]".to_owned(), "its JSON"),
        (format!("{{{rest}}}"), "id"),
        (format!(r#"{{"id":"ada",{rest}}}"#), "id"),
        (format!("{{{id}}}"), "version"),
        (format!(r#"{{{id},{rest},"name":7}}"#), "name"),
        (format!(r#"{{{id},{rest},"emails":[{{"value":7}}]}}"#), "emails"),
        (format!(r#"{{{id},{rest},"emails":[{{"color":"x"}}]}}"#), "emails"),
        (format!(r#"{{{id},{rest},"shoe_size":7}}"#), "shoe_size"),
        (format!("{{{id},{}}}", rest.replace("active", "gone")), "status"),
        (format!("{{{id},{}}}", rest.replace("2026-01", "soon")), "updated_at"),
    ] {
        let fault = User::from_record(record.as_bytes()).expect_err(&record);
        assert_eq!(fault.member, member, "{record}");
        assert_eq!(fault.to_string(), format!("a stored record cannot be read at {member}"));
    }
}
