//! Applies one operation to a list of values.
//!
//! A condition in brackets selects the values to change. At most one value is primary: a value that
//! becomes primary clears the flag of the others (RFC 7644 section 3.5.2).

use std::collections::BTreeSet;

use roster_core::{Json, TooMuchWork, Work, limits::PATCH_VALUES_MAX};

use super::{
    Op,
    parts::{different, find, given, merge, no_value_of_a_removal, object, put, set_part},
    path::{Condition, Part, Target, matches, seed},
    same::Index,
};
use crate::{
    ScimError, ScimType, Strictness, app_role,
    schema::{AttributeSchema, Schema},
    value::{Members, Needs, is_idle, is_no_value, is_primary, lacks, many, required},
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
                let given = self.read(value, Needs::Whole)?;
                self.values.clear();
                for (at, members) in given.into_iter().enumerate() {
                    self.prefer(at, &members);
                    self.values.push(Json::Object(members));
                }
                self.merge_equal()?;
            }
            Op::Remove => match value {
                None | Some(Json::Null) => self.values.clear(),
                // Microsoft Entra sends the values to remove in `value`.
                Some(value) if self.strictness.is_tolerant() => {
                    let mut index = Index::new(self.schema, self.attribute, self.work);
                    let mut removed = BTreeSet::new();
                    let sent = self.read(Some(value), Needs::Whole)?;
                    for given in &sent {
                        removed.extend(index.equal(given, &self.values)?);
                    }
                    // A list without values has lost them already.
                    if removed.is_empty() && !sent.is_empty() && !self.values.is_empty() {
                        return Err(different());
                    }
                    self.remove(&removed);
                }
                Some(_) => return Err(no_value_of_a_removal()),
            },
        }
        Ok(())
    }

    fn read(&self, value: Option<Json>, needs: Needs) -> Result<Vec<Members>, ScimError> {
        let path = format_args!("{}", self.attribute.name);
        let value = value.unwrap_or(Json::Null);
        let mut values = many(self.attribute, value, self.strictness, needs, path)?;
        if app_role::can_be(self.attribute) && self.strictness.is_tolerant() {
            let stored = self.values.iter().filter_map(|known| match known.member("value") {
                Some(Json::Text(text)) => Some(text.as_str()),
                _ => None,
            });
            app_role::read(values.iter_mut(), stored);
        }
        if values.len() > PATCH_VALUES_MAX { Err(self.too_many()) } else { Ok(values) }
    }

    fn add_all(&mut self, value: Option<Json>, index: &mut Index<'_>) -> Result<(), ScimError> {
        let before = self.values.len();
        for given in self.read(value, Needs::Whole)? {
            self.add(given, before, index)?;
        }
        Ok(())
    }

    /// Adds a value, or updates the one that it repeats. One that is given without a type is also
    /// that of some type, if it is among the first `before`, which were there before the operation.
    fn add(
        &mut self,
        given: Members,
        before: usize,
        index: &mut Index<'_>,
    ) -> Result<(), TooMuchWork> {
        let mut found = index.repeated(&given, &self.values)?;
        if found.is_none() && find(&given, "value").is_some() {
            let equal = index.equal(&given, &self.values)?;
            found = equal.into_iter().find(|at| *at < before);
        }
        let Some(at) = found else {
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
        let mut all = (0..self.values.len()).collect();
        if op == Op::Remove {
            self.keep_given(&mut all, Some(part), value.clone())?;
        }
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
        let removes = op == Op::Remove || (op == Op::Replace && is_no_value(value.as_ref()));
        if op == Op::Remove {
            self.keep_given(&mut matched, part, value.clone())?;
        }
        if !matched.is_empty() {
            let op = if removes { Op::Remove } else { op };
            // RFC 7644 section 3.5.2.3 replaces the selected values. Tolerant parsing keeps the
            // parts that the new value does not name.
            return if part.is_none() && op == Op::Replace && !self.strictness.is_tolerant() {
                self.replace(&matched, value)
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
        if let Some(part) = part {
            set_part(Op::Add, part, &mut members, value, self.strictness)?;
        } else {
            for (name, value) in self.new_parts(value)? {
                put(&mut members, &name, value);
            }
            if let Some(part) = required(self.attribute)
                && members.iter().all(|(name, _)| name != part.name)
            {
                return Err(lacks(self.attribute, format_args!("{}", self.attribute.name)));
            }
        }
        // The operation has no value and the condition gives none.
        if members.len() == before && before == 0 {
            return Ok(());
        }
        self.prefer(self.values.len(), &members);
        self.values.push(Json::Object(members));
        self.merge_equal()
    }

    /// Replaces the selected values.
    fn replace(&mut self, matched: &[usize], value: Option<Json>) -> Result<(), ScimError> {
        let members = self.new_parts(value)?;
        // All selected values would be equal, so only the first is kept.
        let Some((first, others)) = matched.split_first() else { return Ok(()) };
        self.prefer(*first, &members);
        if let Some(value) = self.values.get_mut(*first) {
            *value = Json::Object(members);
        }
        // The others follow it.
        self.remove(&others.iter().copied().collect());
        self.merge_equal()
    }

    /// Changes the selected values, or one part of each.
    fn set(
        &mut self,
        op: Op,
        matched: Vec<usize>,
        part: Option<&'static AttributeSchema>,
        value: Option<&Json>,
    ) -> Result<(), ScimError> {
        let given = match part {
            None if op != Op::Remove => self.parts_of(value.cloned())?,
            None | Some(_) => Vec::new(),
        };
        // A value without a required part is removed.
        let whole = part.is_none_or(|part| part.required);
        let is_cleared = op == Op::Replace
            && match part {
                Some(_) => is_no_value(value),
                None => required(self.attribute)
                    .is_some_and(|part| find(&given, part.name) == Some(&Json::Null)),
            };
        if whole && (op == Op::Remove || is_cleared) {
            self.remove(&matched.into_iter().collect());
            return Ok(());
        }
        // Each value gets a copy.
        let copy = value.map_or(1, |value| 1 + value.size() / BYTES_COPIED_PER_COMPARISON);
        let flags = part.map_or_else(|| is_primary(&given), |part| part.name == "primary");
        let mut emptied = BTreeSet::new();
        for at in matched {
            let Some(found) = self.values.get_mut(at) else { continue };
            self.work.spend(copy)?;
            let was_idle = is_idle(found);
            let mut members = object(Some(std::mem::replace(found, Json::Null)));
            match part {
                Some(part) => set_part(op, part, &mut members, value.cloned(), self.strictness)?,
                None => merge(op, self.attribute, &mut members, given.clone())?,
            }
            let is_primary = is_primary(&members);
            *found = Json::Object(members);
            let is_idle = is_idle(found);
            if is_idle && !was_idle {
                emptied.insert(at);
            } else if is_primary && (flags || (was_idle && !is_idle)) {
                // The flag of an idle entry counts once it gets its value.
                self.preferred.add(at);
            }
        }
        self.remove(&emptied);
        // Values are equal by these parts; those without a value, by all.
        let has_value = self.attribute.sub_attribute("value").is_some();
        if !has_value || part.is_none_or(|part| matches!(part.name, "value" | "type")) {
            self.merge_equal()?;
        }
        Ok(())
    }

    /// Keeps the positions of the values that the value of a removal names too. A removal without a
    /// value concerns all.
    fn keep_given(
        &self,
        positions: &mut Vec<usize>,
        part: Option<&'static AttributeSchema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        if is_no_value(value.as_ref()) {
            return Ok(());
        }
        if !self.strictness.is_tolerant() {
            return Err(no_value_of_a_removal());
        }
        let mut named = BTreeSet::new();
        if let Some(part) = part {
            let value = given(part, value, self.strictness)?;
            let has_it = |at: &usize| {
                self.values.get(*at).is_some_and(|found| found.member(part.name) == value.as_ref())
            };
            named.extend(positions.iter().copied().filter(has_it));
        } else {
            let mut index = Index::new(self.schema, self.attribute, self.work);
            for given in self.read(value, Needs::Whole)? {
                named.extend(index.equal(&given, &self.values)?);
            }
        }
        let had_none = positions.is_empty();
        positions.retain(|at| named.contains(at));
        if positions.is_empty() && !had_none {
            return Err(different());
        }
        Ok(())
    }

    /// Merges values that have the same value and type or, without a value, the same parts. The
    /// first gets the parts that it lacks, and is primary if any of them is.
    fn merge_equal(&mut self) -> Result<(), ScimError> {
        let mut index = Index::new(self.schema, self.attribute, self.work);
        let mut kept: Vec<Json> = Vec::with_capacity(self.values.len());
        let mut moved = Vec::with_capacity(self.values.len());
        for value in std::mem::take(&mut self.values) {
            let members = object(Some(value));
            let Some(at) = index.repeated(&members, &kept)? else {
                let at = kept.len();
                let value = Json::Object(members);
                index.pushed(&value, at)?;
                kept.push(value);
                moved.push(at);
                continue;
            };
            moved.push(at);
            let Some(Json::Object(known)) = kept.get_mut(at) else { continue };
            for (name, part) in members {
                let found = known.iter_mut().find(|(had, _)| *had == name);
                match found {
                    None => known.push((name, part)),
                    Some((_, found)) if name == "primary" && part == Json::Bool(true) => {
                        *found = part;
                    }
                    Some(_) => {}
                }
            }
            index.changed();
        }
        self.values = kept;
        self.preferred.moved(&moved);
        Ok(())
    }

    /// The parts of the single value of the operation.
    fn parts_of(&self, value: Option<Json>) -> Result<Members, ScimError> {
        let mut values = self.read(value, Needs::Part)?;
        match (values.pop(), values.is_empty()) {
            (Some(members), true) => Ok(members),
            (None, _) => Ok(Vec::new()),
            (Some(_), false) => {
                let detail = "send one value for all that the path selects";
                Err(ScimError::new(ScimType::InvalidValue, detail))
            }
        }
    }

    /// The parts of a new value.
    fn new_parts(&self, value: Option<Json>) -> Result<Members, ScimError> {
        let mut members = self.parts_of(value)?;
        let had_any = !members.is_empty();
        members.retain(|(_, part)| *part != Json::Null);
        if had_any && members.is_empty() {
            return Err(lacks(self.attribute, format_args!("{}", self.attribute.name)));
        }
        Ok(members)
    }

    fn prefer(&mut self, at: usize, given: &[(String, Json)]) {
        if is_primary(given) {
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
                // An entry without a value may be left out in the end, so until it gets one it is
                // open which entry is primary.
                let is_open = self.values.get(one).is_some_and(is_idle);
                let flag = if is_open { Json::Null } else { Json::Bool(false) };
                let others = self.values.iter_mut().enumerate().filter(|(at, _)| *at != one);
                for (_, value) in others {
                    if let Json::Object(members) = value
                        && (is_primary(members) || find(members, "primary") == Some(&Json::Null))
                    {
                        put(members, "primary", flag.clone());
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
    /// The values are now at these positions.
    fn moved(&mut self, positions: &[usize]) {
        if let Self::One(at) = self
            && let Some(to) = positions.get(*at)
        {
            *at = *to;
        }
    }

    fn add(&mut self, at: usize) {
        *self = match *self {
            Self::None => Self::One(at),
            Self::One(known) if known == at => Self::One(at),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}
