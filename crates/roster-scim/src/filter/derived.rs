//! Tests of attributes that the record stores in another form.

use roster_core::{
    Attribute, Json, Status,
    filter::{Comparison, Expression, Operand, Operator, Path, Test, operand},
};

use super::named::{any_of, simplest};
use crate::user::version_of;

pub(super) fn test(attribute: Attribute, operator: Operator, operand: Operand) -> Expression {
    Expression::Test(Test { path: Path::Member(attribute), operator, operand })
}

/// `active`, compared with a boolean. There are only two statuses.
pub(super) fn status(operator: Operator, active: bool) -> Expression {
    let wanted = active == (operator == Operator::Equal);
    let status = if wanted { Status::Active } else { Status::Suspended };
    test(Attribute::Status, Operator::Equal, Operand::Status(status))
}

/// `meta.version`, compared with an entity tag. No user has a tag that this service did not make.
pub(super) fn version(operator: Operator, literal: Json) -> Result<Expression, String> {
    let text = match literal {
        Json::Text(text) => text,
        Json::Null => return Ok(test(Attribute::Version, operator, Operand::Null)),
        Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => {
            return Err("write a version in quotation marks, as in the response".to_owned());
        }
    };
    Ok(match version_of(&text) {
        Some(number) => test(Attribute::Version, operator, Operand::Integer(number)),
        None if operator == Operator::Equal => Expression::never(),
        None => Expression::always(),
    })
}

/// A test of strings, each of which a user has under a condition. It is true if any of the user's
/// strings matches; without any, the user has no value.
pub(super) fn any_text(
    comparison: Comparison,
    texts: &[(String, Expression)],
    operator: Operator,
    literal: Json,
) -> Result<Expression, String> {
    let has_none = match any_of(texts) {
        any if any.is_always() => Expression::never(),
        any => Expression::Not(Box::new(any)),
    };
    let is_equal = operator == Operator::Equal;
    let operand = operand(comparison, operator, literal)?;
    let Operand::Text { typed, key } = operand else {
        // No string equals a value of another type.
        return Ok(match (operand == Operand::Null, is_equal) {
            (true, true) => has_none,
            (true, false) => any_of(texts),
            (false, true) => Expression::never(),
            (false, false) => Expression::always(),
        });
    };
    let wanted = key.filter(|_| comparison == Comparison::Folded).unwrap_or(typed);
    let holds = |text: &str| match operator {
        Operator::Equal => text == wanted,
        Operator::NotEqual => text != wanted,
        Operator::Contains => text.contains(&wanted),
        Operator::StartsWith => text.starts_with(&wanted),
        Operator::EndsWith => text.ends_with(&wanted),
        Operator::Greater => text > wanted.as_str(),
        Operator::GreaterOrEqual => text >= wanted.as_str(),
        Operator::Less => text < wanted.as_str(),
        Operator::LessOrEqual => text <= wanted.as_str(),
        Operator::Present => true,
    };
    let matching = texts.iter().filter(|(text, _)| holds(text));
    let any = matching.map(|(_, condition)| condition.clone()).reduce(simplest);
    Ok(match any {
        Some(any) if operator == Operator::NotEqual => simplest(any, has_none),
        Some(any) => any,
        None if operator == Operator::NotEqual => has_none,
        None => Expression::never(),
    })
}
