//! What a name in a filter of users stands for.
//!
//! The attribute table defines members and parts. `active`, `schemas`, `meta.resourceType` and
//! `meta.version` have another form in the record.

use roster_core::{
    Attribute, Part,
    attribute::{Kind, Shape},
    filter::{Compared as _, Comparison, Expression, GroupPart, Operand, Operator, Path, Test},
};

use crate::schema::{
    AttributeSchema, AttributeType, Returned, Schema, ScimPath, USER, USER_URN, scim_part,
    scim_path,
};

/// The attribute of a user's groups.
const GROUPS: &str = "groups";

/// A resolved name.
#[derive(Clone, Debug)]
pub enum Named {
    /// Values of the record, and their attribute.
    Values(Path, &'static AttributeSchema),
    /// An object whose parts are members of the record.
    Parts(&'static Schema, &'static AttributeSchema),
    /// `active`: the status as a boolean.
    Active,
    /// `meta.version`: the version as an entity tag.
    Version,
    /// Strings, each with the condition under which a user has it. Regardless of case they are
    /// compared in lower case.
    Texts(Comparison, Vec<(String, Expression)>),
    /// `groups.$ref`: a URL that ends with the id of a group.
    GroupRef,
}

/// Resolves an attribute; `None` if filters cannot test it.
pub(super) fn of_attribute(
    schema: &'static Schema,
    found: &'static AttributeSchema,
) -> Option<Named> {
    if found.name == "schemas" {
        return Some(Named::Texts(Comparison::Exact, schemas_in_use()));
    }
    if found.name == "active" {
        return Some(Named::Active);
    }
    if found.name == GROUPS {
        return Some(Named::Values(Path::Groups, found));
    }
    // SCIM has the status twice: `active`, and a string in Roster's extension.
    if found.name == "status" {
        return Some(Named::Values(Path::Member(Attribute::Status), found));
    }
    if let Some(attribute) = member(schema, found, None) {
        return Some(Named::Values(Path::Member(attribute), found));
    }
    let has_parts =
        found.sub_attributes.iter().any(|part| member(schema, found, Some(part.name)).is_some());
    has_parts.then_some(Named::Parts(schema, found))
}

/// Resolves a part of an attribute; `None` if it does not exist or filters cannot test it.
pub(super) fn of_part(
    schema: &'static Schema,
    found: &'static AttributeSchema,
    part: &str,
) -> Option<Named> {
    let part = found.sub_attribute(part)?;
    if found.name == GROUPS {
        return of_group(found, part.name);
    }
    if part.name == "resourceType" {
        let name = (USER.name.to_owned(), Expression::always());
        return Some(Named::Texts(Comparison::Exact, vec![name]));
    }
    match member(schema, found, Some(part.name)) {
        Some(Attribute::Version) => Some(Named::Version),
        Some(attribute) => Some(Named::Values(Path::Member(attribute), part)),
        None => of_entry(member(schema, found, None)?, found, part.name),
    }
}

/// Resolves a part of the entries of a list.
pub(super) fn of_entry(
    list: Attribute,
    found: &'static AttributeSchema,
    part: &str,
) -> Option<Named> {
    let part = found.sub_attribute(part)?;
    Some(Named::Values(entry_path(list, part)?, part))
}

/// Resolves a part of a user's groups. All shown groups are direct ones.
pub(super) fn of_group(found: &'static AttributeSchema, part: &str) -> Option<Named> {
    let part = found.sub_attribute(part)?;
    let is_in_any = || {
        let (operator, operand) = (Operator::Present, Operand::None);
        Expression::Test(Test { path: Path::Groups, operator, operand })
    };
    Some(match part.name {
        "value" => Named::Values(Path::Group(GroupPart::Value), part),
        "display" => Named::Values(Path::Group(GroupPart::Display), part),
        "type" => Named::Texts(Comparison::Folded, vec![("direct".to_owned(), is_in_any())]),
        _ => Named::GroupRef,
    })
}

fn entry_path(list: Attribute, part: &AttributeSchema) -> Option<Path> {
    let Shape { parts, .. } = shape(list)?;
    let (kept, _) = parts.iter().find(|(kept, _)| scim_part(*kept) == part.name)?;
    Some(Path::Part(list, *kept))
}

/// How values of a part compare, in filters of users and in paths of PATCH.
pub(crate) fn comparison_of(
    schema: &Schema,
    found: &AttributeSchema,
    part: &AttributeSchema,
) -> Comparison {
    let path = member(schema, found, None).and_then(|list| entry_path(list, part));
    match (path, part.kind) {
        (Some(path), _) => path.comparison(),
        (None, AttributeType::Boolean) => Comparison::Flag,
        (None, AttributeType::DateTime) => Comparison::Time,
        (None, AttributeType::Integer) => Comparison::Integer,
        (None, AttributeType::Complex) => Comparison::Presence,
        (None, AttributeType::Decimal) => Comparison::Json,
        (None, AttributeType::String | AttributeType::Reference | AttributeType::Binary) => {
            if part.case_exact { Comparison::Exact } else { Comparison::Folded }
        }
    }
}

const fn shape(attribute: Attribute) -> Option<&'static Shape> {
    if let Kind::One(shape) | Kind::Many(shape) = attribute.kind() { Some(shape) } else { None }
}

/// The member of the record at this path.
fn member(schema: &Schema, found: &AttributeSchema, part: Option<&str>) -> Option<Attribute> {
    Attribute::ALL.iter().copied().find(|attribute| {
        scim_path(*attribute).is_some_and(|ScimPath { urn, attribute, sub_attribute, .. }| {
            attribute == found.name && sub_attribute == part && urn == schema.urn
        })
    })
}

/// The URNs in `schemas`, each with the condition under which a user has it.
fn schemas_in_use() -> Vec<(String, Expression)> {
    let mut texts = vec![(USER_URN.to_owned(), Expression::always())];
    for extension in USER.extensions {
        // An attribute returned only on request does not add its URN.
        let shown = extension.attributes.iter().filter(|it| it.returned == Returned::Default);
        let named = shown.filter_map(|found| of_attribute(extension, found));
        let in_use = named.map(|named| present(&named)).reduce(simplest);
        texts.extend(in_use.map(|in_use| (extension.urn.to_owned(), in_use)));
    }
    texts
}

/// The path to compare: for a list, the values of its entries; for the manager, its id.
pub(super) fn values_of(path: &Path) -> Path {
    match path {
        Path::Member(list) => match shape(*list).and_then(|shape| shape.required) {
            Some(part @ (Part::Value | Part::Id)) => Path::Part(*list, part),
            _ => path.clone(),
        },
        Path::Groups => Path::Group(GroupPart::Value),
        Path::Part(..) | Path::Free(_) | Path::Group(_) => path.clone(),
    }
}

/// The attribute has a value.
pub(super) fn present(name: &Named) -> Expression {
    let test = |path| {
        let (operator, operand) = (Operator::Present, Operand::None);
        Expression::Test(Test { path, operator, operand })
    };
    match name {
        Named::Values(path, _) => test(path.clone()),
        Named::Parts(schema, attribute) => {
            let parts = attribute.sub_attributes.iter();
            let named = parts.filter_map(|part| of_part(schema, attribute, part.name));
            let any = named.map(|named| present(&named)).reduce(simplest);
            any.unwrap_or_else(Expression::never)
        }
        Named::Active | Named::Version => Expression::always(),
        Named::GroupRef => test(Path::Groups),
        Named::Texts(_, texts) => any_of(texts),
    }
}

/// A user has any of these strings.
pub(super) fn any_of(texts: &[(String, Expression)]) -> Expression {
    let any = texts.iter().map(|(_, condition)| condition.clone()).reduce(simplest);
    any.unwrap_or_else(Expression::never)
}

/// Either is true.
pub(super) fn simplest(one: Expression, other: Expression) -> Expression {
    if one.is_always() || other.is_always() { Expression::always() } else { one.or(other) }
}
