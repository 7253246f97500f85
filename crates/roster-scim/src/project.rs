//! Which attributes an answer shows: `attributes` and `excludedAttributes` (RFC 7644 sections
//! 3.4.2.5 and 3.9).
//!
//! Names are in whatever case, may be qualified by a URN, may be a URN alone, and may name a part.
//! What is returned always is never left out. A name that means nothing shows nothing.

use crate::{
    error::{ScimError, ScimType},
    schema::{ResourceType, Returned},
};

/// Most names that are read.
pub const NAMES_MAX: usize = 100;

/// Which attributes an answer shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    mode: Mode,
    names: Vec<Named>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    All,
    Only,
    Without,
}

/// A whole schema, an attribute of it, or a part of that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    urn: &'static str,
    attribute: Option<&'static str>,
    part: Option<&'static str>,
}

/// How much of an attribute is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nothing.
    No,
    /// All of it.
    Whole,
    /// The parts that [`Projection::part`] tells.
    Parts,
}

impl Projection {
    /// Reads what was asked for; an empty list asks for nothing in particular.
    pub fn read(
        resource_type: &ResourceType,
        attributes: Option<&[String]>,
        excluded: Option<&[String]>,
    ) -> Result<Self, ScimError> {
        let given = |names: Option<&[String]>| {
            names.is_some_and(|names| names.iter().any(|name| !name.trim().is_empty()))
        };
        let (mode, names) = match (given(attributes), given(excluded)) {
            (false, false) => return Ok(Self::default()),
            (true, false) => (Mode::Only, attributes),
            (false, true) => (Mode::Without, excluded),
            (true, true) => {
                let detail = "send attributes or excludedAttributes, not both";
                return Err(ScimError::new(ScimType::InvalidValue, detail));
            }
        };
        let names = names.unwrap_or_default();
        if names.len() > NAMES_MAX {
            let detail = format!("name at most {NAMES_MAX} attributes");
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
        let read = names.iter().filter_map(|name| Named::read(resource_type, name.trim()));
        Ok(Self { mode, names: read.collect() })
    }

    /// Whether everything is shown.
    pub fn is_all(&self) -> bool {
        self.mode == Mode::All
    }

    /// Whether an attribute is shown that is shown by wish alone.
    pub fn asks(&self, urn: &str, attribute: &str) -> bool {
        self.mode == Mode::Only && self.attribute(urn, attribute) != Shown::No
    }

    /// How much of an attribute is shown.
    pub fn attribute(&self, urn: &str, attribute: &str) -> Shown {
        if self.mode == Mode::All {
            return Shown::Whole;
        }
        let of = |named: &&Named| {
            named.urn == urn && named.attribute.is_none_or(|name| name == attribute)
        };
        let mut parts = false;
        for named in self.names.iter().filter(of) {
            if named.part.is_none() {
                return if self.mode == Mode::Only { Shown::Whole } else { Shown::No };
            }
            parts = true;
        }
        match (self.mode, parts) {
            (_, true) => Shown::Parts,
            (Mode::Only, false) => Shown::No,
            (Mode::All | Mode::Without, false) => Shown::Whole,
        }
    }

    /// Whether a part of an attribute is shown.
    pub fn part(&self, urn: &str, attribute: &str, part: &str) -> bool {
        match self.attribute(urn, attribute) {
            Shown::No => false,
            Shown::Whole => true,
            Shown::Parts => {
                let named = self.names.iter().any(|named| {
                    named.urn == urn
                        && named.attribute == Some(attribute)
                        && named.part == Some(part)
                });
                named == (self.mode == Mode::Only)
            }
        }
    }
}

impl Named {
    fn read(resource_type: &ResourceType, name: &str) -> Option<Self> {
        if let Some(schema) = resource_type.schema_of(name) {
            return Some(Self { urn: schema.urn, attribute: None, part: None });
        }
        let found = resource_type.find(name)?;
        let always = found.attribute.returned == Returned::Always;
        let part = found.sub_attribute.map(|part| part.name);
        (!always).then_some(Self {
            urn: found.schema.urn,
            attribute: Some(found.attribute.name),
            part,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ENTERPRISE_URN, USER, USER_URN};

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn only(text: &str) -> Projection {
        Projection::read(&USER, Some(&names(text)), None).expect("names")
    }

    fn without(text: &str) -> Projection {
        Projection::read(&USER, None, Some(&names(text))).expect("names")
    }

    #[test]
    fn names_are_taken_in_any_case_and_with_their_urn() {
        let shown = only(&format!("USERNAME,{ENTERPRISE_URN}:manager,name.familyname"));
        assert_eq!(shown.attribute(USER_URN, "userName"), Shown::Whole);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "manager"), Shown::Whole);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "department"), Shown::No);
        assert_eq!(shown.attribute(USER_URN, "name"), Shown::Parts);
        assert!(shown.part(USER_URN, "name", "familyName"));
        assert!(!shown.part(USER_URN, "name", "givenName"));
    }

    #[test]
    fn what_is_left_out_is_left_out_and_nothing_else() {
        let shown = without(&format!("emails.display,title,{ENTERPRISE_URN}"));
        assert_eq!(shown.attribute(USER_URN, "title"), Shown::No);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "department"), Shown::No);
        assert_eq!(shown.attribute(USER_URN, "userName"), Shown::Whole);
        assert!(!shown.part(USER_URN, "emails", "display"));
        assert!(shown.part(USER_URN, "emails", "value"));
    }

    #[test]
    fn a_whole_attribute_rules_over_its_parts() {
        let shown = only("name.givenName,name");
        assert!(shown.part(USER_URN, "name", "familyName"));
    }

    #[test]
    fn both_at_once_are_refused_and_empty_lists_ask_for_nothing() {
        let both = Projection::read(&USER, Some(&names("id")), Some(&names("title")));
        assert_eq!(both.map_err(|error| error.scim_type), Err(Some(ScimType::InvalidValue)));
        assert!(only("").is_all());
        assert_eq!(only("nothing").attribute(USER_URN, "userName"), Shown::No);
    }
}
