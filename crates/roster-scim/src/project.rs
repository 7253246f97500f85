//! The attributes that a response returns: `attributes` and `excludedAttributes` (RFC 7644 sections
//! 3.4.2.5 and 3.9).
//!
//! A name is an attribute, a sub-attribute, or a whole schema by its URN; an attribute may have its
//! URN in front. Without one it is the first that has the name: the core schema's, an extension's,
//! a declared one. Case does not matter. Attributes with `returned: always` cannot be excluded.
//! Unknown names select nothing.

use std::collections::HashSet;

use crate::{
    error::{ScimError, ScimType},
    schema::{ResourceType, Returned, declared::without_value},
};

/// Maximum number of names in one request.
pub const NAMES_MAX: usize = 100;

/// The attributes that a response returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    mode: Mode,
    names: Vec<Named>,
    /// Names that are not in the attribute tables: perhaps of an extension that is declared.
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    All,
    /// All, including those with `returned: request`.
    Everything,
    Only,
    Without,
}

/// A schema, an attribute of it, or a sub-attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    urn: &'static str,
    attribute: Option<&'static str>,
    part: Option<&'static str>,
}

/// How much of an attribute is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Nothing.
    None,
    /// The whole attribute.
    Whole,
    /// The sub-attributes for which [`Projection::part`] is true.
    Parts,
}

impl Projection {
    /// Parses both parameters. An empty list selects the default attributes.
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
        let mut projection = Self { mode, ..Self::default() };
        // Each attribute of a response is compared with each name, so no name counts twice.
        let mut known = HashSet::new();
        let names = names.iter().map(|name| name.trim());
        for name in names.filter(|name| known.insert(name.to_ascii_lowercase())) {
            match Named::read(resource_type, name) {
                // It is always returned.
                Some((_, Returned::Always)) => {}
                Some((known, _)) => projection.names.push(known),
                None => projection.others.push(name.to_owned()),
            }
        }
        Ok(projection)
    }

    /// Returns all attributes, including those with `returned: request`.
    pub fn everything() -> Self {
        Self { mode: Mode::Everything, ..Self::default() }
    }

    /// Whether the default attributes are returned.
    pub fn is_all(&self) -> bool {
        self.mode == Mode::All
    }

    /// Whether an attribute with `returned: request` is returned.
    pub fn requests(&self, urn: &str, attribute: &str) -> bool {
        match self.mode {
            Mode::Everything => true,
            Mode::Only => self.attribute(urn, attribute) != Selection::None,
            Mode::All | Mode::Without => false,
        }
    }

    /// Whether an attribute of a declared extension is returned.
    pub fn declared(&self, urn: &str, attribute: &str) -> bool {
        let is_named = || {
            let attribute = |name: &str| without_value(name).eq_ignore_ascii_case(attribute);
            self.others.iter().any(|name| match name.split_at_checked(urn.len()) {
                Some((start, rest)) if start.eq_ignore_ascii_case(urn) => {
                    rest.is_empty() || rest.strip_prefix([':', '.']).is_some_and(attribute)
                }
                _ => attribute(name),
            })
        };
        match self.mode {
            Mode::All | Mode::Everything => true,
            Mode::Only => is_named(),
            Mode::Without => !is_named(),
        }
    }

    /// How much of an attribute is returned.
    pub fn attribute(&self, urn: &str, attribute: &str) -> Selection {
        if matches!(self.mode, Mode::All | Mode::Everything) {
            return Selection::Whole;
        }
        let of = |named: &&Named| {
            named.urn == urn && named.attribute.is_none_or(|name| name == attribute)
        };
        let mut parts = false;
        for named in self.names.iter().filter(of) {
            if named.part.is_none() {
                return if self.mode == Mode::Only { Selection::Whole } else { Selection::None };
            }
            parts = true;
        }
        match (self.mode, parts) {
            (_, true) => Selection::Parts,
            (Mode::Only, false) => Selection::None,
            (Mode::All | Mode::Everything | Mode::Without, false) => Selection::Whole,
        }
    }

    /// Whether a sub-attribute is returned.
    pub fn part(&self, urn: &str, attribute: &str, part: &str) -> bool {
        match self.attribute(urn, attribute) {
            Selection::None => false,
            Selection::Whole => true,
            Selection::Parts => {
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
    /// Reads a name, and when its attribute is returned. A condition in brackets is ignored: RFC
    /// 7644 section 3.10 has none here, but clients send `emails[type eq "work"]`.
    fn read(resource_type: &ResourceType, name: &str) -> Option<(Self, Returned)> {
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        if let Some(schema) = resource_type.schema_of(name) {
            let named = Self { urn: schema.urn, attribute: None, part: None };
            return Some((named, Returned::Default));
        }
        let found = resource_type.find(name).or_else(|| {
            let schema = resource_type.extension_with(name.split('.').next()?)?;
            resource_type.find(&format!("{}:{name}", schema.urn))
        })?;
        let part = found.sub_attribute.map(|part| part.name);
        let named = Self { urn: found.schema.urn, attribute: Some(found.attribute.name), part };
        Some((named, found.attribute.returned))
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

    #[test]
    fn a_name_that_is_repeated_counts_once() {
        assert_eq!(only("roles.value,Roles.Value, roles.value ,x,X"), only("roles.value,x"));
    }

    fn without(text: &str) -> Projection {
        Projection::read(&USER, None, Some(&names(text))).expect("names")
    }

    #[test]
    fn names_ignore_case_and_may_have_a_urn() {
        let shown = only(&format!("USERNAME,{ENTERPRISE_URN}:manager,name.familyname"));
        assert_eq!(shown.attribute(USER_URN, "userName"), Selection::Whole);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "manager"), Selection::Whole);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "department"), Selection::None);
        assert_eq!(shown.attribute(USER_URN, "name"), Selection::Parts);
        assert!(shown.part(USER_URN, "name", "familyName"));
        assert!(!shown.part(USER_URN, "name", "givenName"));
    }

    #[test]
    fn only_excluded_attributes_are_left_out() {
        let shown = without(&format!("emails.display,title,{ENTERPRISE_URN}"));
        assert_eq!(shown.attribute(USER_URN, "title"), Selection::None);
        assert_eq!(shown.attribute(ENTERPRISE_URN, "department"), Selection::None);
        assert_eq!(shown.attribute(USER_URN, "userName"), Selection::Whole);
        assert!(!shown.part(USER_URN, "emails", "display"));
        assert!(shown.part(USER_URN, "emails", "value"));
    }

    #[test]
    fn a_whole_attribute_includes_its_parts() {
        let shown = only("name.givenName,name");
        assert!(shown.part(USER_URN, "name", "familyName"));
    }

    #[test]
    fn both_parameters_fail_and_empty_lists_select_the_default() {
        let both = Projection::read(&USER, Some(&names("id")), Some(&names("title")));
        assert_eq!(both.map_err(|error| error.scim_type), Err(Some(ScimType::InvalidValue)));
        assert!(only("").is_all());
        assert_eq!(only("nothing").attribute(USER_URN, "userName"), Selection::None);
    }
}
