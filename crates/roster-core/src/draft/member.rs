//! Taking one member of the body into a draft, by its kind in the attribute table.

use super::{Draft, rule::judge};
use crate::{
    attribute::{Attribute, Kind, TextRule},
    json::Json,
    profile::Value,
    text::{nearest, nfc},
    user::Status,
    violation::{Excuse, Violation, ViolationCode},
};

impl Draft {
    /// Takes a member; `null` is the same as absent.
    pub(super) fn take_member(&mut self, name: &str, sent: Json) {
        let Some(attribute) = Attribute::from_name(name) else {
            return self.refuse_unknown(name);
        };
        if sent == Json::Null {
            return;
        }
        match attribute.kind() {
            Kind::ServerMade => self.take_server_made(attribute, &sent),
            Kind::Status => self.take_status(&sent),
            Kind::Text(rule) | Kind::ShortForm { rule, .. } => {
                self.take_text(attribute, rule, sent);
            }
            Kind::Flag { .. } => {
                let Json::Bool(flag) = sent else {
                    return self.refuse_type(|| format!("/{name}"), "true or false", &sent);
                };
                self.keep(attribute, Value::Flag(flag));
            }
            Kind::One(shape) => self.take_one(attribute, shape, sent),
            Kind::Many(shape) => self.take_many(attribute, shape, sent),
            Kind::Object => self.take_free(attribute, sent),
        }
    }

    pub(super) fn keep(&mut self, attribute: Attribute, value: Value) {
        self.values.insert(attribute, value);
    }

    fn take_text(&mut self, attribute: Attribute, rule: TextRule, sent: Json) {
        let pointer = || format!("/{}", attribute.name());
        let Json::Text(text) = sent else {
            return self.refuse_type(pointer, "a string", &sent);
        };
        let text = nfc(text);
        if let Err(fault) = judge(rule, &text) {
            self.refuse(Excuse::Member(attribute), fault.code, || (pointer(), fault.detail));
        }
        self.keep(attribute, Value::Text(text));
    }

    fn take_status(&mut self, sent: &Json) {
        let Json::Text(text) = sent else {
            return self.refuse_type(|| "/status", "a string", sent);
        };
        self.status = Status::parse(text);
        if self.status.is_none() {
            self.refuse(Excuse::Never, ViolationCode::InvalidValue, || {
                ("/status", "send active or suspended")
            });
        }
    }

    fn take_server_made(&mut self, attribute: Attribute, sent: &Json) {
        let fault = |wanted: &str| {
            let detail = format!("send {wanted} as the server gave it, or leave it out");
            Violation::new(format!("/{}", attribute.name()), ViolationCode::WrongType, detail)
        };
        if attribute == Attribute::Version {
            if let Json::Int(version) = sent {
                self.held_version = Some(*version);
            } else {
                self.held_faults.push(fault("the version, a whole number,"));
            }
        } else if attribute == Attribute::Id {
            if let Json::Text(id) = sent {
                self.held_id = Some(id.clone());
            } else {
                self.held_faults.push(fault("the id, a string,"));
            }
        }
    }

    /// Refuses what a patch would remove though there is no such member: the merge has dropped it.
    pub(crate) fn refuse_unknown_removals(&mut self, patch: &Json) {
        let Json::Object(members) = patch else { return };
        for (name, value) in members {
            if *value == Json::Null && Attribute::from_name(name).is_none() {
                self.refuse_unknown(name);
            }
        }
    }

    fn refuse_unknown(&mut self, name: &str) {
        let pointer = || crate::text::Pointer::root().member(name);
        if matches!(name, "password" | "passwd" | "password_hash" | "passwordHash") {
            return self.refuse(Excuse::Never, ViolationCode::PasswordNotKept, || {
                let detail =
                    "Roster keeps no passwords; leave them to the identity provider in front";
                (pointer(), detail)
            });
        }
        self.refuse(Excuse::Never, ViolationCode::UnknownMember, || {
            let detail = match nearest(name, Attribute::ALL.iter().map(|known| known.name())) {
                Some(known) => format!("did you mean {known}?"),
                None => "no member of that name; own data goes under attributes".to_owned(),
            };
            (pointer(), detail)
        });
    }
}
