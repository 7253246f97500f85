//! Reads a body with members of a group as they come.
//!
//! A group may have very many members, and a tree of them takes more than twenty times the memory
//! of the text. So of a large body only the texts of values are found, and each member is parsed
//! alone. A value that nothing needs is skipped: its form is checked, but not whether an object in
//! it has a member twice.

use std::{collections::HashSet, fmt};

use roster_core::{
    Json,
    json::{self, JsonFault},
};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{ScimError, ScimType};

/// A larger array or object is no value of an attribute of a group, and no member.
const SMALL_BYTES_MAX: usize = 64 * 1024;

/// The maximum number of names in one object of a large body.
const NAMES_MAX: usize = 1000;

/// Why a body is refused.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not valid JSON.
    Json(JsonFault),
    /// It is not of SCIM's form.
    Scim(ScimError),
}

impl From<ScimError> for Fault {
    fn from(error: ScimError) -> Self {
        Self::Scim(error)
    }
}

impl From<JsonFault> for Fault {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

impl Fault {
    /// The same fault, in the operation with this number.
    pub(crate) fn of_operation(self, number: usize) -> Self {
        match self {
            Self::Json(fault) => Self::Json(fault),
            Self::Scim(error) => Self::Scim(error.of_operation(number)),
        }
    }
}

/// The same result, with the fault of the JSON outside.
pub(crate) fn nested<T>(result: Result<T, Fault>) -> Result<Result<T, ScimError>, JsonFault> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Fault::Scim(error)) => Ok(Err(error)),
        Err(Fault::Json(fault)) => Err(fault),
    }
}

/// Whether a valid JSON text is an object.
pub(crate) fn is_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{")
}

/// Checks that a text is JSON.
pub(crate) fn check(text: &[u8]) -> Result<(), Fault> {
    let checked = serde_json::from_slice::<&RawValue>(text);
    checked.map(drop).map_err(|fault| Fault::Json(JsonFault { detail: fault.to_string() }))
}

/// The value of an attribute that is a text or small. A larger value has the kind of the one that
/// was sent, and is no value of any attribute of a group.
pub(crate) fn small(text: &[u8]) -> Result<Json, Fault> {
    match text.first() {
        Some(b'[') if text.len() > SMALL_BYTES_MAX => Ok(Json::Array(vec![Json::Null; 2])),
        Some(b'{') if text.len() > SMALL_BYTES_MAX => Ok(Json::Object(Vec::new())),
        _ => read_part(text),
    }
}

/// Reads a part of a body. A fault says nothing of its place, which would be that in the part.
fn read_part(text: &[u8]) -> Result<Json, Fault> {
    let without_place = |fault: JsonFault| {
        let detail = fault.detail.split(" at line ").next().unwrap_or_default().to_owned();
        Fault::Json(JsonFault { detail })
    };
    json::read(text).map_err(without_place)
}

/// One member of a group.
pub(crate) fn member(text: &[u8]) -> Result<Json, Fault> {
    if text.len() > SMALL_BYTES_MAX {
        let detail = format!("send at most {SMALL_BYTES_MAX} bytes for one member");
        return Err(ScimError::new(ScimType::InvalidValue, detail).into());
    }
    read_part(text)
}

/// Calls the function with each name of an object and the text of its value.
pub(crate) fn members<'t>(
    text: &'t [u8],
    mut each: impl FnMut(String, &'t [u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut names = HashSet::new();
    let checked = |name: String, value| {
        if names.len() >= NAMES_MAX {
            let detail = format!("send at most {NAMES_MAX} names in one object");
            return Err(ScimError::new(ScimType::InvalidSyntax, detail).into());
        }
        if !names.insert(name.clone()) {
            let detail = "an object has the same member twice".to_owned();
            return Err(Fault::Json(JsonFault { detail }));
        }
        each(name, value)
    };
    let mut fault = None;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let parsed = Members { each: checked, fault: &mut fault }.deserialize(&mut reader);
    finish(fault, parsed.and_then(|()| reader.end()))
}

/// Calls the function with the text of each item of an array.
pub(crate) fn items<'t>(
    text: &'t [u8],
    each: impl FnMut(&'t [u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut fault = None;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let parsed = Items { each, fault: &mut fault }.deserialize(&mut reader);
    finish(fault, parsed.and_then(|()| reader.end()))
}

/// The fault of a function that was called, or else that of the JSON.
fn finish(fault: Option<Fault>, parsed: Result<(), serde_json::Error>) -> Result<(), Fault> {
    let of_json = |fault: serde_json::Error| Fault::Json(JsonFault { detail: fault.to_string() });
    fault.map_or_else(|| parsed.map_err(of_json), Err)
}

struct Members<'v, F> {
    each: F,
    fault: &'v mut Option<Fault>,
}

impl<'t, F: FnMut(String, &'t [u8]) -> Result<(), Fault>> DeserializeSeed<'t> for Members<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'t, F: FnMut(String, &'t [u8]) -> Result<(), Fault>> Visitor<'t> for Members<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value::<&RawValue>()?.get().as_bytes();
            if let Err(found) = (self.each)(name, value) {
                *self.fault = Some(found);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

struct Items<'v, F> {
    each: F,
    fault: &'v mut Option<Fault>,
}

impl<'t, F: FnMut(&'t [u8]) -> Result<(), Fault>> DeserializeSeed<'t> for Items<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'t, F: FnMut(&'t [u8]) -> Result<(), Fault>> Visitor<'t> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            if let Err(found) = (self.each)(item.get().as_bytes()) {
                *self.fault = Some(found);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}
