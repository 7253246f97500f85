//! Fuzzes PATCH with bodies of valid and mutated operations.
//!
//! `cargo run --release -p roster-scim --example fuzz_patch -- 10000000 [SEED]` runs this number of
//! bodies, `-- 3600s` runs for this number of seconds. Each body either fails with a detail, or its
//! result has the form of the attribute table and the old read-only values. Adding the same value
//! again changes nothing. No member of a group is both added and removed.

use std::{
    env, io,
    io::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use roster_core::{
    Json, Work,
    json::{self, write_json},
    limits::COMPARISONS_MAX,
};
use roster_scim::{
    ResourceType, ScimError, Strictness,
    patch::{self, Op, Operation, group},
    schema::{AttributeSchema, AttributeType, GROUP, USER},
};

const ADA: &str = r#"{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User"],
    "id":"0190d1c2-8000-7000-8000-000000000001","userName":"ada","title":"Countess","active":true,
    "name":{"givenName":"Ada","familyName":"King"},
    "emails":[{"value":"ada@work.example","type":"work","primary":true},
        {"value":"ada@home.example","type":"home"}],
    "phoneNumbers":[{"value":"+44 20","type":"mobile"}],
    "addresses":[{"type":"work","locality":"London","country":"GB"}],
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"Engines",
        "manager":{"value":"m"}},
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User":{"status":"active",
        "email_verified":true,"attributes":{"team":"core","tags":["a"],"deep":{"x":1}}},
    "meta":{"resourceType":"User","created":"2024-07-20T20:08:23.296Z",
        "lastModified":"2024-07-20T20:08:23.296Z","version":"W/\"3\""}}"#;
const BARE: &str = r#"{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],
    "id":"0190d1c2-8000-7000-8000-000000000002","userName":"b"}"#;
const ENGINES: &str = r#"{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],
    "id":"0190d1c2-8000-7000-8000-00000000000a","displayName":"Engines"}"#;

const OPS: [&str; 8] = ["add", "replace", "remove", "Add", "Replace", "Remove", "ADD", "move"];

const PATHS: [&str; 34] = [
    "title",
    "userName",
    "name",
    "name.givenName",
    "active",
    "id",
    "meta.version",
    "schemas",
    "emails",
    "emails.type",
    "emails.primary",
    "emails[type eq \"work\"]",
    "emails[type eq \"work\"].value",
    "emails[type eq \"home\" and value co \"ada\"].primary",
    "emails[not (type pr)].display",
    "emails[type eq \"x\" or primary eq true].type",
    "phoneNumbers[type eq \"mobile\"].value",
    "addresses[type eq \"work\"].locality",
    "addresses[country eq \"GB\"]",
    "roles[primary eq \"True\"].value",
    "x509Certificates[value sw \"MII\"]",
    "photos",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value",
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User:attributes.deep.x",
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User:attributes",
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User:status",
    "urn:ietf:params:scim:schemas:core:2.0:User:nickName",
    "displayName",
    "members",
    "members[value eq \"0190d1c2-8000-7000-8000-000000000001\"]",
    "members[value eq \"x\" or value eq \"0190d1c2-8000-7000-8000-000000000002\"].value",
    "externalId",
];

const VALUES: [&str; 26] = [
    "null",
    "true",
    "\"False\"",
    "7",
    "-1.5e-7",
    "\"\"",
    "\"x\"",
    "[]",
    "[\"a\"]",
    "[[\"a\"]]",
    "{}",
    r#"{"value":"n@x.example","type":"work"}"#,
    r#"{"value":"n@x.example","primary":true,"display":"D"}"#,
    r#"[{"value":"ada@work.example","type":"work"},{"value":"z@x.example","primary":"True"}]"#,
    r#"{"primary":true}"#,
    r#"{"type":"other","locality":"Paris","primary":true}"#,
    r#"{"givenName":"G","familyName":null,"colour":"x"}"#,
    r#"{"title":"T","name.familyName":"F","emails[type eq \"work\"].value":"e@x.example"}"#,
    r#"{"active":"False","password":"secret","urn:x:y":1}"#,
    r#"{"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"division":"V",
        "manager":"m"}}"#,
    r#"{"id":"0190d1c2-8000-7000-8000-000000000001","meta":{"version":"W/\"1\""}}"#,
    r#"{"members":[{"value":"0190d1c2-8000-7000-8000-000000000003"}],"displayName":"D"}"#,
    r#"[{"value":"0190d1c2-8000-7000-8000-000000000001","$ref":null,"type":"User"}]"#,
    r#"{"team":null,"tags":["b"],"deep":{"y":[1,{"z":null}]}}"#,
    r#"["urn:ietf:params:scim:schemas:core:2.0:User"]"#,
    r#"{"Value":"a","value":"b"}"#,
];

const PIECES: [&str; 22] = [
    "[", "]", ".", "\"", "\\", " and ", " or ", "not (", ")", " eq ", " pr", " co ", "value",
    "type", "primary", "null", "urn:", ":", "$ref", "é", "\u{0}", "",
];

/// The generator xorshift64: repeatable, and as random as mutation needs.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(self.0 % limit).unwrap_or(0)
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }

    /// One of the texts, usually unchanged.
    fn text(&mut self, texts: &[&str]) -> String {
        let mut chars: Vec<char> = self.pick(texts).chars().collect();
        let mutations = self.below(8).saturating_sub(5);
        for _ in 0..mutations {
            let at = self.below(chars.len() + 1);
            let end = (at + self.below(6)).min(chars.len());
            match self.below(4) {
                0 => drop(chars.drain(at..end)),
                1 => drop(chars.splice(at..at, self.pick(&PIECES).chars())),
                2 => drop(chars.splice(at..end, self.pick(&PIECES).chars())),
                _ => {
                    let other: Vec<char> = self.pick(texts).chars().collect();
                    chars.truncate(at);
                    chars.extend(other.into_iter().skip(at));
                }
            }
        }
        chars.into_iter().collect()
    }

    fn value(&mut self) -> Option<Json> {
        let text = self.text(&VALUES);
        json::read(text.as_bytes()).ok()
    }

    fn operation(&mut self) -> Json {
        let mut members = vec![("op".to_owned(), Json::Text(self.text(&OPS)))];
        if self.below(5) > 0 {
            members.push(("path".to_owned(), Json::Text(self.text(&PATHS))));
        }
        if self.below(8) > 0 {
            members.extend(self.value().map(|value| ("value".to_owned(), value)));
        }
        Json::Object(members)
    }

    fn body(&mut self) -> Json {
        let count = 1 + self.below(4);
        let operations = (0..count).map(|_| self.operation()).collect();
        let urns = Json::Array(vec![Json::Text(patch::PATCH_URN.to_owned())]);
        Json::Object(vec![
            ("schemas".to_owned(), urns),
            ("Operations".to_owned(), Json::Array(operations)),
        ])
    }
}

/// Counts of the run.
#[derive(Default)]
struct Count {
    executions: u64,
    taken: u64,
}

type Checked = Result<(), String>;

fn check(body: &Json, users: &[Json], engines: &Json, count: &mut Count) -> Checked {
    for strictness in Strictness::ALL {
        let operations = match patch::read(body.clone(), *strictness) {
            Ok(operations) => operations,
            Err(error) => {
                well_told(&error)?;
                continue;
            }
        };
        for user in users {
            match apply(user, &operations, *strictness) {
                Err(error) => well_told(&error)?,
                Ok(patched) => {
                    count.taken += 1;
                    has_form(&USER, &patched)?;
                    is_kept(user, &patched)?;
                    adds_once(&operations, &patched, *strictness)?;
                }
            }
        }
        let mut text = Vec::new();
        write_json(&mut text, body);
        let operations = group::read(&text, *strictness).map_err(|fault| fault.detail)?;
        let work = Work::new(COMPARISONS_MAX);
        let patched = operations
            .and_then(|operations| group::apply(engines.clone(), &operations, *strictness, &work));
        match patched {
            Err(error) => well_told(&error)?,
            Ok(patched) => {
                has_form(&GROUP, &patched.tree)?;
                is_kept(engines, &patched.tree)?;
                let members = patched.members;
                if !members.added.is_disjoint(&members.removed)
                    || (members.replaces && !members.removed.is_empty())
                {
                    return Err(format!("members join and leave: {members:?}"));
                }
            }
        }
    }
    Ok(())
}

fn apply(user: &Json, operations: &[Operation], strictness: Strictness) -> Result<Json, ScimError> {
    let work = Work::new(COMPARISONS_MAX);
    patch::apply(&USER, user.clone(), operations.to_vec(), strictness, &work)
}

fn well_told(error: &ScimError) -> Checked {
    if error.status == 400 && error.scim_type.is_some() && !error.detail.is_empty() {
        return Ok(());
    }
    Err(format!("refused with {error:?}"))
}

/// Checks that read-only values are unchanged.
fn is_kept(before: &Json, after: &Json) -> Checked {
    let kept = ["id", "meta"].iter().all(|name| before.member(name) == after.member(name));
    let named = after.member("userName").or_else(|| after.member("displayName")).is_some();
    if kept && named { Ok(()) } else { Err(format!("what is made is not kept in {after:?}")) }
}

/// Checks that the same addition again changes nothing.
fn adds_once(operations: &[Operation], patched: &Json, strictness: Strictness) -> Checked {
    let [Operation { op: Op::Add, path, .. }] = operations else { return Ok(()) };
    // The operation may change a value so that its condition no longer selects it.
    let conditional = path.as_deref().is_none_or(|path| path.contains('['));
    if conditional {
        return Ok(());
    }
    match apply(patched, operations, strictness) {
        Ok(again) if again == *patched => Ok(()),
        other => Err(format!("added once it is {patched:?}, added twice {other:?}")),
    }
}

/// Checks that a resource has the form of the attribute table.
fn has_form(kind: &'static ResourceType, resource: &Json) -> Checked {
    let Json::Object(members) = resource else { return Err("no object".to_owned()) };
    let mut urns = vec![Json::Text(kind.schema.urn.to_owned())];
    for (name, value) in members {
        let extension = kind.extensions.iter().find(|schema| schema.urn == name);
        if let Some(schema) = extension {
            urns.push(Json::Text(schema.urn.to_owned()));
            let Json::Object(members) = value else { return Err(format!("{name}: {value:?}")) };
            if members.is_empty() {
                return Err(format!("{name} is empty"));
            }
            for (name, value) in members {
                let found = schema.attributes.iter().find(|it| it.name == name);
                attribute(found.ok_or_else(|| format!("{name} is unknown"))?, value)?;
            }
            continue;
        }
        let found = kind.schema.attributes.iter().find(|it| it.name == name);
        let found = found.ok_or_else(|| format!("{name} is unknown"))?;
        if found.name != "schemas" {
            attribute(found, value)?;
        }
    }
    let Some(Json::Array(named)) = resource.member("schemas") else {
        return Err("schemas is not there".to_owned());
    };
    let same = named.len() == urns.len() && urns.iter().all(|urn| named.contains(urn));
    if same { Ok(()) } else { Err(format!("schemas is {named:?}")) }
}

fn attribute(schema: &AttributeSchema, value: &Json) -> Checked {
    if !schema.multi_valued {
        return one(schema, value);
    }
    let Json::Array(values) = value else { return Err(format!("{}: {value:?}", schema.name)) };
    let preferred = values.iter().filter(|it| it.member("primary") == Some(&Json::Bool(true)));
    if values.is_empty() || preferred.count() > 1 {
        return Err(format!("{}: {values:?}", schema.name));
    }
    values.iter().try_for_each(|value| one(schema, value))
}

fn one(schema: &AttributeSchema, value: &Json) -> Checked {
    let fits = match (schema.kind, value) {
        (AttributeType::Complex, Json::Object(_)) if schema.sub_attributes.is_empty() => true,
        (AttributeType::Complex, Json::Object(members)) => {
            for (name, value) in members {
                let part = schema.sub_attributes.iter().find(|part| part.name == name);
                one(part.ok_or_else(|| format!("{}.{name} is unknown", schema.name))?, value)?;
            }
            let required = schema.sub_attributes.iter().filter(|part| part.required);
            !members.is_empty()
                && required.into_iter().all(|part| value.member(part.name).is_some())
        }
        (AttributeType::Boolean, Json::Bool(_))
        | (AttributeType::Integer | AttributeType::Decimal, Json::Int(_))
        | (AttributeType::Decimal, Json::Float(_))
        | (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            Json::Text(_),
        ) => true,
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("{}: {value:?}", schema.name)) }
}

/// When to end.
enum Until {
    Executions(u64),
    Elapsed(Duration),
}

fn fuzz(until: &Until, seed: u64) -> Result<String, String> {
    let tree = |text: &str| json::read(text.as_bytes()).map_err(|fault| fault.detail);
    let users = [tree(ADA)?, tree(BARE)?];
    let engines = tree(ENGINES)?;
    let (mut random, mut count, began) = (Random(seed | 1), Count::default(), Instant::now());
    loop {
        let ends = match until {
            Until::Executions(wanted) => count.executions >= *wanted,
            // Reading the clock costs more than an execution.
            Until::Elapsed(wanted) => {
                count.executions.is_multiple_of(1024) && began.elapsed() >= *wanted
            }
        };
        if ends {
            break;
        }
        let body = random.body();
        check(&body, &users, &engines, &mut count)
            .map_err(|fault| format!("execution {}: {body:?}: {fault}", count.executions))?;
        count.executions += 1;
    }
    let Count { executions, taken } = count;
    let seconds = began.elapsed().as_secs();
    Ok(format!("{executions} executions in {seconds} s, {taken} results, no failure"))
}

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let first = words.next().unwrap_or_else(|| "100000".to_owned());
    let seed = words.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let until = match first.strip_suffix('s') {
        Some(seconds) => seconds.parse().ok().map(|it| Until::Elapsed(Duration::from_secs(it))),
        None => first.parse().ok().map(Until::Executions),
    };
    let result = match until {
        Some(until) => fuzz(&until, seed),
        None => Err("give a number of executions, or of seconds as in 60s".to_owned()),
    };
    let is_ok = result.is_ok();
    let text = result.unwrap_or_else(|fault| fault);
    let written = writeln!(io::stdout(), "{text}").is_ok();
    if is_ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
