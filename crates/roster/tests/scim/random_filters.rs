//! Random filters over random users find the users that the evaluator in `judge` computes from what
//! SCIM shows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    judge::{Attribute, Condition, Place, Test},
    people::{Random, TEXTS, attributes_of, random_users, resource},
    service::{Backend, Service},
    support::{ROSTER_URN, USER_URN, escaped, get, put, read},
};

const PEOPLE: usize = 70;
const FILTERS: usize = 500;
const OF_TEXTS: [&str; 10] = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr"];
const OF_ORDER: [&str; 7] = ["eq", "ne", "gt", "ge", "lt", "le", "pr"];
const OF_BYTES: [&str; 6] = ["eq", "ne", "co", "sw", "ew", "pr"];
const OF_EQUALITY: [&str; 3] = ["eq", "ne", "pr"];
/// Creates random users of both interfaces, and changes some of them.
async fn fill(service: &Service, tables: &[Attribute], random: &mut Random) {
    for user in random_users(service, tables, random, PEOPLE).await {
        service.clock.step(7);
        if random.once_in(3) {
            let (name, id) = (user["userName"].as_str(), user["id"].as_str().expect("an id"));
            let body = resource(random, tables, name.expect("a name"), id);
            put(service, &user, body).await.expect(200);
        }
    }
}

/// All users as SCIM shows them, with the attributes that are shown only on request.
async fn shown(service: &Service) -> Vec<Value> {
    let mut page = read(service, "/Users?count=1000").await;
    let states = read(service, &format!("/Users?count=1000&attributes={ROSTER_URN}:status")).await;
    let users = page["Resources"].as_array_mut().expect("users");
    for (user, state) in users.iter_mut().zip(states["Resources"].as_array().expect("users")) {
        assert_eq!(user["id"], state["id"]);
        user[ROSTER_URN]["status"] = state[ROSTER_URN]["status"].clone();
    }
    page["Resources"].as_array().expect("users").clone()
}

/// Generates filters and their texts.
struct Maker<'a> {
    random: Random,
    tables: &'a [Attribute],
    users: &'a [Value],
}

impl Maker<'_> {
    fn condition(&mut self, depth: usize, within: Option<&Attribute>) -> Condition {
        let some = |maker: &mut Self| {
            let count = 2 + maker.random.below(2);
            (0..count).map(|_| maker.condition(depth - 1, within)).collect()
        };
        match self.random.below(if depth == 0 { 6 } else { 11 }) {
            0 if within.is_none() => self.brackets(depth),
            0..=5 => Condition::Test(self.test(within)),
            6 | 7 => Condition::All(some(self)),
            8 | 9 => Condition::Any(some(self)),
            _ => Condition::Not(Box::new(self.condition(depth - 1, within))),
        }
    }

    fn brackets(&mut self, depth: usize) -> Condition {
        let with_parts = |one: &&Attribute| !one.parts.is_empty() && one.name != "groups";
        let all: Vec<&Attribute> = self.tables.iter().filter(with_parts).collect();
        let attribute = (*self.random.pick(&all)).clone();
        let inner = self.condition(depth.min(1), Some(&attribute));
        Condition::Value(attribute, Box::new(inner))
    }

    fn place(&mut self, within: Option<&Attribute>) -> Place {
        // Filters on `location` and `groups` are not supported.
        let asked = |one: &&Attribute| !["groups", "location"].contains(&one.name.as_str());
        let parts = |of: &Attribute| of.parts.iter().filter(asked).cloned().collect::<Vec<_>>();
        if let Some(attribute) = within {
            let part = self.random.pick(&parts(attribute)).clone();
            return Place::Here(attribute.clone(), part);
        }
        let all: Vec<&Attribute> = self.tables.iter().filter(asked).collect();
        let attribute = (*self.random.pick(&all)).clone();
        if attribute.name == "attributes" {
            let keys = ["a", "b", "c", "ab", "a.b", "b.a"];
            let keys = self.random.pick(&keys).split('.').map(str::to_owned).collect();
            return Place::Own(attribute, keys);
        }
        if attribute.parts.is_empty() || self.random.once_in(5) {
            return Place::Whole(attribute);
        }
        let part = self.random.pick(&parts(&attribute)).clone();
        Place::Part(attribute, part)
    }

    fn test(&mut self, within: Option<&Attribute>) -> Test {
        let place = self.place(within);
        let name = place.name();
        let operators: &[&'static str] = match (place.kind(), &place) {
            (_, Place::Own(..)) => &OF_TEXTS,
            ("complex", _) => &["pr"],
            ("boolean", _) => &OF_EQUALITY,
            ("dateTime", _) => &OF_ORDER,
            ("binary", _) => &OF_BYTES,
            _ if name == "meta.version" || name == "status" => &OF_EQUALITY,
            _ => &OF_TEXTS,
        };
        let operator = *self.random.pick(operators);
        if ["eq", "ne"].contains(&operator) && self.random.once_in(8) {
            return Test { place, operator, literal: Value::Null };
        }
        let literal = self.literal(&place, operator);
        let by_text = ["co", "sw", "ew"].contains(&operator);
        // For the values of `attributes`, not every type supports every operator.
        let goes = literal.is_string()
            || (literal.is_number() && !by_text)
            || (literal.is_boolean() && OF_EQUALITY.contains(&operator));
        let operator = if goes { operator } else { "pr" };
        Test { place, operator, literal }
    }

    /// A value that some user has there, a part of it, or another value.
    fn literal(&mut self, place: &Place, operator: &str) -> Value {
        if place.kind() == "boolean" {
            return json!(self.random.once_in(2));
        }
        let mut values = Vec::new();
        for user in self.users {
            let heres = match place {
                Place::Here(attribute, _) => {
                    let here = &user[&attribute.name];
                    here.as_array().cloned().unwrap_or_else(|| vec![here.clone()])
                }
                Place::Whole(_) | Place::Part(..) | Place::Own(..) => vec![Value::Null],
            };
            for here in heres {
                values.extend(place.found(user, &here).into_iter().cloned());
            }
        }
        values.retain(|value| !value.is_null() && !value.is_object());
        let is_fixed =
            place.kind() == "dateTime" || ["status", "meta.version"].contains(&&*place.name());
        if !is_fixed && self.random.once_in(6) {
            return json!(self.random.pick(&TEXTS));
        }
        if values.is_empty() {
            return if is_fixed { json!("active") } else { json!(self.random.pick(&TEXTS)) };
        }
        let value = self.random.pick(&values).clone();
        match value.as_str().filter(|_| !is_fixed) {
            Some(text) => json!(self.twisted(text, operator)),
            None => value,
        }
    }

    fn twisted(&mut self, text: &str, operator: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let at = self.random.below(chars.len() + 1);
        match self.random.below(6) {
            0 => text.to_uppercase(),
            1 => text.to_lowercase(),
            2 | 3 if operator != "eq" => chars[at..].iter().take(3).collect(),
            4 if operator != "eq" => chars[..at].iter().collect(),
            _ => text.to_owned(),
        }
    }

    /// A word in lower or upper case.
    fn cased(&mut self, word: &str) -> String {
        if self.random.once_in(5) { word.to_uppercase() } else { word.to_owned() }
    }

    fn text(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::All(all) => self.joined(all, "and"),
            Condition::Any(any) => self.joined(any, "or"),
            Condition::Not(inner) => {
                let (not, inner) = (self.cased("not"), self.text(inner));
                let space = if self.random.once_in(2) { " " } else { "" };
                format!("{not}{space}({inner})")
            }
            Condition::Value(attribute, inner) => {
                format!("{}[{}]", self.named(attribute), self.text(inner))
            }
            Condition::Test(test) => {
                let place = match &test.place {
                    Place::Here(_, part) => self.cased(&part.name),
                    Place::Part(attribute, part) => {
                        format!("{}.{}", self.named(attribute), self.cased(&part.name))
                    }
                    Place::Whole(attribute) => self.named(attribute),
                    Place::Own(attribute, keys) => {
                        format!("{}.{}", self.named(attribute), keys.join("."))
                    }
                };
                let operator = self.cased(test.operator);
                let pr = test.operator == "pr";
                let literal = if pr { String::new() } else { format!(" {}", test.literal) };
                format!("{place} {operator}{literal}")
            }
        }
    }

    /// Joins conditions, with parentheses where they are needed and sometimes where they are not.
    fn joined(&mut self, parts: &[Condition], word: &str) -> String {
        let mut texts = Vec::new();
        for part in parts {
            let text = self.text(part);
            let needed = word == "and" && matches!(part, Condition::Any(_));
            texts.push(if needed || self.random.once_in(6) { format!("({text})") } else { text });
        }
        texts.join(&format!(" {} ", self.cased(word)))
    }

    fn named(&mut self, attribute: &Attribute) -> String {
        let name = self.cased(&attribute.name);
        match &attribute.urn {
            Some(urn) => format!("{urn}:{name}"),
            None if self.random.once_in(8) => format!("{USER_URN}:{name}"),
            None => name,
        }
    }
}

fn ids(users: &[Value]) -> Vec<&str> {
    users.iter().map(|user| user["id"].as_str().expect("an id")).collect()
}

pub(crate) async fn random_filters_find_the_expected_users(backend: Backend) {
    let service = backend.open().await;
    let tables = attributes_of(&service).await;
    fill(&service, &tables, &mut Random(20_261_121)).await;
    let users = shown(&service).await;
    assert!(users.len() > 100, "{} users", users.len());
    let mut maker = Maker { random: Random(7_644), tables: &tables, users: &users };
    let (mut some, mut places) = (0, BTreeSet::new());
    let mut by_operator: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..FILTERS {
        let condition = maker.condition(2, None);
        let text = maker.text(&condition);
        if text.len() > 4000 {
            continue;
        }
        let target = format!("/Users?count=1000&filter={}", escaped(&text));
        let reply = get(&service, &target).await;
        assert_eq!(reply.status(), 200, "{text}: {}", reply.text());
        let page = reply.json();
        let found = ids(page["Resources"].as_array().expect("users"));
        let meets = |user: &&Value| condition.holds(user, &Value::Null);
        let wanted: Vec<Value> = users.iter().filter(meets).cloned().collect();
        let wanted = ids(&wanted);
        if found != wanted {
            let differ = |user: &&Value| {
                let id = user["id"].as_str().expect("an id");
                found.contains(&id) != wanted.contains(&id)
            };
            let first = users.iter().find(differ).expect("somebody");
            let is_found = found.contains(&first["id"].as_str().expect("an id"));
            panic!("{text}\nfound: {is_found}\n{first:#}\n{condition:#?}");
        }
        assert_eq!(page["totalResults"], wanted.len(), "{text}");
        some += usize::from(!found.is_empty() && found.len() < users.len());
        note(&condition, &mut places, &mut by_operator);
    }
    assert!(some > FILTERS / 3, "{some} filters find some users but not all");
    assert!(places.len() > 60, "{} places: {places:?}", places.len());
    assert_eq!(by_operator.len(), OF_TEXTS.len(), "{by_operator:?}");
}

/// Records the attributes and operators of a filter.
fn note(
    condition: &Condition,
    places: &mut BTreeSet<String>,
    operators: &mut BTreeMap<&'static str, usize>,
) {
    match condition {
        Condition::All(all) | Condition::Any(all) => {
            for one in all {
                note(one, places, operators);
            }
        }
        Condition::Not(inner) | Condition::Value(_, inner) => note(inner, places, operators),
        Condition::Test(test) => {
            places.insert(test.place.name());
            *operators.entry(test.operator).or_default() += 1;
        }
    }
}
