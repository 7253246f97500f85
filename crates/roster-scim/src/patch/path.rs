//! The target of an operation (RFC 7644 section 3.5.2, figure 7).
//!
//! Core's filter parser parses paths, so conditions in brackets have the syntax of filters. Core's
//! evaluator tests the values of a list.

use std::cell::Cell;

use roster_core::{
    Json, Timestamp, TooMuchWork, Work,
    filter::{
        Compared, Comparison, Dialect, Expression, FilterFault, Found, KEY_EXPECTED, Names,
        Operand, Operator, Test, check_operator, compares, holds, operand, parse_value_path,
    },
    limits::JSON_DEPTH_MAX,
    schema::DeclaredMember,
};

use crate::{
    ResourceType, ScimError, ScimType, Strictness,
    filter::{as_words, comparison_of, dialect, listed, of_declared},
    schema::{AttributeSchema, AttributeType, Schema},
    strictness::as_flag,
};

/// The target of an operation.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The schema.
    pub(super) schema: &'static Schema,
    /// The attribute; `None` for the whole schema.
    pub(super) attribute: Option<&'static AttributeSchema>,
    /// Selects values of a list; `None` for all.
    pub(super) condition: Option<Condition>,
    /// The part of the value.
    pub(super) part: Option<Part>,
}

/// A part of a value.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A sub-attribute of the table.
    Known(&'static AttributeSchema),
    /// A value below these keys of an object with any keys.
    Free(Vec<String>),
}

/// The part by which a condition names the values of a list that have no parts.
static VALUE: AttributeSchema = AttributeSchema::text("value", "The value");

/// A condition on the values of a list.
pub(super) type Condition = Expression<PartPath>;

/// The part that a test reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPath {
    part: &'static AttributeSchema,
    comparison: Comparison,
}

impl Compared for PartPath {
    fn comparison(&self) -> Comparison {
        self.comparison
    }
}

impl PartPath {
    /// The part of a value of a list.
    pub(super) fn new(
        schema: &Schema,
        list: &AttributeSchema,
        part: &'static AttributeSchema,
    ) -> Self {
        Self { part, comparison: comparison_of(schema, list, part) }
    }

    /// The value itself, of a list without parts.
    const fn itself(comparison: Comparison) -> Self {
        Self { part: &VALUE, comparison }
    }

    /// Whether two strings of the part are equal.
    pub(super) fn same(self, one: &Json, other: &Json) -> bool {
        let operator = Operator::Equal;
        let operand = operand(self.comparison, operator, other.clone());
        operand.is_ok_and(|operand| {
            compares(&Test { path: self, operator, operand }, &self.found(Some(one)))
        })
    }

    /// The form of a text in which equal texts are equal.
    pub(super) fn key(self, text: &str) -> String {
        match operand(self.comparison, Operator::Equal, Json::Text(text.to_owned())) {
            Ok(Operand::Text { key: Some(key), .. }) => key,
            Ok(Operand::Time(moment)) => moment.to_string(),
            _ => text.to_owned(),
        }
    }

    fn found(self, value: Option<&Json>) -> Found<'_> {
        match value {
            None | Some(Json::Null) => Found::Null,
            Some(Json::Bool(flag)) => Found::Flag(*flag),
            Some(Json::Text(text)) if self.comparison == Comparison::Time => {
                Timestamp::parse(text).map_or(Found::Something, Found::Time)
            }
            Some(Json::Text(text)) if self.comparison == Comparison::TimeJson => {
                Timestamp::parse(text).map_or(Found::Text(text.into()), Found::Time)
            }
            Some(Json::Text(text)) => Found::Text(text.into()),
            Some(Json::Int(number)) => Found::Integer(*number),
            Some(other @ Json::Float(_)) => Found::Json(other),
            Some(Json::Array(_) | Json::Object(_)) => Found::Something,
        }
    }
}

/// Whether a value of a list matches the condition.
pub(super) fn matches(
    condition: &Condition,
    value: &Json,
    work: &Work,
) -> Result<bool, TooMuchWork> {
    let spent = Cell::new(Ok(()));
    let test = |test: &Test<PartPath>| {
        let name = test.path.part.name;
        // An absent `primary` is false (RFC 7643 section 2.4).
        let is_flag = name == "primary" && matches!(test.operand, Operand::Flag(_));
        // It is null while an idle entry has the flag.
        let found = value.member(name).filter(|found| **found != Json::Null);
        let found = found.or(is_flag.then_some(&Json::Bool(false)));
        let cost = if let Some(Json::Text(text)) = found { text_cost(text) } else { 1 };
        spent.set(spent.get().and_then(|()| work.spend(cost)));
        spent.get().is_ok() && compares(test, &test.path.found(found))
    };
    let holds = holds(condition, &test, &|_, _| false);
    spent.get().map(|()| holds)
}

/// The number of comparisons that the comparison of a text counts as.
pub(super) fn text_cost(text: &str) -> usize {
    // Other texts are normalized for each comparison.
    1 + text.len() / if text.is_ascii() { 64 } else { 8 }
}

/// The value that matches a condition of equalities only; `None` for any other condition.
pub(super) fn seed(condition: &Condition) -> Option<Vec<(String, Json)>> {
    match condition {
        Expression::And(all) => all.iter().map(seed).try_fold(Vec::new(), |mut parts, more| {
            for (name, value) in more? {
                if parts.iter().any(|(found, _)| *found == name) {
                    return None;
                }
                parts.push((name, value));
            }
            Some(parts)
        }),
        Expression::Test(Test { path, operator: Operator::Equal, operand }) => {
            let value = match operand {
                Operand::Text { typed, .. } => Json::Text(typed.clone()),
                Operand::Flag(flag) => Json::Bool(*flag),
                Operand::Integer(number) => Json::Int(*number),
                Operand::Number(number) => Json::Float(*number),
                Operand::Time(moment) => Json::Text(moment.to_string()),
                Operand::Null => return Some(Vec::new()),
                Operand::None | Operand::Status(_) | Operand::Ids(_) => return None,
            };
            Some(vec![(path.part.name.to_owned(), value)])
        }
        Expression::Test(_) | Expression::Or(_) | Expression::Not(_) | Expression::Entry(..) => {
            None
        }
    }
}

/// The strings to which the condition compares the part, if it consists of such comparisons only.
pub(super) fn alternatives<'c>(condition: &'c Condition, part: &str) -> Option<Vec<&'c str>> {
    match condition {
        Expression::Or(any) => {
            let all: Option<Vec<_>> = any.iter().map(|one| alternatives(one, part)).collect();
            all.map(|all| all.into_iter().flatten().collect())
        }
        Expression::Test(Test {
            path,
            operator: Operator::Equal,
            operand: Operand::Text { typed, .. },
        }) if path.part.name == part => Some(vec![typed]),
        Expression::Test(_) | Expression::And(_) | Expression::Not(_) | Expression::Entry(..) => {
            None
        }
    }
}

impl Target {
    /// Parses a path; `None` if it names an unknown attribute, which is ignored.
    pub(super) fn parse(
        resource_type: &'static ResourceType,
        path: &str,
        strictness: Strictness,
    ) -> Result<Option<Self>, ScimError> {
        Self::parse_with(resource_type, path, strictness, None)
    }

    /// The same; a condition selects values of this declared attribute.
    pub(super) fn parse_with(
        resource_type: &'static ResourceType,
        path: &str,
        strictness: Strictness,
        declared: Option<&DeclaredMember>,
    ) -> Result<Option<Self>, ScimError> {
        if let Some(schema) = resource_type.schema_of(path) {
            return Ok(Some(Self { schema, attribute: None, condition: None, part: None }));
        }
        let parsed = parse_value_path(path, &PathNames::new(resource_type, strictness, declared))
            .map_err(|fault| refused(path, &fault))?;
        let part = match parsed.part {
            None => None,
            Some(Named::Part(path)) => Some(Part::Known(path.part)),
            Some(Named::Attribute(..) | Named::Unknown) => return Ok(None),
        };
        if let Named::Attribute(_, _, Some(Part::Free(keys))) = &parsed.name
            && keys.len() > JSON_DEPTH_MAX
        {
            let detail = format!("the path names more than {JSON_DEPTH_MAX} levels");
            return Err(ScimError::new(ScimType::InvalidPath, detail));
        }
        Ok(match parsed.name {
            Named::Attribute(schema, attribute, within) => Some(Self {
                schema,
                attribute: Some(attribute),
                condition: parsed.condition,
                part: within.or(part),
            }),
            Named::Part(_) | Named::Unknown => None,
        })
    }

    /// Parses the name of a member of `value`, below the URN of a schema if one is given. In
    /// tolerant parsing it may be a path, as Microsoft Entra sends it.
    pub(super) fn of_member(
        resource_type: &'static ResourceType,
        below: Option<&str>,
        name: &str,
        strictness: Strictness,
    ) -> Result<Option<Self>, ScimError> {
        let is_qualified = below.is_none() && name.contains(':');
        let path = below.map(|urn| format!("{urn}:{name}"));
        let name = path.as_deref().unwrap_or(name);
        if strictness.is_tolerant() {
            let names = PathNames::new(resource_type, strictness, None);
            let is_part = || names.whole(name).is_err();
            // A name that is not a path is no attribute either.
            return match Self::parse(resource_type, name, strictness) {
                Err(error)
                    if !name.contains('[')
                        && !is_of_other_type(resource_type, name)
                        && !is_part()
                        && error.scim_type == Some(ScimType::InvalidPath) =>
                {
                    Ok(None)
                }
                parsed => parsed,
            };
        }
        let found = resource_type.split_urn(name, strictness).filter(|_| !is_qualified);
        let found = found.and_then(|(schema, rest)| {
            Some(Self {
                schema,
                attribute: Some(schema.attribute(rest)?),
                condition: None,
                part: None,
            })
        });
        let detail = "value has an unknown attribute; /Schemas lists the attributes";
        found.map(Some).ok_or_else(|| ScimError::new(ScimType::InvalidSyntax, detail))
    }

    /// Whether it is the members of a group, or something of them.
    pub(super) fn is_members(&self) -> bool {
        self.attribute.is_some_and(|attribute| attribute.name == "members")
    }

    /// The sub-attribute, if the part is one.
    pub(super) const fn known_part(&self) -> Option<&'static AttributeSchema> {
        match self.part {
            Some(Part::Known(part)) => Some(part),
            Some(Part::Free(_)) | None => None,
        }
    }
}

/// An error inside brackets is an error of the filter, any other one of the path.
fn refused(path: &str, fault: &FilterFault) -> ScimError {
    let FilterFault { position, detail } = fault;
    let before = path.get(..*position).unwrap_or(path);
    let in_brackets = before.contains('[') && !before.contains(']') && *position < path.len();
    let kind = if in_brackets { ScimType::InvalidFilter } else { ScimType::InvalidPath };
    ScimError::new(kind, format!("at byte {position} of the path: {detail}"))
}

/// Whether a name begins with the URN of a schema that only another resource type has.
fn is_of_other_type(resource_type: &ResourceType, name: &str) -> bool {
    let begins = |urn: &str| name.get(..urn.len()).is_some_and(|it| it.eq_ignore_ascii_case(urn));
    let all = ResourceType::ALL.iter().flat_map(|other| other.schemas());
    let mut foreign = all.filter(|schema| resource_type.schema_of(schema.urn).is_none());
    foreign.any(|schema| begins(schema.urn))
}

fn has_parts(attribute: &AttributeSchema) -> String {
    let parts = listed(attribute.sub_attributes.iter().map(|part| part.name));
    let parts = if parts.is_empty() { "no parts".to_owned() } else { format!("the parts {parts}") };
    format!("{} has {parts}", attribute.name)
}

/// Resolves the names in a path.
struct PathNames<'d> {
    resource_type: &'static ResourceType,
    strictness: Strictness,
    /// The declared attribute whose values a condition selects.
    declared: Option<&'d DeclaredMember>,
}

/// A resolved name.
#[derive(Clone, Debug)]
enum Named {
    /// An attribute, or a part of it after a dot.
    Attribute(&'static Schema, &'static AttributeSchema, Option<Part>),
    /// A part, inside brackets or after them.
    Part(PartPath),
    /// An unknown name, which is ignored.
    Unknown,
}

impl<'d> PathNames<'d> {
    const fn new(
        resource_type: &'static ResourceType,
        strictness: Strictness,
        declared: Option<&'d DeclaredMember>,
    ) -> Self {
        Self { resource_type, strictness, declared }
    }

    /// Resolves a path without brackets; `None` if no schema has the attribute.
    fn whole(&self, word: &str) -> Result<Option<Named>, String> {
        let Some((mut schema, rest)) = self.resource_type.split_urn(word, self.strictness) else {
            return Ok(None);
        };
        let (name, part) = match rest.split_once('.') {
            Some((name, part)) => (name, Some(part)),
            None => (rest, None),
        };
        // In tolerant parsing an attribute of an extension needs no URN.
        if rest.len() == word.len() && self.strictness.is_tolerant() {
            schema = self.resource_type.extension_with(name).unwrap_or(schema);
        }
        let Some(attribute) = schema.attribute(name) else { return Ok(None) };
        let part = match part {
            None => None,
            Some(keys) if attribute.is_complex() && attribute.sub_attributes.is_empty() => {
                let keys: Vec<String> = keys.split('.').map(str::to_owned).collect();
                if keys.iter().any(String::is_empty) {
                    return Err(KEY_EXPECTED.to_owned());
                }
                Some(Part::Free(keys))
            }
            Some(part) => {
                let known = attribute.sub_attribute(part).map(Part::Known);
                Some(known.ok_or_else(|| has_parts(attribute))?)
            }
        };
        Ok(Some(Named::Attribute(schema, attribute, part)))
    }
}

impl Names for PathNames<'_> {
    type Name = Named;
    type Path = PartPath;

    fn dialect(&self) -> Dialect {
        Dialect { part_after_brackets: false, ..dialect(self.strictness) }
    }

    fn resolve(&self, word: &str, within: Option<&Named>) -> Result<Named, String> {
        let found = match within {
            Some(Named::Attribute(_, _, Some(Part::Free(_)))) => {
                let is_value = word.eq_ignore_ascii_case(VALUE.name);
                let comparison = self.declared.map_or(Comparison::Json, DeclaredMember::comparison);
                is_value.then(|| Named::Part(PartPath::itself(comparison)))
            }
            Some(Named::Attribute(schema, list, _)) => {
                let part = list.sub_attribute(word);
                part.map(|part| Named::Part(PartPath::new(schema, list, part)))
            }
            Some(Named::Part(_) | Named::Unknown) => Some(Named::Unknown),
            None => self.whole(word)?,
        };
        let known = || match within {
            Some(Named::Attribute(_, list, _)) => has_parts(list),
            Some(Named::Part(_) | Named::Unknown) => String::new(),
            None => {
                let attributes = self.resource_type.schema.attributes.iter().map(|it| it.name);
                format!("there is no such attribute: there are {}", listed(attributes))
            }
        };
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.ends_with('.');
        let is_ignored = within.is_none()
            && self.strictness.is_tolerant()
            && is_name
            && !is_of_other_type(self.resource_type, word);
        found.or_else(|| is_ignored.then_some(Named::Unknown)).ok_or_else(known)
    }

    fn expected(&self, within: Option<&Named>) -> String {
        let what = if within.is_some() { "a part of the value" } else { "an attribute" };
        format!("the name of {what} was expected")
    }

    fn takes_brackets(&self, name: &Named) -> Result<(), String> {
        match name {
            Named::Unknown | Named::Attribute(_, _, Some(Part::Free(_))) => Ok(()),
            Named::Attribute(_, list, None) if list.multi_valued && list.is_complex() => Ok(()),
            Named::Attribute(..) | Named::Part(_) => {
                Err("only a list takes a condition in brackets".to_owned())
            }
        }
    }

    fn takes(&self, name: &Named, operator: Operator) -> Result<(), String> {
        let Named::Part(path) = name else { return Ok(()) };
        let is_order = matches!(
            operator,
            Operator::Greater | Operator::GreaterOrEqual | Operator::Less | Operator::LessOrEqual
        );
        if is_order && path.part.kind == AttributeType::Binary {
            return Err("bytes have no order: use eq, ne, co, sw, ew or pr".to_owned());
        }
        check_operator(path.comparison, operator)
    }

    fn test(
        &self,
        name: &Named,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Condition, String> {
        // A test of an unknown attribute is never true.
        let Named::Part(path) = *name else { return Ok(Expression::Or(Vec::new())) };
        let coerces = path.comparison == Comparison::Flag && self.strictness.is_tolerant();
        let literal = if coerces { literal.map(as_flag) } else { literal };
        let literal = match (literal, self.declared) {
            (Some(literal), Some(member)) => Some(of_declared(member, literal, self.strictness)?),
            (literal, _) => literal,
        };
        let operand = match literal {
            Some(literal) => operand(
                path.comparison,
                operator,
                as_words(path.comparison, literal, path.part.has_lines, self.strictness),
            )?,
            None => Operand::None,
        };
        Ok(Expression::Test(Test { path, operator, operand }))
    }

    fn entry(&self, _list: &Named, condition: Condition) -> Result<Condition, String> {
        Ok(condition)
    }
}
