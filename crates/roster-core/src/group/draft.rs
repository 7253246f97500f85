//! A group as a client describes it, parsed from a JSON tree. All violations are reported together.
//!
//! As for users, a value that equals the stored one is not checked again, `null` and an empty text
//! are absent, and members that the server sets may be in the body.

use super::{Group, GroupId, group_name_key};
use crate::{
    json::Json,
    limits::TEXT_LENGTH_MAX,
    text::{Controls, Pointer, check_controls, is_visible, nearest, nfc},
    write::violation::{Violation, ViolationCode, Violations},
};

/// The members of a group's record.
const MEMBERS: [&str; 7] =
    ["id", "version", "display_name", "external_id", "member_count", "created_at", "updated_at"];

/// A parsed and normalized request body, before it is compared with the stored group.
#[derive(Clone, Debug, Default)]
pub struct GroupDraft {
    display_name: Option<String>,
    external_id: Option<String>,
    body_id: Option<String>,
    pub(super) body_version: Option<i64>,
    server_made_faults: Vec<Violation>,
    /// What only a create is refused for.
    create_faults: Vec<Violation>,
    violations: Violations,
}

/// The valid members that clients write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) display_name: String,
    pub(super) external_id: Option<String>,
}

impl GroupDraft {
    /// Parses a draft from a tree. It never fails: the draft contains the violations.
    pub fn parse(tree: Json) -> Self {
        let mut draft = Self::default();
        let kind = tree.kind();
        let Json::Object(members) = tree else {
            let detail = format!("send one group as a JSON object, not {kind}");
            draft.violations.push(|| Violation::new("", ViolationCode::WrongType, detail));
            return draft;
        };
        for (name, value) in members {
            draft.parse_member(&name, value);
        }
        draft
    }

    /// A draft from values that are not REST JSON, under the same rules.
    pub fn of(display_name: Option<String>, external_id: Option<String>) -> Self {
        Self {
            display_name: display_name.map(short_nfc),
            external_id: external_id.map(short_nfc),
            ..Self::default()
        }
    }

    /// Makes a create with this draft fail. A change of a group that exists is not concerned.
    pub fn refuse_create(&mut self, violation: Violation) {
        self.create_faults.push(violation);
    }

    /// The id in the body, which a create does not use.
    pub fn sent_id(&self) -> Option<&str> {
        self.body_id.as_deref()
    }

    /// The key of its name, if it has one.
    pub(super) fn name_key(&self) -> Option<String> {
        self.display_name.as_deref().map(group_name_key)
    }

    /// Adds a violation for each unknown member that a patch removes.
    pub(super) fn check_removals(&mut self, patch: &Json) {
        let Json::Object(members) = patch else { return };
        for (name, value) in members {
            if *value == Json::Null && !MEMBERS.contains(&name.as_str()) {
                self.add_unknown_member(name);
            }
        }
    }

    /// The valid members, or all violations. `current` is the group that is replaced.
    pub(super) fn resolve(&self, current: Option<&Group>) -> Result<Written, Violations> {
        let mut violations = self.violations.clone();
        if let Some(current) = current {
            violations.extend(self.server_made_faults.iter().cloned());
            if self.body_id.as_ref().is_some_and(|id| GroupId::parse(id) != Some(current.id)) {
                let detail = "send the id of the path, or leave it out";
                violations.push(|| Violation::new("/id", ViolationCode::IdMismatch, detail));
            }
        }
        if current.is_none() {
            violations.extend(self.create_faults.iter().cloned());
        }
        let stored_name = current.map(|current| &current.display_name);
        match &self.display_name {
            Some(name) if Some(name) != stored_name => {
                violations.extend(check_text("/display_name", name));
                if !is_visible(name) {
                    let detail = "give at least one visible character";
                    let code = ViolationCode::TooShort;
                    violations.push(|| Violation::new("/display_name", code, detail));
                }
            }
            Some(_) => {}
            None if violations.items().iter().any(|it| it.pointer == "/display_name") => {}
            None => {
                let detail = "give the group a display_name";
                let code = ViolationCode::Required;
                violations.push(|| Violation::new("/display_name", code, detail));
            }
        }
        let stored_id = current.and_then(|current| current.external_id.as_ref());
        if let Some(external_id) = self.external_id.as_ref().filter(|id| Some(*id) != stored_id) {
            violations.extend(check_text("/external_id", external_id));
        }
        match &self.display_name {
            Some(display_name) if violations.is_empty() => Ok(Written {
                display_name: display_name.clone(),
                external_id: self.external_id.clone(),
            }),
            _ => Err(violations),
        }
    }

    fn parse_member(&mut self, name: &str, value: Json) {
        match (name, value) {
            ("member_count" | "created_at" | "updated_at", _) => {}
            (known, Json::Null) if MEMBERS.contains(&known) => {}
            ("display_name" | "external_id", empty) if empty.is_empty_text() => {}
            ("id", Json::Text(id)) => self.body_id = Some(id),
            ("version", Json::Int(version)) => self.body_version = Some(version),
            ("id" | "version", other) => {
                let detail =
                    format!("send it as the server gave it, or leave it out, not {}", other.kind());
                let code = ViolationCode::WrongType;
                self.server_made_faults.push(Violation::new(format!("/{name}"), code, detail));
            }
            ("display_name", Json::Text(text)) => self.display_name = Some(short_nfc(text)),
            ("external_id", Json::Text(text)) => self.external_id = Some(short_nfc(text)),
            ("display_name" | "external_id", other) => {
                let detail = format!("send a string, not {}", other.kind());
                let code = ViolationCode::WrongType;
                self.violations.push(|| Violation::new(format!("/{name}"), code, detail));
            }
            (unknown, _) => self.add_unknown_member(unknown),
        }
    }

    fn add_unknown_member(&mut self, name: &str) {
        self.violations.push(|| {
            let detail = if name == "members" {
                "change members at /groups/{group_id}/members/{member_id}".to_owned()
            } else {
                match nearest(name, MEMBERS.iter().copied()) {
                    Some(known) => format!("did you mean {known}?"),
                    None => "a group has display_name and external_id".to_owned(),
                }
            };
            let pointer = Pointer::root().member(name);
            Violation::new(pointer, ViolationCode::UnknownMember, detail)
        });
    }
}

/// The text in NFC. A text that is too long in any form stays as it is, because normalization takes
/// many times the memory: NFC makes at most four characters one, and a character has at most four
/// bytes.
fn short_nfc(text: String) -> String {
    if text.len() <= TEXT_LENGTH_MAX * 16 { nfc(text) } else { text }
}

fn check_text(pointer: &str, text: &str) -> Option<Violation> {
    if let Err(detail) = check_controls(text, Controls::None) {
        return Some(Violation::new(pointer, ViolationCode::ControlCharacter, detail));
    }
    let too_long = text.chars().nth(TEXT_LENGTH_MAX).is_some();
    too_long.then(|| {
        let detail = format!("shorten it to at most {TEXT_LENGTH_MAX} characters");
        Violation::new(pointer, ViolationCode::TooLong, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{id::UserId, json, timestamp::Timestamp};

    fn faults(text: &str, current: Option<&Group>) -> Vec<(String, ViolationCode)> {
        let draft = GroupDraft::parse(json::read(text.as_bytes()).unwrap());
        let faults = draft.resolve(current).err().unwrap_or_default();
        faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn all_violations_are_reported_together() {
        use ViolationCode::{
            ControlCharacter, Required, TooLong, TooShort, UnknownMember, WrongType,
        };
        let at = |pointer: &str, code| (pointer.to_owned(), code);
        assert_eq!(faults("[]", None), [at("", WrongType), at("/display_name", Required)]);
        assert_eq!(faults("{}", None), [at("/display_name", Required)]);
        assert_eq!(faults(r#"{"display_name":null}"#, None), [at("/display_name", Required)]);
        assert_eq!(faults(r#"{"display_name":""}"#, None), [at("/display_name", Required)]);
        assert_eq!(faults(r#"{"display_name":" "}"#, None), [at("/display_name", TooShort)]);
        assert_eq!(
            faults(r#"{"display_name":7,"external_id":"a\u0007","members":[]}"#, None),
            [
                at("/display_name", WrongType),
                at("/members", UnknownMember),
                at("/external_id", ControlCharacter),
            ]
        );
        let long = format!(r#"{{"display_name":"{}"}}"#, "é".repeat(257));
        assert_eq!(faults(&long, None), [at("/display_name", TooLong)]);
        assert!(faults(&long.replacen('é', "", 1), None).is_empty());
    }

    #[test]
    fn stored_values_are_not_checked_again_and_server_made_members_are_accepted() {
        let group = Group {
            id: UserId::from_bytes([7; 16]),
            version: 3,
            display_name: " ".to_owned(),
            external_id: Some("\u{7}".to_owned()),
            member_count: 2,
            updated_at: Timestamp::from_millis(7),
        };
        let record = group.to_record();
        let text = std::str::from_utf8(&record).unwrap();
        assert!(faults(text, Some(&group)).is_empty());
        assert_eq!(Group::from_record(&record), Ok(group.clone()));
        let other = Group { id: UserId::from_bytes([8; 16]), ..group };
        assert_eq!(faults(text, Some(&other)), [("/id".to_owned(), ViolationCode::IdMismatch)]);
    }
}
