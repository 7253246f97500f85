//! Parses one member of a body into a draft, by its kind in the attribute table.

use super::{
    Draft,
    rule::{check_rule, stored_time},
};
use crate::{
    json::Json,
    text::{Pointer, nearest, nfc},
    user::{
        Status,
        attribute::{Attribute, Kind, Shape, TextRule},
        profile::Value,
    },
    write::violation::{Excuse, Violation, ViolationCode},
};

impl Draft {
    /// Adds a member; `null` and an empty text are the same as absent.
    pub(super) fn parse_member(&mut self, name: &str, sent: Json) {
        let Some(attribute) = Attribute::from_name(name) else {
            return self.add_unknown_member(name);
        };
        if sent == Json::Null {
            return;
        }
        match attribute.kind() {
            Kind::ServerMade => self.parse_server_made(attribute, &sent),
            Kind::Mark => self.parse_mark(attribute, &sent),
            Kind::Status => self.parse_status(&sent),
            Kind::Text(_) | Kind::ShortForm { .. } if sent.is_empty_text() => {}
            Kind::Text(rule) | Kind::ShortForm { rule, .. } => {
                self.parse_text(attribute, rule, sent);
            }
            Kind::Flag { .. } => {
                let Json::Bool(flag) = sent else {
                    return self.add_wrong_type(|| format!("/{name}"), "true or false", &sent);
                };
                self.set(attribute, Value::Flag(flag));
            }
            Kind::One(shape) => self.parse_one(attribute, shape, sent),
            Kind::Many(shape) => self.parse_many(attribute, shape, sent),
            Kind::Object => self.parse_free(attribute, sent),
        }
    }

    pub(super) fn set(&mut self, attribute: Attribute, value: Value) {
        self.values.insert(attribute, value);
    }

    fn parse_text(&mut self, attribute: Attribute, rule: TextRule, sent: Json) {
        let pointer = || format!("/{}", attribute.name());
        let Json::Text(text) = sent else {
            return self.add_wrong_type(pointer, "a string", &sent);
        };
        let mut text = nfc(text);
        if let Err(fault) = check_rule(rule, &text) {
            self.add_violation(Excuse::Member(attribute), fault.code, || (pointer(), fault.detail));
        }
        if rule == TextRule::Time
            && let Some(time) = stored_time(&text)
        {
            text = time;
        }
        self.set(attribute, Value::Text(text));
    }

    fn parse_status(&mut self, sent: &Json) {
        let Json::Text(text) = sent else {
            return self.add_wrong_type(|| "/status", "a string", sent);
        };
        self.status = Status::parse(text);
        if self.status.is_none() {
            self.add_violation(Excuse::Never, ViolationCode::InvalidValue, || {
                ("/status", "send active or suspended")
            });
        }
    }

    fn parse_server_made(&mut self, attribute: Attribute, sent: &Json) {
        let fault = |wanted: &str| {
            let detail = format!("send {wanted} as the server gave it, or leave it out");
            Violation::new(format!("/{}", attribute.name()), ViolationCode::WrongType, detail)
        };
        if attribute == Attribute::Version {
            if let Json::Int(version) = sent {
                self.body_version = Some(*version);
            } else {
                self.server_made_faults.push(fault("the version, a whole number,"));
            }
        } else if attribute == Attribute::Id {
            if let Json::Text(id) = sent {
                self.body_id = Some(id.clone());
            } else {
                // It is no id, which a create says that it ignores.
                self.body_id = Some(sent.kind().to_owned());
                self.server_made_faults.push(fault("the id, a string,"));
            }
        }
    }

    fn parse_mark(&mut self, attribute: Attribute, sent: &Json) {
        let Json::Bool(is_set) = sent else {
            let pointer = || format!("/{}", attribute.name());
            return self.add_wrong_type(pointer, "true or false", sent);
        };
        if *is_set {
            self.set(attribute, Value::Flag(true));
        }
    }

    /// Adds a violation for each unknown member or part that a patch removes, which the merge has
    /// dropped.
    pub(crate) fn check_removals(&mut self, patch: &Json) {
        let Json::Object(members) = patch else { return };
        for (name, value) in members {
            match (Attribute::from_name(name).map(Attribute::kind), value) {
                (None, Json::Null) => self.add_unknown_member(name),
                (Some(Kind::One(shape)), Json::Object(parts)) => {
                    self.check_removed_parts(name, shape, parts);
                }
                _ => {}
            }
        }
    }

    fn check_removed_parts(&mut self, name: &str, shape: &Shape, parts: &[(String, Json)]) {
        for (part, value) in parts {
            let is_known = shape.parts.iter().any(|(known, _)| known.name() == part);
            if *value == Json::Null && !is_known {
                let pointer = || Pointer::root().member(name).member(part);
                self.add_unknown_part(shape, part, pointer);
            }
        }
    }

    /// Adds the violation of a patch that removes a short form whose list has several entries.
    pub(crate) fn add_kept_entries(&mut self, short_form: Attribute) {
        let Kind::ShortForm { list, .. } = short_form.kind() else { return };
        self.add_violation(Excuse::Never, ViolationCode::ConflictingShortForm, || {
            let list = list.name();
            let detail = format!(
                "{list} has further entries; send {list} with those to keep, or null to clear it"
            );
            (format!("/{}", short_form.name()), detail)
        });
    }

    fn add_unknown_member(&mut self, name: &str) {
        let pointer = || Pointer::root().member(name);
        if matches!(name, "password" | "passwd" | "password_hash" | "passwordHash") {
            return self.add_violation(Excuse::Never, ViolationCode::PasswordNotKept, || {
                let detail =
                    "Roster keeps no passwords; leave them to the identity provider in front";
                (pointer(), detail)
            });
        }
        self.add_violation(Excuse::Never, ViolationCode::UnknownMember, || {
            let detail = match nearest(name, Attribute::ALL.iter().map(|known| known.name())) {
                Some(known) => format!("did you mean {known}?"),
                None => "no member of that name; own data goes under attributes".to_owned(),
            };
            (pointer(), detail)
        });
    }
}
