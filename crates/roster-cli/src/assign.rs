//! Members that a caller writes on the command line: `title=Dr department= attributes.team=core`.

use std::path::Path;
use std::{fs, io};

use roster_client::Fault;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::strict_json;

/// How the values of members are written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Types {
    /// Members that are `true` or `false`.
    pub(crate) switches: &'static [&'static str],
    /// Members that are numbers, besides `version`.
    pub(crate) numbers: &'static [&'static str],
    /// Members that are lists of texts, written with commas.
    pub(crate) lists: &'static [&'static str],
}

/// The members of any record that only the service writes. It would ignore them, as it does in what
/// a GET returned.
const READ_ONLY: [&str; 17] = [
    "attempts",
    "base_url",
    "created_at",
    "created_by",
    "deleted_at",
    "deleted_users",
    "failing_since",
    "former_secret_until",
    "groups",
    "lag",
    "member_count",
    "next_attempt_at",
    "position",
    "purge_at",
    "updated_at",
    "username_from_email",
    "users",
];

/// Members with the values that they get.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assignments {
    /// As the caller wrote them, with the path of the member.
    written: Vec<(String, String)>,
    pub(crate) members: Map<String, Value>,
}

impl Assignments {
    /// Divides words into assignments and others. `member=text` sets a text, `member=` clears the
    /// member, and `member:=json` sets any value.
    pub(crate) fn divide(words: &[String], types: Types) -> Result<(Self, Vec<String>), Failure> {
        let mut assignments = Self::default();
        let mut others = Vec::new();
        for word in words {
            match word.split_once('=') {
                Some((name, text)) => assignments.add(word, name, text, types)?,
                None => others.push(word.clone()),
            }
        }
        Ok((assignments, others))
    }

    fn add(&mut self, word: &str, name: &str, text: &str, types: Types) -> Result<(), Failure> {
        let is = |names: &[&str]| names.contains(&name);
        let wrong = |why: &str| Failure::usage(format!("{word}: {why}"));
        let (name, value) = if let Some(name) = name.strip_suffix(':') {
            let value = strict_json::read(text)
                .map_err(|error| wrong(&format!(":= takes JSON, and = takes text ({error})")))?;
            (name, value)
        } else if text.is_empty() {
            (name, Value::Null)
        } else if is(types.switches) {
            let value = text.parse::<bool>().map_err(|_| wrong("write true or false"))?;
            (name, value.into())
        } else if is(types.numbers) || name == "version" {
            (name, text.parse::<u64>().map_err(|_| wrong("write a number"))?.into())
        } else if is(types.lists) {
            let items = text.split(',').map(|item| Value::from(item.trim()));
            (name, items.collect())
        } else {
            (name, text.into())
        };
        if name.split('.').any(str::is_empty) || name.contains(char::is_whitespace) {
            return Err(wrong("write MEMBER=VALUE"));
        }
        if READ_ONLY.contains(&name) {
            return Err(wrong("only the service writes this member"));
        }
        let mut members = &mut self.members;
        let mut steps: Vec<&str> = name.split('.').collect();
        let last = steps.pop().unwrap_or_default();
        for step in steps {
            let inner = members.entry(step).or_insert_with(|| Value::Object(Map::new()));
            members =
                inner.as_object_mut().ok_or_else(|| wrong("the member has a value already"))?;
        }
        if members.insert(last.to_owned(), value).is_some() {
            return Err(wrong("the member is given twice"));
        }
        self.written.push((name.replace('.', "/"), word.to_owned()));
        Ok(())
    }

    /// The text of a member that is the only one.
    pub(crate) fn only(&self, member: &str) -> Option<String> {
        let value = self.members.get(member).filter(|_| self.members.len() == 1)?;
        value.as_str().map(ToOwned::to_owned)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The word that has the member at fault.
    pub(crate) fn word_of(&self, fault: &Fault) -> Option<String> {
        let pointer = fault.pointer.as_deref()?.trim_start_matches('/');
        let is_of = |path: &str| {
            let rest = pointer.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.written.iter().find(|(path, _)| is_of(path)).map(|(_, word)| word.clone())
    }
}

/// The record in a file; `-` is stdin. Assignments change its members.
pub(crate) fn record_of(file: Option<&Path>, with: &Assignments) -> Result<Value, Failure> {
    let Some(file) = file else { return Ok(Value::Object(with.members.clone())) };
    let is_stdin = file.as_os_str() == "-";
    let read = if is_stdin { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = read.map_err(|error| wrong(error.to_string()))?;
    let mut record = strict_json::read(&text).map_err(|error| wrong(error.to_string()))?;
    let members = record.as_object_mut();
    let members = members.ok_or_else(|| wrong("it must contain one JSON object".to_owned()))?;
    merge(members, with.members.clone());
    Ok(record)
}

/// Sets members, and those of an object within the object that is there.
fn merge(into: &mut Map<String, Value>, members: Map<String, Value>) {
    for (name, value) in members {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TYPES: Types =
        Types { switches: &["email_verified"], numbers: &["users_max"], lists: &["types"] };

    fn divided(words: &[&str]) -> Result<(Assignments, Vec<String>), Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Assignments::divide(&words, TYPES)
    }

    #[test]
    fn words_with_an_equals_sign_are_assignments() {
        let words = [
            "ada",
            "title=Dr",
            "department=",
            "attributes.team=core",
            "attributes.n:=[1]",
            "email_verified=true",
            "users_max=7",
            "version=3",
            "types=user.*, group.*",
            "name=a=b",
            "x@y.z",
        ];
        let (assignments, others) = divided(&words).unwrap();
        assert_eq!(others, ["ada", "x@y.z"]);
        assert_eq!(
            Value::from(assignments.members),
            json!({"title": "Dr", "department": null, "attributes": {"team": "core", "n": [1]},
                "email_verified": true, "users_max": 7, "version": 3,
                "types": ["user.*", "group.*"], "name": "a=b"})
        );
    }

    #[test]
    fn a_value_that_cannot_be_read_is_a_fault() {
        for words in [
            &["email_verified=yes"][..],
            &["users_max=-1"],
            &["version=two"],
            &["a:=[1"],
            &["=x"],
            &["a b=c"],
            &["a=1", "a=2"],
            &["a=1", "a.b=2"],
            &["created_at="],
            &["created_at:=1"],
        ] {
            assert!(divided(words).is_err(), "{words:?}");
        }
    }
}
