//! Finds the values of a list that equal a given one.
//!
//! A value repeats another if it has the same value and type or, for entries without a value, the
//! same other parts. Candidates are found by a hash of one text, so that an operation with many
//! values does not compare each with each.

use std::collections::HashMap;

use roster_core::{Json, TooMuchWork, Work};

use super::path::{PartPath, text_cost};
use crate::{
    schema::{AttributeSchema, Schema},
    value::telling,
};

/// The values of a list by the comparable form of a part, for each part that was asked for.
pub(super) struct Index<'w> {
    schema: &'static Schema,
    attribute: &'static AttributeSchema,
    paths: Vec<(&'static str, PartPath)>,
    by_part: HashMap<&'static str, HashMap<String, Vec<usize>>>,
    work: &'w Work,
}

impl<'w> Index<'w> {
    pub(super) fn new(
        schema: &'static Schema,
        attribute: &'static AttributeSchema,
        work: &'w Work,
    ) -> Self {
        let path = |part| PartPath::new(schema, attribute, part);
        let paths = attribute.sub_attributes.iter().map(|part| (part.name, path(part))).collect();
        Self { schema, attribute, paths, by_part: HashMap::new(), work }
    }

    /// Whether it is of this list.
    pub(super) fn is_of(&self, schema: &Schema, attribute: &AttributeSchema) -> bool {
        self.schema.urn == schema.urn && self.attribute.name == attribute.name
    }

    /// The position of the first value that the given one repeats: it has the same parts of those
    /// that tell values apart, and no others.
    pub(super) fn repeated(
        &mut self,
        given: &[(String, Json)],
        values: &[Json],
    ) -> Result<Option<usize>, TooMuchWork> {
        let wanted = telling(given).count();
        let has_as_many = |at: &usize| match values.get(*at) {
            Some(Json::Object(found)) => telling(found).count() == wanted,
            _ => false,
        };
        Ok(self.equal(given, values)?.into_iter().find(has_as_many))
    }

    /// The positions of the values that have all telling parts of the given one, in order. They may
    /// have others, such as a type.
    pub(super) fn equal(
        &mut self,
        given: &[(String, Json)],
        values: &[Json],
    ) -> Result<Vec<usize>, TooMuchWork> {
        let candidates: Vec<usize> = match self.key_of(given) {
            Some((part, text)) => self.having(part, text, values)?.to_vec(),
            None => (0..values.len()).collect(),
        };
        let mut equal = Vec::new();
        for at in candidates {
            if let Some(value) = values.get(at)
                && self.is_same(given, value)?
            {
                equal.push(at);
            }
        }
        Ok(equal)
    }

    /// Notes that a value was added at the end of the list.
    pub(super) fn pushed(&mut self, value: &Json, at: usize) -> Result<(), TooMuchWork> {
        let Self { paths, by_part, work, .. } = self;
        for (part, places) in by_part {
            note(paths, part, value, at, places, work)?;
        }
        Ok(())
    }

    /// Notes that parts of a value changed, except its `value`.
    pub(super) fn changed(&mut self) {
        self.by_part.retain(|part, _| *part == "value");
    }

    /// The text that probably tells the given value from others: its value, or the longest of the
    /// compared parts. `None` if there is no text.
    fn key_of<'g>(&self, given: &'g [(String, Json)]) -> Option<(&'static str, &'g str)> {
        let texts = telling(given).filter_map(|(name, part)| {
            let (known, _) = self.paths.iter().find(|(known, _)| known == name)?;
            if let Json::Text(text) = part { Some((*known, text.as_str())) } else { None }
        });
        texts.max_by_key(|(name, text)| (*name == "value", text.len()))
    }

    fn having(
        &mut self,
        part: &'static str,
        text: &str,
        values: &[Json],
    ) -> Result<&[usize], TooMuchWork> {
        let Self { paths, by_part, work, .. } = self;
        if !by_part.contains_key(part) {
            let mut places = HashMap::new();
            for (at, value) in values.iter().enumerate() {
                note(paths, part, value, at, &mut places, work)?;
            }
            by_part.insert(part, places);
        }
        let Some(path) = path_of(paths, part) else { return Ok(&[]) };
        work.spend(text_cost(text))?;
        let places = by_part.get(part).and_then(|places| places.get(&path.key(text)));
        Ok(places.map(Vec::as_slice).unwrap_or_default())
    }

    fn is_same(&self, given: &[(String, Json)], there: &Json) -> Result<bool, TooMuchWork> {
        for (name, one) in telling(given) {
            let is_equal = match (path_of(&self.paths, name), there.member(name)) {
                (Some(path), Some(other @ Json::Text(text))) => {
                    self.work.spend(2 * text_cost(text))?;
                    one == other || path.same(one, other)
                }
                (_, Some(other)) => {
                    self.work.spend(1)?;
                    one == other
                }
                (_, None) => false,
            };
            if !is_equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn path_of(paths: &[(&'static str, PartPath)], name: &str) -> Option<PartPath> {
    paths.iter().find(|(known, _)| *known == name).map(|(_, path)| *path)
}

/// Notes the place of a value by a part of it.
fn note(
    paths: &[(&'static str, PartPath)],
    part: &str,
    value: &Json,
    at: usize,
    places: &mut HashMap<String, Vec<usize>>,
    work: &Work,
) -> Result<(), TooMuchWork> {
    if let (Some(path), Some(Json::Text(text))) = (path_of(paths, part), value.member(part)) {
        work.spend(text_cost(text))?;
        places.entry(path.key(text)).or_default().push(at);
    }
    Ok(())
}
