//! Applies one operation to a list of values.
//!
//! A condition in brackets selects the values to change. At most one value is primary: a value that
//! becomes primary clears the flag of the others (RFC 7644 section 3.5.2).

use roster_core::{Json, limits::PATCH_VALUES_MAX};

use super::{
    Members, Op,
    change::{merge, object, put, set_part},
    path::{Condition, Part, PartPath, Target, matches, seed},
    value,
};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, Schema},
};

/// The list after the operation; `None` if it is empty.
pub(super) fn change(
    op: Op,
    target: &Target,
    attribute: &'static AttributeSchema,
    current: Option<Json>,
    value: Option<Json>,
    strictness: Strictness,
) -> Result<Option<Json>, ScimError> {
    let values = match current {
        Some(Json::Array(values)) => values,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let mut list =
        List { schema: target.schema, attribute, strictness, values, preferred: Vec::new() };
    match (&target.condition, target.known_part()) {
        (None, None) => list.whole(op, value)?,
        (None, Some(part)) => list.every(op, part, value)?,
        (Some(condition), part) => list.chosen(op, condition, part, value)?,
    }
    debug_assert!(!matches!(target.part, Some(Part::Free(_))), "only objects have free keys");
    list.finish()
}

struct List {
    schema: &'static Schema,
    attribute: &'static AttributeSchema,
    strictness: Strictness,
    values: Vec<Json>,
    /// The positions of the values that the operation made primary.
    preferred: Vec<usize>,
}

impl List {
    /// Applies the operation to the whole list.
    fn whole(&mut self, op: Op, value: Option<Json>) -> Result<(), ScimError> {
        match op {
            Op::Add => {
                for given in self.read(value)? {
                    self.add(given);
                }
            }
            Op::Replace => {
                let given = self.read(value)?;
                self.values.clear();
                for (at, members) in given.into_iter().enumerate() {
                    self.prefer(at, &members);
                    self.values.push(Json::Object(members));
                }
            }
            Op::Remove => match value {
                None | Some(Json::Null) => self.values.clear(),
                // Microsoft Entra sends the values to remove in `value`.
                Some(value) if self.strictness.is_tolerant() => {
                    for given in self.read(Some(value))? {
                        self.values
                            .retain(|value| !is_same(self.schema, self.attribute, &given, value));
                    }
                }
                Some(_) => return Err(no_value_of_a_removal()),
            },
        }
        Ok(())
    }

    fn read(&self, value: Option<Json>) -> Result<Vec<Members>, ScimError> {
        let values = value::many(self.attribute, value.unwrap_or(Json::Null), self.strictness)?;
        if values.len() > PATCH_VALUES_MAX { Err(self.too_many()) } else { Ok(values) }
    }

    /// Adds a value, or updates the equal one.
    fn add(&mut self, given: Members) {
        let (schema, attribute) = (self.schema, self.attribute);
        let same = |value: &Json| is_same(schema, attribute, &given, value);
        let Some(at) = self.values.iter().position(same) else {
            self.prefer(self.values.len(), &given);
            self.values.push(Json::Object(given));
            return;
        };
        self.prefer(at, &given);
        if let Some(Json::Object(members)) = self.values.get_mut(at) {
            // `value` keeps its spelling.
            for (name, part) in given.into_iter().filter(|(name, _)| name != "value") {
                put(members, &name, part);
            }
        }
    }

    /// Applies the operation to one part of every value.
    fn every(
        &mut self,
        op: Op,
        part: &'static AttributeSchema,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        if self.values.is_empty() && op != Op::Remove {
            return self.create(Vec::new(), Some(part), value);
        }
        let all = (0..self.values.len()).collect();
        self.set(op, all, Some(part), value.as_ref())
    }

    /// Applies the operation to the values that match a condition, or to one part of each.
    fn chosen(
        &mut self,
        op: Op,
        condition: &Condition,
        part: Option<&'static AttributeSchema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let (values, attribute) = (self.values.iter().enumerate(), self.attribute);
        let matched: Vec<usize> =
            values.filter(|(_, value)| matches(condition, value)).map(|(at, _)| at).collect();
        // RFC 7643 section 2.5: null and [] mean absent.
        let none = matches!(&value, Some(Json::Null))
            || matches!(&value, Some(Json::Array(items)) if items.is_empty());
        let removes = op == Op::Remove || (op == Op::Replace && none);
        if !matched.is_empty() {
            let op = if removes { Op::Remove } else { op };
            let kept = seed(condition).filter(|_| self.strictness.is_tolerant());
            return if part.is_none() && op == Op::Replace {
                self.replace(&matched, kept.unwrap_or_default(), value)
            } else {
                self.set(op, matched, part, value.as_ref())
            };
        }
        if removes {
            // Removing a value that does not exist succeeds.
            return Ok(());
        }
        // RFC 7644 section 3.5.2.3 rejects the replacement of a value that does not exist.
        // Microsoft Entra uses `replace` also to set an address for the first time.
        let may_create = op == Op::Add || self.strictness.is_tolerant();
        if let Some(seed) = seed(condition).filter(|_| may_create) {
            return self.create(seed, part, value);
        }
        let detail = format!("no value of {} matches the condition", attribute.name);
        Err(ScimError::new(ScimType::NoTarget, detail))
    }

    /// Creates a value that matches a condition that no value matches.
    fn create(
        &mut self,
        seed: Members,
        part: Option<&'static AttributeSchema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let mut members = seed;
        let before = members.len();
        match part {
            Some(part) => set_part(Op::Add, part, &mut members, value, self.strictness)?,
            None => {
                for (name, value) in self.parts_of(value)? {
                    put(&mut members, &name, value);
                }
            }
        }
        // The operation has no value and the condition gives none.
        if members.len() == before && before == 0 {
            return Ok(());
        }
        self.prefer(self.values.len(), &members);
        self.values.push(Json::Object(members));
        Ok(())
    }

    /// Replaces the selected values (RFC 7644 section 3.5.2.3). In tolerant parsing the new value
    /// also has the parts that the condition requires.
    fn replace(
        &mut self,
        matched: &[usize],
        kept: Members,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let mut members = kept;
        for (name, value) in self.parts_of(value)? {
            put(&mut members, &name, value);
        }
        for at in matched {
            self.prefer(*at, &members);
            if let Some(value) = self.values.get_mut(*at) {
                *value = Json::Object(members.clone());
            }
        }
        // All selected values are equal now, so only one of them is kept.
        let mut others = matched.iter().skip(1).copied().collect::<Vec<_>>();
        while let Some(at) = others.pop() {
            self.values.remove(at);
            self.preferred.retain(|preferred| *preferred != at);
        }
        Ok(())
    }

    /// Changes the selected values, or one part of each.
    fn set(
        &mut self,
        op: Op,
        mut matched: Vec<usize>,
        part: Option<&'static AttributeSchema>,
        value: Option<&Json>,
    ) -> Result<(), ScimError> {
        // A value without a required part is removed.
        let whole = part.is_none_or(|part| part.required);
        if op == Op::Remove && whole {
            while let Some(at) = matched.pop() {
                self.values.remove(at);
            }
            return Ok(());
        }
        let given = match part {
            Some(_) => Vec::new(),
            None => self.parts_of(value.cloned())?,
        };
        let flags = part.map_or_else(|| value::is_primary(&given), |part| part.name == "primary");
        for at in matched {
            let Some(found) = self.values.get_mut(at) else { continue };
            let mut members = object(Some(std::mem::replace(found, Json::Null)));
            match part {
                Some(part) => set_part(op, part, &mut members, value.cloned(), self.strictness)?,
                None => merge(op, self.attribute, &mut members, given.clone())?,
            }
            if flags && value::is_primary(&members) {
                self.preferred.push(at);
            }
            *found = Json::Object(members);
        }
        Ok(())
    }

    /// The parts of the single value of the operation.
    fn parts_of(&self, value: Option<Json>) -> Result<Members, ScimError> {
        let mut values = self.read(value)?;
        match (values.pop(), values.is_empty()) {
            (Some(members), true) => Ok(members),
            (None, _) => Ok(Vec::new()),
            (Some(_), false) => {
                let detail = "send one value for all that the path selects";
                Err(ScimError::new(ScimType::InvalidValue, detail))
            }
        }
    }

    fn prefer(&mut self, at: usize, given: &[(String, Json)]) {
        if value::is_primary(given) && !self.preferred.contains(&at) {
            self.preferred.push(at);
        }
    }

    fn finish(mut self) -> Result<Option<Json>, ScimError> {
        if self.values.len() > PATCH_VALUES_MAX {
            return Err(self.too_many());
        }
        match self.preferred.as_slice() {
            [] => {}
            [one] => {
                let others = self.values.iter_mut().enumerate().filter(|(at, _)| at != one);
                for (_, value) in others {
                    if let Json::Object(members) = value
                        && value::is_primary(members)
                    {
                        put(members, "primary", Json::Bool(false));
                    }
                }
            }
            _ => {
                let detail = format!("at most one value of {} can be primary", self.attribute.name);
                return Err(ScimError::new(ScimType::InvalidValue, detail));
            }
        }
        self.values.retain(|value| !matches!(value, Json::Object(parts) if parts.is_empty()));
        Ok((!self.values.is_empty()).then_some(Json::Array(self.values)))
    }

    fn too_many(&self) -> ScimError {
        let detail = format!("{} has too many values", self.attribute.name);
        ScimError::new(ScimType::InvalidValue, detail)
    }
}

/// Whether a given value equals an existing one: the same value and type or, for entries without a
/// value, the same other parts.
fn is_same(
    schema: &Schema,
    attribute: &'static AttributeSchema,
    given: &[(String, Json)],
    there: &Json,
) -> bool {
    let equal = |name: &str, one: &Json| match (attribute.sub_attribute(name), there.member(name)) {
        (Some(part), Some(other @ Json::Text(_))) => {
            one == other || PartPath::new(schema, attribute, part).same(one, other)
        }
        (_, Some(other)) => one == other,
        (_, None) => false,
    };
    let has_value = given.iter().any(|(name, _)| name == "value");
    let counts = |name: &str| match name {
        "value" | "type" => true,
        "primary" => false,
        _ => !has_value,
    };
    let mut counted = given.iter().filter(|(name, _)| counts(name)).peekable();
    match counted.peek() {
        Some(_) => counted.all(|(name, one)| equal(name, one)),
        None => given.iter().all(|(name, one)| equal(name, one)),
    }
}

/// RFC 7644 section 3.5.2.2 defines no meaning for a value in a removal, so strict parsing rejects
/// it.
pub(super) fn no_value_of_a_removal() -> ScimError {
    let detail = "remove takes no value: select the values to remove by a condition in the path";
    ScimError::new(ScimType::InvalidSyntax, detail)
}
