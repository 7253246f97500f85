//! Taking an object of parts, or a list of such objects, into a draft.

use super::{Draft, rule::judge};
use crate::{
    attribute::{Attribute, PartKind, Shape},
    json::Json,
    part::Part,
    profile::{Entry, Scalar, Value},
    text::{Pointer, nearest, nfc},
    violation::{Excuse, Violation, ViolationCode},
};

impl Draft {
    pub(super) fn take_one(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = Pointer::root().member(attribute.name());
        if let Some(entry) = self.take_entry(attribute, 0, shape, &pointer, sent) {
            self.keep(attribute, Value::One(entry));
        }
    }

    pub(super) fn take_many(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = Pointer::root().member(attribute.name());
        let Json::Array(items) = sent else {
            return self.refuse_type(pointer.to_string(), "an array", &sent);
        };
        if items.len() > shape.entries_max {
            let detail = format!("send at most {} entries", shape.entries_max);
            let violation = Violation::new(pointer.to_string(), ViolationCode::TooMany, detail);
            self.refuse(violation, Excuse::Member(attribute));
        }
        let mut entries = Vec::with_capacity(items.len().min(shape.entries_max));
        let mut flagged = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let place = pointer.clone().index(index);
            // An item that is no entry is not kept: pointers count it, excuses do not.
            if let Some(entry) = self.take_entry(attribute, entries.len(), shape, &place, item) {
                flagged.extend(entry.is_primary().then_some(index));
                entries.push(entry);
            }
        }
        for index in flagged.into_iter().skip(1) {
            let place = pointer.clone().index(index).member(Part::Primary.name());
            let detail = "flag one entry as primary, not more";
            let code = ViolationCode::DuplicatePrimary;
            let violation = Violation::new(place.to_string(), code, detail);
            self.refuse(violation, Excuse::Member(attribute));
        }
        if !entries.is_empty() {
            self.keep(attribute, Value::Many(entries));
        }
    }

    /// The entry of an object; `None` when it is not one, with the reason among the violations.
    fn take_entry(
        &mut self,
        attribute: Attribute,
        index: usize,
        shape: &Shape,
        pointer: &Pointer,
        sent: Json,
    ) -> Option<Entry> {
        let Json::Object(members) = sent else {
            self.refuse_type(pointer.to_string(), "an object", &sent);
            return None;
        };
        let mut parts = Vec::with_capacity(members.len());
        for (name, value) in members {
            let place = pointer.clone().member(&name).to_string();
            let Some((part, kind)) = shape.parts.iter().find(|(part, _)| part.name() == name)
            else {
                self.refuse_unknown_part(shape, &name, place);
                continue;
            };
            match (kind, value) {
                (_, Json::Null) => {}
                (PartKind::Text(rule), Json::Text(text)) => {
                    let text = nfc(text);
                    if let Err(fault) = judge(*rule, &text) {
                        self.refuse(fault.at(place), Excuse::Part(attribute, index, *part));
                    }
                    parts.push((*part, Scalar::Text(text)));
                }
                (PartKind::Flag, Json::Bool(flag)) => parts.push((*part, Scalar::Flag(flag))),
                (PartKind::Text(_), other) => self.refuse_type(place, "a string", &other),
                (PartKind::Flag, other) => self.refuse_type(place, "true or false", &other),
            }
        }
        self.require_part(shape, &parts, pointer, Excuse::Entry(attribute, index));
        Some(Entry::new(parts))
    }

    fn require_part(
        &mut self,
        shape: &Shape,
        parts: &[(Part, Scalar)],
        pointer: &Pointer,
        excuse: Excuse,
    ) {
        let (place, detail) = match shape.required {
            Some(wanted) if parts.iter().all(|(part, _)| *part != wanted) => {
                let name = wanted.name();
                (pointer.clone().member(name), format!("give a {name}"))
            }
            None if parts.is_empty() => {
                (pointer.clone(), "give at least one part, or leave the entry out".to_owned())
            }
            Some(_) | None => return,
        };
        let violation = Violation::new(place.to_string(), ViolationCode::Required, detail);
        self.refuse(violation, excuse);
    }

    fn refuse_unknown_part(&mut self, shape: &Shape, name: &str, place: String) {
        let detail = match nearest(name, shape.parts.iter().map(|(part, _)| part.name())) {
            Some(known) => format!("did you mean {known}?"),
            None => "no part of that name".to_owned(),
        };
        self.refuse(Violation::new(place, ViolationCode::UnknownMember, detail), Excuse::Never);
    }
}
