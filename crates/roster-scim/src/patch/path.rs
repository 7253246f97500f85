//! What an operation is aimed at (RFC 7644 section 3.5.2, figure 7).
//!
//! Paths are read by core's parser of filters, so that the condition in brackets is the language of
//! filters; conditions are carried out by core's evaluator, upon the values of a list.

use roster_core::{
    Json, Timestamp,
    filter::{
        Compared, Comparison, Dialect, Expression, FilterFault, Found, Names, Operand, Operator,
        Test, check_operator, compares, holds, operand, parse_value_path,
    },
};

use crate::{
    Profile, ResourceType, ScimError, ScimType,
    filter::{comparison_of, dialect, listed},
    profile::as_flag,
    schema::{AttributeSchema, AttributeType, Schema},
};

/// What an operation is aimed at.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// In which schema.
    pub(super) schema: &'static Schema,
    /// Which attribute; `None` for all of the schema.
    pub(super) attribute: Option<&'static AttributeSchema>,
    /// Which values of a list; `None` for all.
    pub(super) condition: Option<Condition>,
    /// Which part of the value.
    pub(super) part: Option<Part>,
}

/// A part of a value.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// One of the table.
    Known(&'static AttributeSchema),
    /// What stands below these keys of a free object.
    Free(Vec<String>),
}

/// A condition on the values of a list.
pub(super) type Condition = Expression<PartPath>;

/// The part of a value that a test reads.
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
    /// The part of a list's values.
    pub(super) fn new(
        schema: &Schema,
        list: &AttributeSchema,
        part: &'static AttributeSchema,
    ) -> Self {
        Self { part, comparison: comparison_of(schema, list, part) }
    }

    /// Whether two texts of the part count as one value.
    pub(super) fn same(self, one: &Json, other: &Json) -> bool {
        let operator = Operator::Equal;
        let operand = operand(self.comparison, operator, other.clone());
        operand.is_ok_and(|operand| {
            compares(&Test { path: self, operator, operand }, &self.found(Some(one)))
        })
    }

    fn found(self, value: Option<&Json>) -> Found<'_> {
        match value {
            None | Some(Json::Null) => Found::Null,
            Some(Json::Bool(flag)) => Found::Flag(*flag),
            Some(Json::Text(text)) if self.comparison == Comparison::Time => {
                Timestamp::parse(text).map_or(Found::Something, Found::Time)
            }
            Some(Json::Text(text)) => Found::Text(text.into()),
            Some(Json::Int(number)) => Found::Integer(*number),
            Some(other @ Json::Float(_)) => Found::Json(other),
            Some(Json::Array(_) | Json::Object(_)) => Found::Something,
        }
    }
}

/// Whether a value of a list meets the condition.
pub(super) fn meets(condition: &Condition, value: &Json) -> bool {
    let test =
        |test: &Test<PartPath>| compares(test, &test.path.found(value.member(test.path.part.name)));
    holds(condition, &test, &|_, _| false)
}

/// The value that meets a condition of nothing but equalities; `None` for any other.
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

/// The texts that a part is asked to be one of, where that is all that the condition asks.
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
    /// Reads a path; `None` where it names nothing that there is, and that is passed over.
    pub(super) fn parse(
        resource_type: &'static ResourceType,
        path: &str,
        profile: Profile,
    ) -> Result<Option<Self>, ScimError> {
        if let Some(schema) = resource_type.schema_of(path) {
            return Ok(Some(Self { schema, attribute: None, condition: None, part: None }));
        }
        let names = PathNames { resource_type, profile };
        let parsed = parse_value_path(path, &names).map_err(|fault| refused(path, &fault))?;
        let part = match parsed.part {
            None => None,
            Some(Named::Part(path)) => Some(Part::Known(path.part)),
            Some(Named::Attribute(..) | Named::Unknown) => return Ok(None),
        };
        Ok(match parsed.name {
            Named::Attribute(schema, attribute, within) => Some(Self {
                schema,
                attribute: Some(attribute),
                condition: parsed.condition,
                part: part.or(within),
            }),
            Named::Part(_) | Named::Unknown => None,
        })
    }

    /// Reads the name of a member of `value`. Names are those of attributes; by tolerance they are
    /// paths, as Microsoft Entra sends them.
    pub(super) fn of_member(
        resource_type: &'static ResourceType,
        name: &str,
        profile: Profile,
    ) -> Result<Option<Self>, ScimError> {
        if profile.is_tolerant() {
            // What is no path is no attribute either.
            return match Self::parse(resource_type, name, profile) {
                Err(error)
                    if !name.contains('[') && error.scim_type == Some(ScimType::InvalidPath) =>
                {
                    Ok(None)
                }
                parsed => parsed,
            };
        }
        let found = resource_type.split_urn(name).and_then(|(schema, rest)| {
            Some(Self {
                schema,
                attribute: Some(schema.attribute(rest)?),
                condition: None,
                part: None,
            })
        });
        let detail = "value names an attribute that there is not; /Schemas tells those there are";
        found.map(Some).ok_or_else(|| ScimError::new(ScimType::InvalidSyntax, detail))
    }

    /// The part of the table.
    pub(super) const fn known_part(&self) -> Option<&'static AttributeSchema> {
        match self.part {
            Some(Part::Known(part)) => Some(part),
            Some(Part::Free(_)) | None => None,
        }
    }
}

/// A fault within the brackets is one of the filter, any other one of the path.
fn refused(path: &str, fault: &FilterFault) -> ScimError {
    let FilterFault { position, detail } = fault;
    let before = path.get(..*position).unwrap_or(path);
    let in_brackets = before.contains('[') && !before.contains(']') && *position < path.len();
    let kind = if in_brackets { ScimType::InvalidFilter } else { ScimType::InvalidPath };
    ScimError::new(kind, format!("at byte {position} of the path: {detail}"))
}

/// What the words of a path mean.
struct PathNames {
    resource_type: &'static ResourceType,
    profile: Profile,
}

/// What a word of a path means.
#[derive(Clone, Debug)]
enum Named {
    /// An attribute, or a part of it after a dot.
    Attribute(&'static Schema, &'static AttributeSchema, Option<Part>),
    /// A part, within brackets or behind them.
    Part(PartPath),
    /// Nothing that there is, which is passed over.
    Unknown,
}

impl PathNames {
    fn whole(&self, word: &str) -> Option<Named> {
        let (mut schema, rest) = self.resource_type.split_urn(word)?;
        let (name, part) = match rest.split_once('.') {
            Some((name, part)) => (name, Some(part)),
            None => (rest, None),
        };
        let mut extensions = self.resource_type.extensions.iter();
        // By tolerance an extension's attribute is found without its URN where no other has the
        // name.
        if schema.attribute(name).is_none()
            && rest.len() == word.len()
            && self.profile.is_tolerant()
        {
            schema = extensions.find(|one| one.attribute(name).is_some())?;
        }
        let attribute = schema.attribute(name)?;
        let part = match part {
            None => None,
            Some(keys) if attribute.is_complex() && attribute.sub_attributes.is_empty() => {
                Some(Part::Free(keys.split('.').map(str::to_owned).collect()))
            }
            Some(part) => Some(Part::Known(attribute.sub_attribute(part)?)),
        };
        Some(Named::Attribute(schema, attribute, part))
    }
}

impl Names for PathNames {
    type Name = Named;
    type Path = PartPath;

    fn dialect(&self) -> Dialect {
        Dialect { part_after_brackets: false, ..dialect(self.profile) }
    }

    fn resolve(&self, word: &str, within: Option<&Named>) -> Result<Named, String> {
        let (found, known) = match within {
            Some(Named::Attribute(schema, list, _)) => {
                let parts = listed(list.sub_attributes.iter().map(|part| part.name));
                let part = list.sub_attribute(word);
                let found = part.map(|part| Named::Part(PartPath::new(schema, list, part)));
                (found, format!("{} has the parts {parts}", list.name))
            }
            Some(Named::Part(_) | Named::Unknown) => (Some(Named::Unknown), String::new()),
            None => {
                let attributes = self.resource_type.schema.attributes.iter().map(|it| it.name);
                let known = format!("there is no such attribute: there are {}", listed(attributes));
                (self.whole(word), known)
            }
        };
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.ends_with('.');
        let passed_over = within.is_none() && self.profile.is_tolerant() && is_name;
        found.or_else(|| passed_over.then_some(Named::Unknown)).ok_or(known)
    }

    fn expected(&self, within: Option<&Named>) -> String {
        let what = if within.is_some() { "a part of the value" } else { "an attribute" };
        format!("the name of {what} was expected")
    }

    fn takes_brackets(&self, name: &Named) -> Result<(), String> {
        match name {
            Named::Unknown => Ok(()),
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
        // What there is not has no value, and is passed over as a whole.
        let Named::Part(path) = *name else { return Ok(Expression::Or(Vec::new())) };
        let coerces = path.comparison == Comparison::Flag && self.profile.is_tolerant();
        let literal = if coerces { literal.map(as_flag) } else { literal };
        let operand = match literal {
            Some(literal) => operand(path.comparison, operator, literal)?,
            None => Operand::None,
        };
        Ok(Expression::Test(Test { path, operator, operand }))
    }

    fn entry(&self, _list: &Named, condition: Condition) -> Result<Condition, String> {
        Ok(condition)
    }
}
