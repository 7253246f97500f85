//! The members that the names of columns mean.
//!
//! A column is named as the member, such as `given_name`, `emails[0].value`, `manager.id` or
//! `attributes.badge`, or as its path in SCIM, such as `name.givenName` or `phoneNumbers[0].type`.
//! Only a caller who asks for it has other names guessed.

use std::borrow::Cow;

use roster_core::{
    Attribute, Part, UserSchema,
    attribute::{Kind, Shape},
    text::{nearest, plain, synonym},
};
use roster_scim::schema::{scim_part, scim_path};

/// What a column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Member(Attribute),
    /// SCIM's `active`: the status as a boolean.
    Active,
    /// A part of a member that is one object.
    Part {
        of: Attribute,
        part: Part,
    },
    /// A part of an entry of a list.
    Entry {
        list: Attribute,
        index: usize,
        part: Part,
    },
    /// A member of `attributes`, or a path of members with dots.
    Attribute(String),
}

impl Target {
    /// The name of the member.
    pub(super) fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Member(attribute) => attribute.name().into(),
            Self::Active => Attribute::Status.name().into(),
            Self::Part { of, part } => format!("{}.{}", of.name(), part.name()).into(),
            Self::Entry { list, index, part } => {
                format!("{}[{index}].{}", list.name(), part.name()).into()
            }
            Self::Attribute(name) => format!("attributes.{name}").into(),
        }
    }

    /// The pointer to the member in the record (RFC 6901).
    pub(super) fn pointer(&self) -> String {
        match self {
            Self::Member(attribute) => format!("/{}", attribute.name()),
            Self::Active => format!("/{}", Attribute::Status.name()),
            Self::Part { of, part } => format!("/{}/{}", of.name(), part.name()),
            Self::Entry { list, index, part } => {
                format!("/{}/{index}/{}", list.name(), part.name())
            }
            Self::Attribute(name) => {
                let name = name.replace('~', "~0").replace('/', "~1").replace('.', "/");
                format!("/attributes/{name}")
            }
        }
    }
}

/// Finds the members of columns.
pub(super) struct Names<'s> {
    schema: &'s UserSchema,
    guesses: bool,
}

impl<'s> Names<'s> {
    pub(super) const fn new(schema: &'s UserSchema, guesses: bool) -> Self {
        Self { schema, guesses }
    }

    /// The member of a column that the caller maps to a name; `None` for an empty one.
    pub(super) fn given(&self, name: &str) -> Result<Option<Target>, String> {
        if name.is_empty() {
            return Ok(None);
        }
        let no_member = |_| {
            let meant = meant(name).map(|meant| format!("; did you mean {meant}?"));
            format!("there is no member {name}{}", meant.unwrap_or_default())
        };
        self.find(name).map(Some).map_err(no_member)
    }

    /// The member of a column. The error says what to do.
    pub(super) fn find(&self, header: &str) -> Result<Target, String> {
        if let Some(found) = own(header) {
            return Ok(self.as_declared(found));
        }
        let found = of_scim(header).or_else(|| self.of_extension(header));
        let guess = || self.guesses.then(|| self.guess(header)).flatten();
        match found.or_else(guess) {
            // The value would be dropped. Only an export has this column, by its exact name.
            Some(Target::Member(member)) if matches!(member.kind(), Kind::ServerMade) => {
                Err(made_by_roster(header, member))
            }
            Some(found) => Ok(self.as_declared(found)),
            None => Err(unknown(header)),
        }
    }

    /// A member of `attributes` by the name that the schema has for it, if it declares it.
    fn as_declared(&self, found: Target) -> Target {
        let Target::Attribute(name) = found else { return found };
        let mut declared = self.schema.members.iter().map(|member| &member.name);
        if declared.clone().any(|known| *known == name) {
            return Target::Attribute(name);
        }
        let same = declared.find(|known| known.eq_ignore_ascii_case(&name));
        Target::Attribute(same.cloned().unwrap_or(name))
    }

    /// The declared member with a path of SCIM.
    fn of_extension(&self, header: &str) -> Option<Target> {
        let (urn, name) = header.rsplit_once(':')?;
        let is_of = |own: &String| own.eq_ignore_ascii_case(urn);
        let found = self.schema.members.iter().find(|member| {
            member.scim_schema.as_ref().is_some_and(is_of) && member.name.eq_ignore_ascii_case(name)
        });
        found.map(|member| Target::Attribute(member.name.clone()))
    }

    /// The member that people call so.
    fn guess(&self, header: &str) -> Option<Target> {
        let word = plain(header);
        if ["active", "isactive", "enabled"].contains(&word.as_str()) {
            return Some(Target::Active);
        }
        // A column with the part of a country, or with the opposite of what a member says.
        if ["state", "disabled", "suspended"].contains(&word.as_str()) {
            return None;
        }
        let member = synonym(&word).and_then(Attribute::from_name);
        let same = |known: &&Attribute| plain(known.name()) == word;
        let member = member.or_else(|| Attribute::ALL.iter().find(same).copied());
        // A list has no form in one cell that people write.
        let member = member.filter(|known| !matches!(known.kind(), Kind::Many(_) | Kind::One(_)));
        let declared = || {
            let same = self.schema.members.iter().find(|member| plain(&member.name) == word);
            same.map(|member| Target::Attribute(member.name.clone()))
        };
        member.map(Target::Member).or_else(declared)
    }
}

fn meant(name: &str) -> Option<&'static str> {
    nearest(name, Attribute::ALL.iter().map(|known| known.name()))
}

/// The error of a column whose member the service sets.
fn made_by_roster(header: &str, member: Attribute) -> String {
    if member == Attribute::Id {
        return format!(
            "Roster makes ids of its own; map={header}:external_id stores these, map={header}:id \
             with keep_ids=true keeps them, and map={header}: ignores them"
        );
    }
    format!("Roster sets {} itself; map={header}: ignores the column", member.name())
}

/// The error of a column without a member.
fn unknown(header: &str) -> String {
    let word = header.to_ascii_lowercase();
    if header.is_empty() {
        return "the column has no name; map=: ignores all columns without one".to_owned();
    }
    if ["password", "passwd", "password_hash", "passwordhash"].contains(&word.as_str()) {
        return format!("Roster keeps no passwords; map={header}: ignores the column");
    }
    let meant = meant(header).map(|name| format!("did you mean {name}? ")).unwrap_or_default();
    format!("{meant}map=COLUMN:MEMBER names its member, and map=COLUMN: ignores it")
}

/// The member with one of our names.
fn own(header: &str) -> Option<Target> {
    if let Some(attribute) = Attribute::from_name(header) {
        return Some(Target::Member(attribute));
    }
    let (name, part) = header.split_once('.')?;
    if name == Attribute::Attributes.name() {
        let is_path = part.split('.').all(|name| !name.is_empty());
        return is_path.then(|| Target::Attribute(part.to_owned()));
    }
    let (name, index) = indexed(name)?;
    of_parts(Attribute::from_name(name)?, index, |known| known.name() == part)
}

/// The member with a path of SCIM, which has no case.
fn of_scim(header: &str) -> Option<Target> {
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    // The URN of its schema may be before the attribute.
    let (urn, path) =
        header.rsplit_once(':').map_or((None, header), |(urn, path)| (Some(urn), path));
    let (name, part) = path.split_once('.').map_or((path, None), |(name, part)| (name, Some(part)));
    let (name, index) = indexed(name)?;
    let with_path = |attribute: &&Attribute| {
        scim_path(**attribute).is_some_and(|path| {
            same(path.attribute, name)
                && urn.is_none_or(|urn| same(path.urn, urn))
                && path.sub_attribute.is_none_or(|own| part.is_some_and(|part| same(own, part)))
        })
    };
    let attribute = *Attribute::ALL.iter().find(with_path)?;
    let has_sub_attribute = scim_path(attribute).is_some_and(|path| path.sub_attribute.is_some());
    match part {
        _ if attribute == Attribute::Status && part.is_none() => Some(Target::Active),
        Some(part) if !has_sub_attribute => {
            of_parts(attribute, index, |known| same(scim_part(known), part))
        }
        _ => index.is_none().then_some(Target::Member(attribute)),
    }
}

/// The part of a member that is an object, or of the entry with this index.
fn of_parts(
    attribute: Attribute,
    index: Option<usize>,
    is_named: impl Fn(Part) -> bool,
) -> Option<Target> {
    let part_of =
        |shape: &Shape| shape.parts.iter().map(|(part, _)| *part).find(|part| is_named(*part));
    match (attribute.kind(), index) {
        (Kind::One(shape), None) => Some(Target::Part { of: attribute, part: part_of(shape)? }),
        (Kind::Many(shape), Some(index)) if index < shape.entries_max => {
            Some(Target::Entry { list: attribute, index, part: part_of(shape)? })
        }
        _ => None,
    }
}

/// A name, and the index in brackets behind it.
fn indexed(name: &str) -> Option<(&str, Option<usize>)> {
    match name.split_once('[') {
        None => Some((name, None)),
        Some((name, index)) => {
            let index = index.strip_suffix(']')?;
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            Some((name, Some(index.parse().ok().filter(|_| is_number)?)))
        }
    }
}
