//! Taking an object of parts, or a list of such objects, into a draft.

use super::{Draft, rule::judge};
use crate::{
    attribute::{Attribute, PartKind, Shape},
    json::Json,
    part::Part,
    profile::{Entry, Scalar, Value},
    text::{Pointer, nearest, nfc},
    violation::{Excuse, ViolationCode},
};

impl Draft {
    pub(super) fn take_one(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = || Pointer::root().member(attribute.name());
        if let Some(entry) = self.take_entry(attribute, 0, shape, &pointer, sent) {
            self.keep(attribute, Value::One(entry));
        }
    }

    pub(super) fn take_many(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = || Pointer::root().member(attribute.name());
        let Json::Array(items) = sent else {
            return self.refuse_type(pointer, "an array", &sent);
        };
        if items.len() > shape.entries_max {
            self.refuse(Excuse::Member(attribute), ViolationCode::TooMany, || {
                (pointer(), format!("send at most {} entries", shape.entries_max))
            });
        }
        let mut entries = Vec::with_capacity(items.len().min(shape.entries_max));
        let mut is_flagged = false;
        for (index, item) in items.into_iter().enumerate() {
            let place = || pointer().index(index);
            // An item that is no entry is not kept: pointers count it, excuses do not.
            let Some(entry) = self.take_entry(attribute, entries.len(), shape, &place, item) else {
                continue;
            };
            if entry.is_primary() && std::mem::replace(&mut is_flagged, true) {
                self.refuse(Excuse::Member(attribute), ViolationCode::DuplicatePrimary, || {
                    (place().member(Part::Primary.name()), "flag one entry as primary, not more")
                });
            }
            entries.push(entry);
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
        pointer: &dyn Fn() -> Pointer,
        sent: Json,
    ) -> Option<Entry> {
        let Json::Object(members) = sent else {
            self.refuse_type(pointer, "an object", &sent);
            return None;
        };
        // A list that is too long is refused unless all of it is stored, which excuses whatever
        // its entries hold: what exceeds the limit need not be judged.
        let is_judged = index < shape.entries_max;
        let mut parts = Vec::with_capacity(members.len().min(shape.parts.len()));
        for (name, value) in members {
            let place = || pointer().member(&name);
            let Some((part, kind)) = shape.parts.iter().find(|(part, _)| part.name() == name)
            else {
                self.refuse_unknown_part(shape, &name, place);
                continue;
            };
            match (kind, value) {
                (_, Json::Null) => {}
                (PartKind::Text(rule), Json::Text(text)) => {
                    let text = nfc(text);
                    if is_judged && let Err(fault) = judge(*rule, &text) {
                        let excuse = Excuse::Part(attribute, index, *part);
                        self.refuse(excuse, fault.code, || (place(), fault.detail));
                    }
                    parts.push((*part, Scalar::Text(text)));
                }
                (PartKind::Flag, Json::Bool(flag)) => parts.push((*part, Scalar::Flag(flag))),
                (PartKind::Text(_), other) => self.refuse_type(place, "a string", &other),
                (PartKind::Flag, other) => self.refuse_type(place, "true or false", &other),
            }
        }
        if is_judged {
            self.require_part(shape, &parts, pointer, Excuse::Entry(attribute, index));
        }
        Some(Entry::new(parts))
    }

    fn require_part(
        &mut self,
        shape: &Shape,
        parts: &[(Part, Scalar)],
        pointer: &dyn Fn() -> Pointer,
        excuse: Excuse,
    ) {
        let (place, detail) = match shape.required {
            Some(wanted) if parts.iter().all(|(part, _)| *part != wanted) => {
                let name = wanted.name();
                (pointer().member(name), format!("give a {name}"))
            }
            None if parts.is_empty() => {
                (pointer(), "give at least one part, or leave the entry out".to_owned())
            }
            Some(_) | None => return,
        };
        self.refuse(excuse, ViolationCode::Required, || (place, detail));
    }

    fn refuse_unknown_part(&mut self, shape: &Shape, name: &str, place: impl FnOnce() -> Pointer) {
        self.refuse(Excuse::Never, ViolationCode::UnknownMember, || {
            let detail = match nearest(name, shape.parts.iter().map(|(part, _)| part.name())) {
                Some(known) => format!("did you mean {known}?"),
                None => "no part of that name".to_owned(),
            };
            (place(), detail)
        });
    }
}
