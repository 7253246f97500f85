//! Applies one operation to a list of values.
//!
//! A condition in brackets selects the values to change. At most one value is primary: a value that
//! becomes primary clears the flag of the others (RFC 7644 section 3.5.2).

use std::collections::BTreeSet;

use roster_core::{Json, TooMuchWork, Work, limits::PATCH_VALUES_MAX};

use super::{
    Members, Op,
    change::{merge, object, put, set_part},
    path::{Condition, Part, Target, matches, seed},
    same::Index,
    value,
};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, Schema},
};

/// The list after the operation; `None` if it is empty.
pub(super) fn change<'w>(
    op: Op,
    target: &Target,
    attribute: &'static AttributeSchema,
    current: Option<Json>,
    value: Option<Json>,
    (strictness, work): (Strictness, &'w Work),
    index: &mut Option<Index<'w>>,
) -> Result<Option<Json>, ScimError> {
    let values = match current {
        Some(Json::Array(values)) => values,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    work.spend(1 + values.len() / VALUES_PER_COMPARISON)?;
    let preferred = Preferred::None;
    let mut list = List { schema: target.schema, attribute, strictness, work, values, preferred };
    let known = index.take().filter(|known| known.is_of(target.schema, attribute));
    match (&target.condition, target.known_part()) {
        (None, None) if op == Op::Add => {
            let new = || Index::new(target.schema, attribute, work);
            let mut known = known.unwrap_or_else(new);
            list.add_all(value, &mut known)?;
            *index = Some(known);
        }
        (None, None) => list.whole(op, value)?,
        (None, Some(part)) => list.every(op, part, value)?,
        (Some(condition), part) => list.chosen(op, condition, part, value)?,
    }
    debug_assert!(!matches!(target.part, Some(Part::Free(_))), "only objects have free keys");
    list.finish()
}

/// How many bytes of a value are copied in the time of one comparison.
const BYTES_COPIED_PER_COMPARISON: usize = 64;
/// How many values are visited in the time of one comparison.
const VALUES_PER_COMPARISON: usize = 8;

struct List<'w> {
    schema: &'static Schema,
    attribute: &'static AttributeSchema,
    strictness: Strictness,
    work: &'w Work,
    values: Vec<Json>,
    preferred: Preferred,
}

/// The values that the operation made primary.
enum Preferred {
    None,
    /// The value at this position.
    One(usize),
    Several,
}

impl List<'_> {
    /// Applies the operation to the whole list.
    fn whole(&mut self, op: Op, value: Option<Json>) -> Result<(), ScimError> {
        match op {
            Op::Add => {
                let mut index = Index::new(self.schema, self.attribute, self.work);
                self.add_all(value, &mut index)?;
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
                    let mut index = Index::new(self.schema, self.attribute, self.work);
                    let mut removed = BTreeSet::new();
                    for given in self.read(Some(value))? {
                        removed.extend(index.equal(&given, &self.values)?);
                    }
                    self.remove(&removed);
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

    fn add_all(&mut self, value: Option<Json>, index: &mut Index<'_>) -> Result<(), ScimError> {
        for given in self.read(value)? {
            self.add(given, index)?;
        }
        Ok(())
    }

    /// Adds a value, or updates the equal one.
    fn add(&mut self, given: Members, index: &mut Index<'_>) -> Result<(), TooMuchWork> {
        let Some(at) = index.equal(&given, &self.values)?.first().copied() else {
            let at = self.values.len();
            self.prefer(at, &given);
            let value = Json::Object(given);
            index.pushed(&value, at)?;
            self.values.push(value);
            return Ok(());
        };
        self.prefer(at, &given);
        if let Some(Json::Object(members)) = self.values.get_mut(at) {
            // `value` keeps its spelling.
            for (name, part) in given.into_iter().filter(|(name, _)| name != "value") {
                put(members, &name, part);
            }
            index.changed();
        }
        Ok(())
    }

    /// Removes the values at these positions.
    fn remove(&mut self, positions: &BTreeSet<usize>) {
        let mut at = 0..;
        self.values.retain(|_| at.next().is_none_or(|at| !positions.contains(&at)));
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
        let attribute = self.attribute;
        let mut matched = Vec::new();
        for (at, value) in self.values.iter().enumerate() {
            if matches(condition, value, self.work)? {
                matched.push(at);
            }
        }
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
        // All selected values would be equal, so only the first is kept.
        let Some((first, others)) = matched.split_first() else { return Ok(()) };
        self.prefer(*first, &members);
        if let Some(value) = self.values.get_mut(*first) {
            *value = Json::Object(members);
        }
        self.remove(&others.iter().copied().collect());
        Ok(())
    }

    /// Changes the selected values, or one part of each.
    fn set(
        &mut self,
        op: Op,
        matched: Vec<usize>,
        part: Option<&'static AttributeSchema>,
        value: Option<&Json>,
    ) -> Result<(), ScimError> {
        // A value without a required part is removed.
        let whole = part.is_none_or(|part| part.required);
        if op == Op::Remove && whole {
            self.remove(&matched.into_iter().collect());
            return Ok(());
        }
        // Each value gets a copy.
        let copy = value.map_or(1, |value| 1 + value.size() / BYTES_COPIED_PER_COMPARISON);
        let given = match part {
            Some(_) => Vec::new(),
            None => self.parts_of(value.cloned())?,
        };
        let flags = part.map_or_else(|| value::is_primary(&given), |part| part.name == "primary");
        for at in matched {
            let Some(found) = self.values.get_mut(at) else { continue };
            self.work.spend(copy)?;
            let mut members = object(Some(std::mem::replace(found, Json::Null)));
            match part {
                Some(part) => set_part(op, part, &mut members, value.cloned(), self.strictness)?,
                None => merge(op, self.attribute, &mut members, given.clone())?,
            }
            let is_preferred = flags && value::is_primary(&members);
            *found = Json::Object(members);
            if is_preferred {
                self.preferred.add(at);
            }
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
        if value::is_primary(given) {
            self.preferred.add(at);
        }
    }

    fn finish(mut self) -> Result<Option<Json>, ScimError> {
        if self.values.len() > PATCH_VALUES_MAX {
            return Err(self.too_many());
        }
        match self.preferred {
            Preferred::None => {}
            Preferred::One(one) => {
                let others = self.values.iter_mut().enumerate().filter(|(at, _)| *at != one);
                for (_, value) in others {
                    if let Json::Object(members) = value
                        && value::is_primary(members)
                    {
                        put(members, "primary", Json::Bool(false));
                    }
                }
            }
            Preferred::Several => {
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

impl Preferred {
    fn add(&mut self, at: usize) {
        *self = match *self {
            Self::None => Self::One(at),
            Self::One(known) if known == at => Self::One(at),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}

/// RFC 7644 section 3.5.2.2 defines no meaning for a value in a removal, so strict parsing rejects
/// it.
pub(super) fn no_value_of_a_removal() -> ScimError {
    let detail = "remove takes no value: select the values to remove by a condition in the path";
    ScimError::new(ScimType::InvalidSyntax, detail)
}
