//! One operation upon a list of values.
//!
//! A condition in brackets chooses the values that change. At most one value is the one to prefer:
//! who becomes so takes the flag from the others (RFC 7644 section 3.5.2).

use roster_core::{Json, limits::PATCH_VALUES_MAX};

use super::{
    Members, Op,
    change::{merge, object, put, set_part},
    path::{Condition, Part, PartPath, Target, meets, seed},
    value,
};
use crate::{
    Profile, ScimError, ScimType,
    schema::{AttributeSchema, Schema},
};

/// The list after the operation; `None` where it is empty.
pub(super) fn change(
    op: Op,
    target: &Target,
    attribute: &'static AttributeSchema,
    current: Option<Json>,
    value: Option<Json>,
    profile: Profile,
) -> Result<Option<Json>, ScimError> {
    let values = match current {
        Some(Json::Array(values)) => values,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let mut list =
        List { schema: target.schema, attribute, profile, values, preferred: Vec::new() };
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
    profile: Profile,
    values: Vec<Json>,
    /// Which values were given the flag of the one to prefer.
    preferred: Vec<usize>,
}

impl List {
    /// The list as a whole.
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
                // Microsoft Entra names the values that are to go beside the path.
                Some(value) if self.profile.is_tolerant() => {
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
        let values = value::many(self.attribute, value.unwrap_or(Json::Null), self.profile)?;
        if values.len() > PATCH_VALUES_MAX { Err(self.too_many()) } else { Ok(values) }
    }

    /// Adds a value, or brings the one that is there already in line with it.
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
            // The value itself stays as it was written.
            for (name, part) in given.into_iter().filter(|(name, _)| name != "value") {
                put(members, &name, part);
            }
        }
    }

    /// One part of every value.
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

    /// The values that meet a condition, or one part of each.
    fn chosen(
        &mut self,
        op: Op,
        condition: &Condition,
        part: Option<&'static AttributeSchema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let (values, attribute) = (self.values.iter().enumerate(), self.attribute);
        let met: Vec<usize> =
            values.filter(|(_, value)| meets(condition, value)).map(|(at, _)| at).collect();
        // RFC 7643 section 2.5: null and [] say that there is none.
        let none = matches!(&value, Some(Json::Null))
            || matches!(&value, Some(Json::Array(items)) if items.is_empty());
        let removes = op == Op::Remove || (op == Op::Replace && none);
        if !met.is_empty() {
            let op = if removes { Op::Remove } else { op };
            let kept = seed(condition).filter(|_| self.profile.is_tolerant());
            return if part.is_none() && op == Op::Replace {
                self.replace(&met, kept.unwrap_or_default(), value)
            } else {
                self.set(op, met, part, value.as_ref())
            };
        }
        if removes {
            // What is not there is removed already.
            return Ok(());
        }
        // RFC 7644 section 3.5.2.3 refuses to replace what is not there. Microsoft Entra sends
        // nothing else to set an address for the first time.
        let may_create = op == Op::Add || self.profile.is_tolerant();
        if let Some(seed) = seed(condition).filter(|_| may_create) {
            return self.create(seed, part, value);
        }
        let detail = format!("no value of {} meets the condition", attribute.name);
        Err(ScimError::new(ScimType::NoTarget, detail))
    }

    /// A new value that meets the condition that none met.
    fn create(
        &mut self,
        seed: Members,
        part: Option<&'static AttributeSchema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let mut members = seed;
        let before = members.len();
        match part {
            Some(part) => set_part(Op::Add, part, &mut members, value, self.profile)?,
            None => {
                for (name, value) in self.parts_of(value)? {
                    put(&mut members, &name, value);
                }
            }
        }
        // Nothing was given but what the condition says.
        if members.len() == before && before == 0 {
            return Ok(());
        }
        self.prefer(self.values.len(), &members);
        self.values.push(Json::Object(members));
        Ok(())
    }

    /// Other values in the place of those chosen (RFC 7644 section 3.5.2.3); what the condition
    /// says of them stays by tolerance.
    fn replace(
        &mut self,
        met: &[usize],
        kept: Members,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let mut members = kept;
        for (name, value) in self.parts_of(value)? {
            put(&mut members, &name, value);
        }
        for at in met {
            self.prefer(*at, &members);
            if let Some(value) = self.values.get_mut(*at) {
                *value = Json::Object(members.clone());
            }
        }
        // Several that became alike are one.
        let mut others = met.iter().skip(1).copied().collect::<Vec<_>>();
        while let Some(at) = others.pop() {
            self.values.remove(at);
            self.preferred.retain(|preferred| *preferred != at);
        }
        Ok(())
    }

    /// Changes values, or one part of each.
    fn set(
        &mut self,
        op: Op,
        mut met: Vec<usize>,
        part: Option<&'static AttributeSchema>,
        value: Option<&Json>,
    ) -> Result<(), ScimError> {
        // A value without what it must have is none.
        let whole = part.is_none_or(|part| part.required);
        if op == Op::Remove && whole {
            while let Some(at) = met.pop() {
                self.values.remove(at);
            }
            return Ok(());
        }
        let given = match part {
            Some(_) => Vec::new(),
            None => self.parts_of(value.cloned())?,
        };
        let flags = part.map_or_else(|| value::is_primary(&given), |part| part.name == "primary");
        for at in met {
            let Some(found) = self.values.get_mut(at) else { continue };
            let mut members = object(Some(std::mem::replace(found, Json::Null)));
            match part {
                Some(part) => set_part(op, part, &mut members, value.cloned(), self.profile)?,
                None => merge(op, self.attribute, &mut members, given.clone())?,
            }
            if flags && value::is_primary(&members) {
                self.preferred.push(at);
            }
            *found = Json::Object(members);
        }
        Ok(())
    }

    /// The parts of the one value that is given.
    fn parts_of(&self, value: Option<Json>) -> Result<Members, ScimError> {
        let mut values = self.read(value)?;
        match (values.pop(), values.is_empty()) {
            (Some(members), true) => Ok(members),
            (None, _) => Ok(Vec::new()),
            (Some(_), false) => {
                let detail = "give one value for those that the path chooses";
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
                let detail = format!("one value of {} is primary at most", self.attribute.name);
                return Err(ScimError::new(ScimType::InvalidValue, detail));
            }
        }
        self.values.retain(|value| !matches!(value, Json::Object(parts) if parts.is_empty()));
        Ok((!self.values.is_empty()).then_some(Json::Array(self.values)))
    }

    fn too_many(&self) -> ScimError {
        let detail = format!("{} takes fewer values", self.attribute.name);
        ScimError::new(ScimType::InvalidValue, detail)
    }
}

/// Whether a value that is given stands there already: the same value of the same type, or, where
/// it has no value of its own, nothing in it that does not stand there.
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

/// RFC 7644 section 3.5.2.2 gives a value in a removal no meaning; what it is taken for would
/// differ from what was meant.
pub(super) fn no_value_of_a_removal() -> ScimError {
    let detail = "remove takes no value: name those that are to go by a condition in the path";
    ScimError::new(ScimType::InvalidSyntax, detail)
}
