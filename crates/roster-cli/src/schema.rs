//! `roster schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use futures_util::stream;
use roster_client::{Call, Client, Error, Fault, Method};
use serde_json::{Map, Value, json};

use crate::assign::{Assignments, Types, record_of};
use crate::connection::Remote;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Record};
use crate::records::{Collection, Guard, Kind, text};
use crate::resource_flags::ResourceFlags;
use crate::text::say;

const SCHEMA: Kind = Kind {
    path: "schema",
    one: "schema",
    many: "members",
    columns: &["member", "type", "multi_valued", "required", "unique", "index", "description"],
    key: "member",
    name: "member",
    types: Types { switches: &[], numbers: &[], lists: &["indexed_members"] },
};

/// Parts of a declaration that are `true` or `false`.
const SWITCHES: [&str; 5] = ["multi_valued", "required", "indexed", "unique", "case_exact"];

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// Show the members of attributes that the schema declares, and the members with an index
    ///
    /// -o json gives the whole schema, which `schema set --file` accepts.
    #[command(alias = "show", alias = "view", visible_alias = "ls", alias = "list")]
    Get {
        /// Also show the members that every user can have
        #[arg(long)]
        all: bool,
    },
    /// Declare members of attributes, change or remove declarations, and show what changed
    ///
    /// Such as: roster schema set attributes.badge.type=string attributes.badge.unique=true
    /// indexed_members=department,title. attributes.badge= removes the declaration of badge; the
    /// values that users have stay.
    #[command(alias = "update", alias = "edit", alias = "replace", alias = "put")]
    Set(SetSchemaFlags),
}

#[derive(Debug, Args)]
pub struct SetSchemaFlags {
    /// attributes.NAME.PART=VALUE, attributes.NAME= to remove a declaration, or indexed_members=A,B
    #[arg(value_name = "MEMBER=VALUE", required_unless_present = "file")]
    words: Vec<String>,

    /// Replace the schema with the JSON object in this file; - is stdin. Its version, if it has
    /// one, must be that of the schema
    #[arg(short, long)]
    file: Option<PathBuf>,

    #[command(flatten)]
    guard: Guard,
}

pub(crate) async fn run(flags: ResourceFlags<Act>) -> Outcome {
    let client = flags.remote.client()?;
    match flags.act {
        Act::Get { all } => get(&client, &flags.output, all).await,
        Act::Set(set_flags) => set(&client, &flags.output, set_flags).await,
    }
}

async fn read(client: &Client) -> Result<Record, Failure> {
    Ok(client.send(&Call::new(Method::GET, "schema")).await?.json()?)
}

async fn get(client: &Client, output: &Output, is_all: bool) -> Outcome {
    let schema = read(client).await?;
    // The form that is no table has the whole schema, unless columns are named.
    if output.fields(SCHEMA.columns).is_none() {
        output.record(&schema)?;
        return Ok(0);
    }
    let rows = rows(&schema, is_all).into_iter().map(Ok::<Record, Error>);
    let (count, _) = output.list(stream::iter(rows), SCHEMA.columns, None).await?;
    tell_unready(&schema);
    let version = text(&schema, "version");
    match count {
        0 => say(&format!("version {version} of the schema declares no members")),
        _ => say(&format!("version {version} of the schema")),
    }
    Ok(0)
}

/// The items of a list in the schema.
fn items<'a>(schema: &'a Record, list: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(list).and_then(Value::as_array).into_iter().flatten()
}

fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// A row for each member that is declared or has an index, or for every member.
fn rows(schema: &Record, is_all: bool) -> Vec<Record> {
    let row = |member: String, item: &Value| {
        let is_this = |index: &&Value| index.get("member").is_some_and(|of| *of == member);
        let index = items(schema, "indexes").find(is_this).and_then(|index| index.get("status"));
        let index = index.cloned().unwrap_or(Value::Null);
        let mut row = Record::new();
        row.insert("member".to_owned(), member.into());
        if let Some(parts) = item.as_object() {
            let parts = parts.iter().filter(|(part, _)| *part != "name");
            row.extend(parts.map(|(part, value)| (part.clone(), value.clone())));
        }
        row.insert("index".to_owned(), index);
        row
    };
    let is_indexed = |item: &Value| {
        items(schema, "indexed_members").any(|name| name.as_str() == Some(name_of(item)))
    };
    let members = items(schema, "members")
        .filter(|item| is_all || is_indexed(item))
        .map(|item| row(name_of(item).to_owned(), item));
    let declared =
        items(schema, "attributes").map(|item| row(format!("attributes.{}", name_of(item)), item));
    members.chain(declared).collect()
}

async fn set(client: &Client, output: &Output, flags: SetSchemaFlags) -> Outcome {
    let (given, others) = Assignments::divide(&flags.words, SCHEMA.types)?;
    if let Some(word) = others.first() {
        let name = word.strip_prefix("attributes.").unwrap_or(word);
        return Err(Failure::usage(format!("{word} is no MEMBER=VALUE"))
            .next(format!("roster schema set attributes.{name}.type=string declares {name}")));
    }
    let before = read(client).await?;
    let base = match &flags.file {
        Some(_) => record_of(flags.file.as_deref(), &Assignments::default())?,
        None => json!({
            "attributes": before.get("attributes"),
            "indexed_members": before.get("indexed_members"),
        }),
    };
    let schema = edited(base, &given)?;
    let write = flags.guard.write(&before);
    let call = Call::new(Method::PUT, "schema").json(&schema)?.write(&write, true)?;
    let sent = client.send(&call).await;
    let after: Record = sent.map_err(|error| refused(error, &schema, &flags))?.json()?;
    if output.is_table() {
        let collection = Collection { kind: SCHEMA, client, output, remote: &Remote::default() };
        collection.print_change(&flat(&before), &flat(&after))?;
    } else {
        output.record(&after)?;
    }
    flags.guard.print_dry_run();
    if !flags.guard.dry_run {
        // The response to a write has no statuses. The schema is stored whether or not they can be
        // read.
        match read(client).await {
            Ok(schema) => tell_unready(&schema),
            Err(_) => say("note: whether its indexes are ready could not be read"),
        }
    }
    Ok(0)
}

/// The failure of a write. A version in a file may be that of another schema.
fn refused(error: Error, schema: &Value, flags: &SetSchemaFlags) -> Failure {
    let is_of_file = flags.file.is_some() && schema.get("version").is_some();
    let is_other = error.problem().is_some_and(|problem| problem.code == "version-mismatch");
    let failure = Failure::of_input(error, |fault| place(schema, fault));
    if is_of_file && is_other {
        return failure.next(
            "the file has the version of the schema that it was: get it again, or remove version \
             from the file to replace this schema by it",
        );
    }
    failure
}

/// Says which indexes are not ready, and why.
fn tell_unready(schema: &Record) {
    for index in items(schema, "indexes") {
        let part = |name| index.get(name).and_then(Value::as_str).unwrap_or_default();
        match part("status") {
            "ready" => {}
            "failed" => say(&format!(
                "warning: {} is not unique yet, because users share values of it: {}. Change these \
                 values; it is compared again after about a minute",
                part("member"),
                shared(index)
            )),
            _ => say(&format!(
                "the index of {} is being built: roster schema get shows its status",
                part("member")
            )),
        }
    }
}

/// The ids of the users that share a value, for each value.
fn shared(index: &Value) -> String {
    let values = index.get("shared").and_then(Value::as_array).into_iter().flatten();
    let users = |ids: &Value| {
        let ids = ids.as_array().into_iter().flatten().filter_map(Value::as_str);
        ids.collect::<Vec<_>>().join(" and ")
    };
    values.map(users).collect::<Vec<_>>().join("; ")
}

/// The schema with the assignments.
fn edited(mut schema: Value, given: &Assignments) -> Result<Value, Failure> {
    let wrong = |why: &str| Failure::usage(why.to_owned());
    let members = schema.as_object_mut().ok_or_else(|| wrong("a schema is a JSON object"))?;
    for (name, value) in &given.members {
        match (name.as_str(), value) {
            ("attributes", Value::Object(changes)) => {
                let list = members.entry(name).or_insert_with(|| json!([]));
                let list = list.as_array_mut().ok_or_else(|| wrong("attributes is no list"))?;
                for (name, change) in changes {
                    declare(list, name, change)?;
                }
            }
            ("attributes" | "indexed_members", value) => {
                members.insert(name.clone(), value.clone());
            }
            (name, _) => {
                return Err(wrong(&format!("a schema has no member {name}"))
                    .next(format!("roster schema set attributes.{name}.type=string")));
            }
        }
    }
    Ok(schema)
}

/// Adds, changes or removes a declaration.
fn declare(list: &mut Vec<Value>, name: &str, change: &Value) -> Result<(), Failure> {
    let is_it = |item: &Value| name_of(item).eq_ignore_ascii_case(name);
    if change.is_null() {
        let before = list.len();
        list.retain(|item| !is_it(item));
        if list.len() == before {
            return Err(Failure::usage(format!("attributes.{name} is not declared")));
        }
        return Ok(());
    }
    // attributes.badge=string is attributes.badge.type=string.
    let parts = change.as_object().cloned();
    let parts = parts.unwrap_or_else(|| Map::from_iter([("type".to_owned(), change.clone())]));
    if !list.iter().any(is_it) {
        list.push(json!({"name": name}));
    }
    let declaration = list.iter_mut().find(|item| is_it(item)).and_then(Value::as_object_mut);
    let Some(declaration) = declaration else { return Ok(()) };
    for (part, value) in parts {
        if value.is_null() {
            declaration.remove(&part);
            continue;
        }
        let value = match (SWITCHES.contains(&part.as_str()), value.as_str()) {
            (true, Some("true")) => Value::Bool(true),
            (true, Some("false")) => Value::Bool(false),
            _ => value,
        };
        declaration.insert(part, value);
    }
    Ok(())
}

/// Where a fault is, with the name of the declaration instead of its number.
fn place(schema: &Value, fault: &Fault) -> Option<String> {
    let rest = fault.pointer.as_deref()?.strip_prefix("/attributes/")?;
    let (number, part) = rest.split_once('/').unwrap_or((rest, ""));
    let item = schema.get("attributes")?.get(number.parse::<usize>().ok()?)?;
    let place = format!("attributes.{}.{}", name_of(item), part.replace('/', "."));
    Some(place.trim_end_matches('.').to_owned())
}

/// Each part of each declaration as a member, without the parts that are as by default.
fn flat(schema: &Record) -> Record {
    let mut flat = Record::new();
    flat.insert("name".to_owned(), "schema".into());
    for member in ["version", "indexed_members"] {
        let value = schema.get(member).filter(|value| **value != json!([]));
        flat.extend(value.map(|value| (member.to_owned(), value.clone())));
    }
    for item in items(schema, "attributes") {
        let parts = item.as_object().into_iter().flatten();
        for (part, value) in
            parts.filter(|(part, value)| *part != "name" && **value != json!(false))
        {
            flat.insert(format!("attributes.{}.{part}", name_of(item)), value.clone());
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(words: &[&str]) -> Result<Value, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (given, _) = Assignments::divide(&words, SCHEMA.types)?;
        let schema = json!({"attributes": [
            {"name": "badge", "type": "string", "unique": true},
            {"name": "tags", "type": "string"},
        ]});
        edited(schema, &given)
    }

    #[test]
    fn assignments_declare_change_and_remove() {
        let words = [
            "attributes.Badge.unique=false",
            "attributes.badge.description=Its number",
            "attributes.tags=",
            "attributes.since=date_time",
            "indexed_members=title, department",
        ];
        assert_eq!(
            after(&words).unwrap(),
            json!({
                "attributes": [
                    {"name": "badge", "type": "string", "unique": false,
                     "description": "Its number"},
                    {"name": "since", "type": "date_time"},
                ],
                "indexed_members": ["title", "department"],
            })
        );
        assert_eq!(after(&["attributes:=[]"]).unwrap(), json!({"attributes": []}));
    }

    #[test]
    fn what_the_schema_does_not_have_is_a_fault() {
        assert!(after(&["attributes.nobody="]).is_err());
        assert!(after(&["badge.type=string"]).is_err());
    }
}
