//! Parses the free JSON object `attributes` into a draft. It is stored as sent, without null
//! members.

use super::Draft;
use crate::{
    json::{Json, write_json},
    limits::{ATTRIBUTES_BYTES_MAX, ATTRIBUTES_DEPTH_MAX},
    text::{Controls, Pointer, check_controls},
    user::{attribute::Attribute, profile::Value},
    write::violation::{Excuse, ViolationCode},
};

impl Draft {
    pub(super) fn parse_free(&mut self, attribute: Attribute, sent: Json) {
        let mut pointer = Pointer::root().member(attribute.name());
        let sent = without_nulls(sent);
        if !matches!(sent, Json::Object(_)) {
            return self.add_wrong_type(|| pointer, "an object", &sent);
        }
        let excuse = Excuse::Member(attribute);
        if depth(&sent) > ATTRIBUTES_DEPTH_MAX {
            self.add_violation(excuse, ViolationCode::TooDeep, || {
                (pointer.clone(), format!("nest at most {ATTRIBUTES_DEPTH_MAX} levels"))
            });
        }
        let mut text = Vec::new();
        write_json(&mut text, &sent);
        if text.len() > ATTRIBUTES_BYTES_MAX {
            // An equal stored value excuses this and everything in its texts, so they need no
            // check.
            self.add_violation(excuse, ViolationCode::TooLarge, || {
                (pointer, format!("keep it within {ATTRIBUTES_BYTES_MAX} bytes of JSON"))
            });
        } else {
            self.check_texts(&sent, &mut pointer, excuse);
        }
        if let Json::Object(members) = sent
            && !members.is_empty()
        {
            self.set(attribute, Value::Object(members));
        }
    }

    fn check_texts(&mut self, tree: &Json, pointer: &mut Pointer, excuse: Excuse) {
        match tree {
            Json::Text(text) => self.check_text(text, pointer, excuse),
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let back = pointer.push(index);
                    self.check_texts(item, pointer, excuse);
                    pointer.back_to(back);
                }
            }
            Json::Object(members) => {
                for (name, value) in members {
                    let back = pointer.push_member(name);
                    self.check_text(name, pointer, excuse);
                    self.check_texts(value, pointer, excuse);
                    pointer.back_to(back);
                }
            }
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => {}
        }
    }

    fn check_text(&mut self, text: &str, pointer: &Pointer, excuse: Excuse) {
        if let Err(detail) = check_controls(text, Controls::LineBreaks) {
            let code = ViolationCode::ControlCharacter;
            self.add_violation(excuse, code, || (pointer.clone(), detail));
        }
    }
}

/// The tree without the null members of objects; nulls in arrays stay.
fn without_nulls(tree: Json) -> Json {
    match tree {
        Json::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(without_nulls).collect()),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => tree,
    }
}

/// The levels of nesting; a scalar has none. The parser's depth limit bounds the recursion.
fn depth(tree: &Json) -> usize {
    match tree {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => {
            1 + members.iter().map(|(_, value)| depth(value)).max().unwrap_or(0)
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => 0,
    }
}
