//! The names in a filter of users.
//!
//! The error for an attribute that filters cannot test lists those that they can.

use roster_core::{
    Attribute, Json, Part, Status, UserSchema,
    filter::{
        Compared as _, Comparison, Dialect, Expression, GroupPart, KEY_EXPECTED, Names, Operand,
        Operator, Path, Test, check_operator, free_path, operand,
    },
    schema::{DeclaredMember, ValueType},
};

use super::{
    as_words,
    derived::{any_text, status, test, version},
    dialect,
    hints::{needs_part, no_part, parts_of, unknown},
    last_segment, listed,
    named::{Named, of_attribute, of_entry, of_group, of_part, present, simplest, values_of},
};
use crate::{
    Strictness,
    schema::{
        AttributeSchema, AttributeType, ROSTER_USER, Schema, USER,
        declared::{Extensions, Named as Declared, converted, without_urn},
    },
    strictness::as_flag,
};

/// Resolves the names of a user's attributes.
#[derive(Clone, Copy, Debug)]
pub struct UserNames<'s> {
    strictness: Strictness,
    declared: &'s UserSchema,
}

impl<'s> UserNames<'s> {
    /// Names for tolerant or strict parsing. `declared` has further extensions.
    pub const fn new(strictness: Strictness, declared: &'s UserSchema) -> Self {
        Self { strictness, declared }
    }

    /// The path of the values of an attribute.
    pub(crate) fn path(self, word: &str) -> Option<Path> {
        if let Named::Values(path, _) = self.whole(word).ok()? { Some(path) } else { None }
    }

    fn whole(self, word: &str) -> Result<Named, String> {
        let unknown = || unknown(word);
        if let Some(Declared::Attribute(member)) = Extensions::of(self.declared).resolve(word) {
            return declared(member);
        }
        let (schema, rest) = self.schema_of(word).ok_or_else(unknown)?;
        let (name, part) = match rest.split_once('.') {
            Some((name, part)) => (name, Some(part)),
            None => (rest, None),
        };
        let Some(found) = schema.attribute(name) else {
            let member = without_urn(self.declared, word).filter(|_| self.strictness.is_tolerant());
            return declared(member.ok_or_else(unknown)?);
        };
        let mut named = of_attribute(schema, found);
        if let Some(Named::Texts(_, texts)) = named.as_mut().filter(|_| found.name == "schemas") {
            texts.extend(self.declared_in_use());
        }
        match part {
            None => named.ok_or_else(unknown),
            Some(keys) if is_free(found) => {
                let mut path = free_path(keys).ok_or_else(|| KEY_EXPECTED.to_owned())?;
                path.comparison = self.declared.comparison_of(keys).unwrap_or(path.comparison);
                Ok(Named::Values(Path::Free(path), found))
            }
            Some(part) => of_part(schema, found, part).ok_or_else(|| no_part(found)),
        }
    }

    /// The URNs of the declared extensions, each with the condition under which a user has it.
    fn declared_in_use(self) -> Vec<(String, Expression)> {
        let in_use = |urn: &&'s str| {
            let members = self.declared.scim_members(urn).filter_map(|it| declared(it).ok());
            let in_use = members.map(|named| present(&named)).reduce(simplest);
            in_use.map(|in_use| ((*urn).to_owned(), in_use))
        };
        self.declared.scim_schemas().iter().filter_map(in_use).collect()
    }

    /// The schema of a name, and the rest after its URN. An attribute of an extension needs its URN
    /// (RFC 7644 section 3.10). In tolerant parsing it needs none if its name is unique.
    fn schema_of(self, word: &str) -> Option<(&'static Schema, &str)> {
        let (schema, rest) = USER.split_urn(word, self.strictness)?;
        let name = rest.split('.').next().unwrap_or_default();
        if schema.attribute(name).is_some()
            || rest.len() < word.len()
            || !self.strictness.is_tolerant()
        {
            return Some((schema, rest));
        }
        let extension = USER.extensions.iter().find(|one| one.attribute(name).is_some());
        Some((extension.copied().unwrap_or(schema), rest))
    }
}

impl Names for UserNames<'_> {
    type Name = Named;
    type Path = Path;

    fn dialect(&self) -> Dialect {
        dialect(self.strictness)
    }

    fn resolve(&self, word: &str, within: Option<&Named>) -> Result<Named, String> {
        match within {
            None => self.whole(word),
            Some(Named::Parts(schema, attribute)) => {
                of_part(schema, attribute, word).ok_or_else(|| no_part(attribute))
            }
            // The values of a declared list have no parts.
            Some(Named::Values(path @ Path::Free(_), attribute))
                if word.eq_ignore_ascii_case("value") =>
            {
                Ok(Named::Values(path.clone(), attribute))
            }
            Some(Named::Values(path, attribute)) => {
                let found = match path.attribute() {
                    Some(list) => of_entry(list, attribute, word),
                    None => of_group(attribute, word),
                };
                found.ok_or_else(|| no_part(attribute))
            }
            Some(Named::Active | Named::Version | Named::Texts(..) | Named::GroupRef) => {
                Err(unknown(word))
            }
        }
    }

    fn expected(&self, within: Option<&Named>) -> String {
        match within {
            Some(Named::Values(_, attribute) | Named::Parts(_, attribute)) => {
                format!("a part of {} was expected: {}", attribute.name, parts_of(attribute))
            }
            Some(Named::Active | Named::Version | Named::Texts(..) | Named::GroupRef) | None => {
                "the name of an attribute was expected".to_owned()
            }
        }
    }

    fn takes_brackets(&self, name: &Named) -> Result<(), String> {
        match name {
            Named::Parts(..) | Named::Values(Path::Groups | Path::Free(_), _) => Ok(()),
            Named::Values(Path::Member(_), found) if found.is_complex() && !is_free(found) => {
                Ok(())
            }
            Named::Values(..)
            | Named::Active
            | Named::Version
            | Named::Texts(..)
            | Named::GroupRef => {
                Err("only an attribute with parts takes a condition in brackets".to_owned())
            }
        }
    }

    fn takes(&self, name: &Named, operator: Operator) -> Result<(), String> {
        match name {
            _ if operator == Operator::Present => Ok(()),
            Named::Parts(_, attribute) => Err(needs_part(attribute)),
            Named::Active => check_operator(Comparison::Flag, operator),
            Named::Version if operator.is_equality() => Ok(()),
            Named::Version => Err("a version takes eq, ne and pr".to_owned()),
            Named::GroupRef if !operator.is_equality() => {
                Err("groups.$ref takes eq, ne and pr".to_owned())
            }
            Named::Texts(comparison, _) => check_operator(*comparison, operator),
            Named::GroupRef => check_operator(Comparison::Exact, operator),
            Named::Values(path, attribute) => {
                let path = values_of(path);
                let comparison = path.comparison();
                if comparison == Comparison::Presence {
                    return Err(needs_part(attribute));
                }
                if is_order(operator) && is_binary(&path) {
                    // RFC 7644 table 3: bytes have no order.
                    return Err(
                        "a certificate has no order: it takes eq, ne, co, sw, ew and pr".to_owned()
                    );
                }
                check_operator(comparison, operator)
            }
        }
    }

    fn test(
        &self,
        name: &Named,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression, String> {
        let Some(literal) = literal else { return Ok(present(name)) };
        match name {
            Named::Values(path, attribute) => {
                let path = values_of(path);
                let literal = match self.declared_at(&path) {
                    Some(member) => of_declared(member, literal, self.strictness)?,
                    None => self.read(path.comparison(), attribute, literal)?,
                };
                let operand = operand(path.comparison(), operator, literal)?;
                Ok(Expression::Test(Test { path, operator, operand }))
            }
            Named::Active => match self.flag(literal) {
                Json::Bool(active) => Ok(status(operator, active)),
                Json::Null => Ok(test(Attribute::Status, operator, Operand::Null)),
                Json::Int(_)
                | Json::Float(_)
                | Json::Text(_)
                | Json::Array(_)
                | Json::Object(_) => Err("write true or false".to_owned()),
            },
            Named::GroupRef => {
                let path = Path::Group(GroupPart::Value);
                let id = if let Json::Text(url) = &literal {
                    Json::Text(last_segment(url))
                } else {
                    literal
                };
                let operand = operand(path.comparison(), operator, id)?;
                Ok(Expression::Test(Test { path, operator, operand }))
            }
            Named::Version => version(operator, literal),
            Named::Texts(comparison, texts) => any_text(*comparison, texts, operator, literal),
            Named::Parts(_, attribute) => Err(needs_part(attribute)),
        }
    }

    fn entry(&self, list: &Named, condition: Expression) -> Result<Expression, String> {
        match list {
            Named::Values(Path::Free(_), _) => match condition {
                Expression::Test(_) => Ok(condition),
                Expression::And(_)
                | Expression::Or(_)
                | Expression::Not(_)
                | Expression::Entry(..) => {
                    Err("write one test of value in the brackets of this list".to_owned())
                }
            },
            Named::Values(path, _) => Ok(Expression::Entry(path.clone(), Box::new(condition))),
            // Without the object the condition is not true.
            Named::Parts(..) => Ok(match present(list) {
                there if there.is_always() => condition,
                there => there.and(condition),
            }),
            Named::Active | Named::Version | Named::Texts(..) | Named::GroupRef => {
                self.takes_brackets(list).map(|()| condition)
            }
        }
    }
}

impl<'s> UserNames<'s> {
    /// Converts a literal: in tolerant parsing, strings to booleans. Statuses are case-sensitive.
    fn read(
        self,
        comparison: Comparison,
        attribute: &AttributeSchema,
        literal: Json,
    ) -> Result<Json, String> {
        match (comparison, literal) {
            (Comparison::Flag, literal) => Ok(self.flag(literal)),
            (Comparison::Status, Json::Text(text)) if Status::parse(&text).is_none() => {
                Err(format!("write one of {}", listed(attribute.canonical_values.iter().copied())))
            }
            (comparison, literal) => {
                let has_lines = attribute.has_lines || is_free(attribute);
                Ok(as_words(comparison, literal, has_lines, self.strictness))
            }
        }
    }

    /// The declared member that a path below `attributes` leads to.
    fn declared_at(self, path: &Path) -> Option<&'s DeclaredMember> {
        let Path::Free(path) = path else { return None };
        let [key] = path.keys.as_slice() else { return None };
        self.declared.members.iter().find(|member| member.name == *key)
    }

    fn flag(self, literal: Json) -> Json {
        if self.strictness.is_tolerant() { as_flag(literal) } else { literal }
    }
}

/// A literal as a value of the declared type. One of another type would never be equal.
pub(crate) fn of_declared(
    member: &DeclaredMember,
    literal: Json,
    strictness: Strictness,
) -> Result<Json, String> {
    let one = DeclaredMember { multi_valued: false, ..member.clone() };
    let literal =
        if literal.is_empty_text() { literal } else { converted(&one, literal, strictness) };
    match (member.value_type, &literal) {
        (_, Json::Null)
        | (ValueType::String | ValueType::DateTime, Json::Text(_))
        | (ValueType::Boolean, Json::Bool(_))
        | (ValueType::Integer | ValueType::Number, Json::Int(_) | Json::Float(_)) => Ok(literal),
        (ValueType::String | ValueType::DateTime, _) => {
            Err("write a text in quotation marks".to_owned())
        }
        (ValueType::Boolean, _) => Err("write true or false".to_owned()),
        (ValueType::Integer | ValueType::Number, _) => Err("write a number".to_owned()),
    }
}

/// Resolves a declared attribute.
fn declared(member: &DeclaredMember) -> Result<Named, String> {
    let mut path = free_path(&member.name).ok_or_else(|| KEY_EXPECTED.to_owned())?;
    path.comparison = member.comparison();
    let attributes = ROSTER_USER.attribute("attributes");
    attributes
        .map(|attributes| Named::Values(Path::Free(path), attributes))
        .ok_or_else(|| unknown(&member.name))
}

fn is_binary(path: &Path) -> bool {
    *path == Path::Part(Attribute::X509Certificates, Part::Value)
}

/// Whether the attribute is an object with any keys.
fn is_free(found: &AttributeSchema) -> bool {
    found.kind == AttributeType::Complex && found.sub_attributes.is_empty()
}

const fn is_order(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Greater | Operator::GreaterOrEqual | Operator::Less | Operator::LessOrEqual
    )
}
