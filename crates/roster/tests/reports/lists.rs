//! Random changes of lists by SCIM, of which many cannot be read.
//!
//! Each step sends one operation whose entries are well formed, misspelt, half known or of another
//! kind. A rejected operation must change nothing. An accepted one must contain no entry that
//! cannot be read, and every value that it does not name for removal must still be there.
//!
//! `ROSTER_LIST_CHANGES`, when the test is built, is the number of operations for each profile.

use proptest::{
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree as _,
    test_runner::TestRunner,
};
use roster_testkit::runtime::block_on;
use serde_json::{Value, json};

use crate::service::{Backend, Engine, Service, Setup};

/// The number of operations for each profile in `./test`.
const CHANGES: usize = 300;

const USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const ACME: &str = "urn:ietf:params:scim:schemas:extension:acme:2.0:User";
const GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// A list of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Emails,
    Roles,
    PhoneNumbers,
    Addresses,
    Tags,
    Members,
}

/// An entry of an operation.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// With the value of this number, and perhaps a type.
    Whole(u8, Option<&'static str>),
    /// That cannot be read.
    Bad(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Remove,
    Replace,
}

/// How the operation names the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Path,
    QualifiedPath,
    InValue,
    /// By a condition on the type, or on the value of members and tags.
    Condition,
}

#[derive(Clone, Debug)]
enum Sent {
    Entries(Vec<Entry>),
    /// One entry without a list around it.
    Single(Entry),
    Null,
    Empty,
    /// No value.
    Nothing,
}

#[derive(Clone, Debug)]
struct Change {
    list: List,
    op: Op,
    form: Form,
    sent: Sent,
    one: Index,
}

fn changes() -> impl Strategy<Value = Change> {
    let types = select(vec![None, Some("work"), Some("home")]);
    let entry = prop_oneof![
        3 => (0_u8..4, types).prop_map(|(value, kind)| Entry::Whole(value, kind)),
        1 => (0_u8..12).prop_map(Entry::Bad),
    ];
    let sent = prop_oneof![
        6 => prop::collection::vec(entry.clone(), 1..4).prop_map(Sent::Entries),
        2 => entry.prop_map(|entry| match entry {
            // Without a list around them these mean that there is no value.
            Entry::Bad(3) => Sent::Null,
            Entry::Bad(4) => Sent::Empty,
            entry @ (Entry::Whole(..) | Entry::Bad(_)) => Sent::Single(entry),
        }),
        1 => Just(Sent::Null),
        1 => Just(Sent::Empty),
        1 => Just(Sent::Nothing),
    ];
    let lists =
        [List::Emails, List::Roles, List::PhoneNumbers, List::Addresses, List::Tags, List::Members];
    let forms = [Form::Path, Form::QualifiedPath, Form::InValue, Form::Condition];
    let ops = [Op::Add, Op::Add, Op::Remove, Op::Replace];
    (select(lists.to_vec()), select(ops.to_vec()), select(forms.to_vec()), sent, any::<Index>())
        .prop_map(|(list, op, form, sent, one)| Change { list, op, form, sent, one })
}

/// The resources of a run.
struct Place {
    service: Service,
    user: String,
    group: String,
    /// Who can be a member.
    people: Vec<String>,
}

impl Place {
    async fn new(engine: Engine, strict: bool) -> Self {
        let service = Backend::new(engine).open_with(Setup::default()).await;
        if strict {
            service.close().await;
        }
        let tags = json!([{"name": "tags", "type": "string", "multi_valued": true,
            "scim_schema": ACME}]);
        let schema = json!({"attributes": tags});
        let reply = service.request("PUT", "/schema").json(&schema).send().await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        let mut people = Vec::new();
        for number in 0..4 {
            let body = json!({"schemas": [USER], "userName": format!("user-{number}")});
            people.push(create(&service, "/scim/v2/Users", &body).await);
        }
        let user = people[0].clone();
        let body = json!({"schemas": [GROUP], "displayName": "team"});
        let group = create(&service, "/scim/v2/Groups", &body).await;
        Self { service, user, group, people }
    }

    fn target(&self, list: List) -> String {
        match list {
            List::Members => format!("/scim/v2/Groups/{}", self.group),
            List::Emails | List::Roles | List::PhoneNumbers | List::Addresses | List::Tags => {
                format!("/scim/v2/Users/{}", self.user)
            }
        }
    }

    /// The entries of the list, and the version of the resource.
    async fn get(&self, list: List) -> (Vec<Value>, Value) {
        let reply = self.service.request("GET", &self.target(list)).send().await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        let body: Value = serde_json::from_str(reply.text()).expect("JSON");
        let is_declared = list == List::Tags;
        let found = if is_declared { &body[ACME]["tags"] } else { &body[list.name()] };
        (found.as_array().cloned().unwrap_or_default(), body["meta"]["version"].clone())
    }

    fn whole(&self, list: List, number: u8, kind: Option<&str>) -> Value {
        let mut entry = match list {
            List::Emails => json!({"value": format!("a{number}@x.example")}),
            List::Roles => json!({"value": format!("role-{number}")}),
            List::PhoneNumbers => json!({"value": format!("+49 30 {number}")}),
            List::Addresses => json!({"locality": format!("town {number}")}),
            List::Tags => return json!(format!("tag-{number}")),
            List::Members => return json!({"value": self.people[usize::from(number)]}),
        };
        if let Some(kind) = kind {
            entry["type"] = json!(kind);
        }
        entry
    }

    fn entry(&self, list: List, entry: Entry) -> Value {
        match entry {
            Entry::Whole(number, kind) => self.whole(list, number, kind),
            Entry::Bad(number) => bad(list, number),
        }
    }
}

impl List {
    const fn name(self) -> &'static str {
        match self {
            Self::Emails => "emails",
            Self::Roles => "roles",
            Self::PhoneNumbers => "phoneNumbers",
            Self::Addresses => "addresses",
            Self::Tags => "tags",
            Self::Members => "members",
        }
    }

    const fn urn(self) -> &'static str {
        match self {
            Self::Members => GROUP,
            Self::Tags => ACME,
            Self::Emails | Self::Roles | Self::PhoneNumbers | Self::Addresses => USER,
        }
    }
}

/// The entry that no profile can read as a whole one, and that has a known part.
const BAD_WITH_A_PART: u8 = 1;

/// An entry that no profile can read.
fn bad(list: List, number: u8) -> Value {
    match number {
        0 => json!({"id": "x"}),
        BAD_WITH_A_PART => json!({"display": "x", "colour": "red"}),
        2 => json!({}),
        3 => json!(null),
        4 => json!([]),
        5 => json!({"type": "work", "adress": "a@x.example"}),
        6 => json!({"VALU": "x"}),
        7 => json!([[{"value": "x"}]]),
        8 if list != List::Addresses => json!({"value": null}),
        9 if list != List::Addresses => json!({"value": {"x": 1}}),
        10 => json!({"type": {"a": 1}}),
        _ => json!({"city": "Wien"}),
    }
}

async fn create(service: &Service, target: &str, body: &Value) -> String {
    let request = service.request("POST", target);
    let reply = request.body("application/scim+json", body.to_string()).send().await;
    assert_eq!(reply.status(), 201, "{}", reply.text());
    let created: Value = serde_json::from_str(reply.text()).expect("JSON");
    created["id"].as_str().expect("an id").to_owned()
}

/// The operation, and the entries that its condition selects.
fn operation(place: &Place, change: &Change, before: &[Value]) -> (Value, Vec<Value>) {
    let list = change.list;
    let value = match &change.sent {
        Sent::Entries(entries) => {
            Some(entries.iter().map(|one| place.entry(list, *one)).collect::<Value>())
        }
        Sent::Single(entry) => Some(place.entry(list, *entry)),
        Sent::Null => Some(Value::Null),
        Sent::Empty => Some(json!([])),
        Sent::Nothing => None,
    };
    let op = match change.op {
        Op::Add => "add",
        Op::Remove => "remove",
        Op::Replace => "replace",
    };
    let qualified = format!("{}:{}", list.urn(), list.name());
    let name = if list == List::Tags { qualified.clone() } else { list.name().to_owned() };
    let mut operation = json!({"op": op});
    let mut selected = Vec::new();
    match change.form {
        Form::Path => operation["path"] = json!(name),
        Form::QualifiedPath => operation["path"] = json!(qualified),
        Form::InValue => {}
        Form::Condition => {
            let (part, text) = match list {
                List::Tags | List::Members if before.is_empty() => ("value", place.user.clone()),
                List::Tags => ("value", change.one.get(before).as_str().expect("text").to_owned()),
                List::Members => {
                    let one = &change.one.get(before)["value"];
                    ("value", one.as_str().expect("an id").to_owned())
                }
                List::Emails | List::Roles | List::PhoneNumbers | List::Addresses => {
                    ("type", "work".to_owned())
                }
            };
            let is_it = |entry: &&Value| entry[part] == text.as_str() || **entry == text.as_str();
            selected.extend(before.iter().filter(is_it).cloned());
            operation["path"] = json!(format!("{name}[{part} eq \"{text}\"]"));
        }
    }
    let value = if change.form == Form::InValue {
        value.map(|value| json!({ name: value }))
    } else {
        value
    };
    if let Some(value) = value {
        operation["value"] = value;
    }
    (operation, selected)
}

/// What a response after a change contradicts.
fn fault(
    place: &Place,
    change: &Change,
    selected: &[Value],
    before: &[Value],
    after: &[Value],
) -> Option<String> {
    let entries: Vec<Entry> = match &change.sent {
        Sent::Entries(entries) => entries.clone(),
        Sent::Single(entry) => vec![*entry],
        Sent::Null | Sent::Empty | Sent::Nothing => Vec::new(),
    };
    // A condition selects entries that are there, so a value may have some of their parts.
    let may_be_partial = change.form == Form::Condition && !selected.is_empty();
    let is_unreadable = |entry: &Entry| match entry {
        Entry::Bad(BAD_WITH_A_PART) => !may_be_partial,
        Entry::Bad(_) => true,
        Entry::Whole(..) => false,
    };
    if entries.iter().any(is_unreadable) {
        return Some("an entry that cannot be read was accepted".to_owned());
    }
    let named: Vec<Value> = entries.iter().map(|entry| place.entry(change.list, *entry)).collect();
    let is_named = |entry: &Value| named.iter().any(|named| same(named, entry));
    let may_go = |entry: &Value| match (change.op, change.form) {
        (Op::Add, Form::Condition) => selected.contains(entry),
        (Op::Add, _) => false,
        (_, Form::Condition) => selected.contains(entry),
        (Op::Replace, _) => true,
        (Op::Remove, _) => matches!(change.sent, Sent::Null | Sent::Nothing) || is_named(entry),
    };
    let is_there = |entry: &Value| after.iter().any(|found| same(entry, found));
    if let Some(lost) = before.iter().find(|entry| !may_go(entry) && !is_there(entry)) {
        return Some(format!("{lost} was not named for removal, and is gone"));
    }
    let is_set = change.op != Op::Remove && change.form != Form::Condition;
    let missing = named.iter().find(|entry| is_set && !is_there(entry));
    missing.map(|entry| format!("{entry} was accepted, and is not there"))
}

/// Whether an entry has the value of another. The type of members is computed.
fn same(one: &Value, other: &Value) -> bool {
    match one.get("value").or_else(|| one.get("locality")) {
        Some(value) => [other.get("value"), other.get("locality")].contains(&Some(value)),
        None => one == other,
    }
}

/// Changes lists at random.
pub(crate) fn change_lists(engine: Engine, strict: bool) {
    let number = option_env!("ROSTER_LIST_CHANGES").and_then(|number| number.parse().ok());
    let mut runner = TestRunner::deterministic();
    let strategy = changes();
    let mut next = || strategy.new_tree(&mut runner).expect("a change").current();
    block_on(async {
        let place = Place::new(engine, strict).await;
        let (mut accepted, number) = (0, number.unwrap_or(CHANGES));
        for _ in 0..number {
            let change = next();
            let (before, version) = place.get(change.list).await;
            let (operation, selected) = operation(&place, &change, &before);
            let body = json!({"schemas": [PATCH], "Operations": [operation]});
            let request = place.service.request("PATCH", &place.target(change.list));
            let reply = request.body("application/scim+json", body.to_string()).send().await;
            let (after, version_after) = place.get(change.list).await;
            let fault = if reply.status() >= 400 {
                let is_same = before == after && version == version_after;
                (!is_same).then(|| "a rejected operation changed something".to_owned())
            } else {
                accepted += 1;
                fault(&place, &change, &selected, &before, &after)
            };
            if let Some(fault) = fault {
                panic!(
                    "{fault}\n{operation}\n{} {}\nbefore {before:?}\nafter {after:?}",
                    reply.status(),
                    reply.text()
                );
            }
        }
        assert!(accepted > number / 10 && accepted < number, "{accepted} of {number} accepted");
    });
}
