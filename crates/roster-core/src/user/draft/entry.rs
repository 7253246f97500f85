//! Parses an object of parts, or a list of such objects, into a draft.

use super::{Draft, rule::check_rule};
use crate::{
    json::Json,
    text::{Pointer, nearest, nfc},
    user::{
        attribute::{Attribute, PartKind, Shape},
        part::Part,
        profile::{Entry, Scalar, Value},
    },
    write::violation::{Excuse, ViolationCode},
};

impl Draft {
    pub(super) fn parse_one(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = || Pointer::root().member(attribute.name());
        if let Some(entry) = self.parse_entry(attribute, 0, shape, &pointer, sent) {
            self.set(attribute, Value::One(entry));
        }
    }

    pub(super) fn parse_many(&mut self, attribute: Attribute, shape: &Shape, sent: Json) {
        let pointer = || Pointer::root().member(attribute.name());
        let Json::Array(items) = sent else {
            return self.add_wrong_type(pointer, "an array", &sent);
        };
        if items.len() > shape.entries_max {
            self.add_violation(Excuse::Member(attribute), ViolationCode::TooMany, || {
                (pointer(), format!("send at most {} entries", shape.entries_max))
            });
        }
        let mut entries = Vec::with_capacity(items.len().min(shape.entries_max));
        let mut has_primary = false;
        for (index, item) in items.into_iter().enumerate() {
            let item_pointer = || pointer().index(index);
            // An item that is not an entry is dropped. Pointers count it, excuses do not.
            let Some(entry) =
                self.parse_entry(attribute, entries.len(), shape, &item_pointer, item)
            else {
                continue;
            };
            if entry.is_primary() && std::mem::replace(&mut has_primary, true) {
                let excuse = Excuse::Member(attribute);
                let flag = || item_pointer().member(Part::Primary.name());
                self.add_violation(excuse, ViolationCode::DuplicatePrimary, || {
                    (flag(), "flag one entry as primary, not more")
                });
            }
            entries.push(entry);
        }
        if !entries.is_empty() {
            self.set(attribute, Value::Many(entries));
        }
    }

    /// The entry of an object; `None` if it is not one, with the reason among the violations.
    fn parse_entry(
        &mut self,
        attribute: Attribute,
        index: usize,
        shape: &Shape,
        pointer: &dyn Fn() -> Pointer,
        sent: Json,
    ) -> Option<Entry> {
        let Json::Object(members) = sent else {
            self.add_wrong_type(pointer, "an object", &sent);
            return None;
        };
        // A list that is too long is rejected unless the stored list is equal, which excuses
        // everything in it. So entries beyond the limit need no check.
        let is_checked = index < shape.entries_max;
        let mut parts = Vec::with_capacity(members.len().min(shape.parts.len()));
        let mut empty = Vec::new();
        for (name, value) in members {
            let part_pointer = || pointer().member(&name);
            let Some((part, kind)) = shape.parts.iter().find(|(part, _)| part.name() == name)
            else {
                self.add_unknown_part(shape, &name, part_pointer);
                continue;
            };
            match (kind, value) {
                (_, Json::Null) => {}
                (PartKind::Text(_), value) if value.is_empty_text() => empty.push(*part),
                (PartKind::Text(rule), Json::Text(text)) => {
                    let text = nfc(text);
                    if is_checked && let Err(fault) = check_rule(*rule, &text) {
                        let excuse = Excuse::Part(attribute, index, *part);
                        self.add_violation(excuse, fault.code, || (part_pointer(), fault.detail));
                    }
                    parts.push((*part, Scalar::Text(text)));
                }
                (PartKind::Flag, Json::Bool(flag)) => parts.push((*part, Scalar::Flag(flag))),
                (PartKind::Text(_), other) => self.add_wrong_type(part_pointer, "a string", &other),
                (PartKind::Flag, other) => {
                    self.add_wrong_type(part_pointer, "true or false", &other);
                }
            }
        }
        let is_missing = match shape.required {
            Some(wanted) => parts.iter().all(|(part, _)| *part != wanted),
            None => parts.is_empty(),
        };
        if is_missing {
            // An entry that was stored with empty texts equals the stored one, which excuses it.
            parts.extend(empty.into_iter().map(|part| (part, Scalar::Text(String::new()))));
            if is_checked {
                self.add_missing_part(shape, pointer, Excuse::Entry(attribute, index));
            }
        }
        Some(Entry::new(parts))
    }

    fn add_missing_part(&mut self, shape: &Shape, pointer: &dyn Fn() -> Pointer, excuse: Excuse) {
        self.add_violation(excuse, ViolationCode::Required, || match shape.required {
            Some(wanted) => {
                let name = wanted.name();
                (pointer().member(name), format!("give its {name}"))
            }
            None => (pointer(), "give at least one part, or leave the entry out".to_owned()),
        });
    }

    pub(super) fn add_unknown_part(
        &mut self,
        shape: &Shape,
        name: &str,
        pointer: impl FnOnce() -> Pointer,
    ) {
        self.add_violation(Excuse::Never, ViolationCode::UnknownMember, || {
            let detail = match nearest(name, shape.parts.iter().map(|(part, _)| part.name())) {
                Some(known) => format!("did you mean {known}?"),
                None => "there is no part with this name".to_owned(),
            };
            (pointer(), detail)
        });
    }
}
