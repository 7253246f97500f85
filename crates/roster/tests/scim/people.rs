//! Random users: for REST from the generators of the testkit, for SCIM from the service's own
//! schemas.

use std::collections::BTreeSet;

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use roster_core::{Json, json::write_json, text::nfc};
use roster_testkit::arbitrary::person;
use serde_json::{Map, Value, json};

use crate::{
    judge::Attribute,
    service::Service,
    support::{USER_URN, read, send},
};

pub(crate) const TEXTS: [&str; 16] = [
    "Ada",
    "ADA",
    "ada",
    "zo\u{eb}",
    "Zoe\u{308}",
    "stra\u{df}e",
    "STRASSE",
    "\u{130}x",
    "10",
    "9",
    "a b",
    "%",
    "_",
    "\"\\",
    "\u{10400}",
    "work",
];
const KINDS: [&str; 3] = ["work", "home", "WORK"];

/// The generator xorshift64, which is repeatable and random enough here.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).expect("a number")).expect("a number")
    }

    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Every attribute in the schemas of the service.
pub(crate) async fn attributes_of(service: &Service) -> Vec<Attribute> {
    let schemas = read(service, "/Schemas").await;
    let mut found = Vec::new();
    for schema in schemas["Resources"].as_array().expect("schemas") {
        let id = schema["id"].as_str().expect("a URN");
        let urn = (id != USER_URN).then_some(id);
        let attributes = schema["attributes"].as_array().expect("attributes");
        if id == USER_URN || id.ends_with(":User") {
            found
                .extend(attributes.iter().map(|attributes_of| Attribute::read(urn, attributes_of)));
        }
    }
    found
}

/// A random user with the attributes of the schemas, a unique name and a unique mark.
pub(crate) fn resource(random: &mut Random, tables: &[Attribute], name: &str, mark: &str) -> Value {
    let mut user = json!({"schemas": [USER_URN], "userName": name});
    for attribute in tables.iter().filter(|one| !one.is_read_only && one.name != "attributes") {
        if attribute.name == "userName" || random.once_in(2) {
            continue;
        }
        let value = match attribute.name.as_str() {
            "emails" => json!([{"value": format!("Ada{mark}@B\u{fc}cher.example"), "type": "x"},
                {"value": format!("ada{mark}@other.example"), "primary": true}]),
            _ if attribute.multi_valued => {
                let count = 1 + random.below(3);
                let flagged = random.below(4);
                let mut entries: Vec<Value> =
                    (0..count).map(|_| value(random, attribute)).collect();
                for (at, entry) in entries.iter_mut().enumerate() {
                    if entry.get("primary").is_some() {
                        entry["primary"] = json!(at == flagged);
                    }
                }
                let mut seen = BTreeSet::new();
                entries.retain(|entry| seen.insert(entry_key(entry)));
                Value::Array(entries)
            }
            _ => value(random, attribute),
        };
        match &attribute.urn {
            Some(urn) => user[urn][&attribute.name] = value,
            None => user[&attribute.name] = value,
        }
    }
    user
}

/// Creates random users by both interfaces, at most `most` of each. Returns them as SCIM shows
/// them.
pub(crate) async fn random_users(
    service: &Service,
    tables: &[Attribute],
    random: &mut Random,
    most: usize,
) -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    let mut users = Vec::new();
    for number in 0..most {
        let tree: Json = person(number).new_tree(&mut runner).expect("a body").current();
        let mut body = Vec::new();
        write_json(&mut body, &tree);
        let made = service.request("POST", "/users").body("application/json", body).send().await;
        if made.status() == 201 {
            let id = made.json()["id"].as_str().expect("an id").to_owned();
            let user = read(service, &format!("/Users/{id}")).await;
            // SCIM merges repeated entries when they are sent.
            if !repeats(&user) {
                users.push(user);
            }
        }
        service.clock.step(3);
        let name = format!("{} {}", random.pick(&["Ada", "zo\u{eb}", "u"]), most + number);
        let body = resource(random, tables, &name, &number.to_string());
        let made = send(service, "POST", "/Users", &body).send().await;
        assert_eq!(made.status(), 201, "{body} {}", made.text());
        users.push(made.json());
        service.clock.step(3);
    }
    assert!(users.len() > most + most / 3, "most of them are valid: {}", users.len());
    users
}

/// The part that must be unique in a list.
fn entry_key(entry: &Value) -> (String, String) {
    (entry["value"].to_string(), entry["type"].to_string())
}

/// Whether some list of the user repeats an entry.
fn repeats(user: &Value) -> bool {
    let lists = user.as_object().expect("an object").values().filter_map(Value::as_array);
    let mut entries = lists.filter(|list| list.iter().any(|entry| entry.get("value").is_some()));
    entries.any(|list| {
        let mut seen = BTreeSet::new();
        !list.iter().all(|entry| seen.insert(entry_key(entry)))
    })
}

fn value(random: &mut Random, attribute: &Attribute) -> Value {
    match attribute.kind.as_str() {
        "dateTime" => json!(random.pick(&["2026-01-01T00:00:00.000Z", "2027-01-31T12:00:00.500Z"])),
        "boolean" => json!(random.once_in(2)),
        "complex" => {
            let parts = attribute.parts.iter().filter(|part| {
                // If there is a `value`, an entry needs it.
                part.name == "value" || !random.once_in(3)
            });
            let names: Vec<&Attribute> = parts.collect();
            let parts = names.into_iter().map(|part| (part.name.clone(), value(random, part)));
            Value::Object(parts.collect::<Map<_, _>>())
        }
        "binary" => json!(random.pick(&["MIIB", "miib", "MIIDQzCC"])),
        "reference" => json!(random.pick(&["https://a.example/A", "https://a.example/a"])),
        _ if attribute.name == "type" => json!(random.pick(&KINDS)),
        _ if attribute.name == "value" && random.once_in(4) => json!("+44 (20) 1"),
        _ => json!(nfc((*random.pick(&TEXTS)).to_owned())),
    }
}
