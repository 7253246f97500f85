//! Tests of what SCIM shows and the record has in another form.

use roster_core::{
    Attribute, Json, Status,
    filter::{Comparison, Expression, Operand, Operator, Path, Test, operand},
};

use super::names::{Named, of_part};

/// There is a value.
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
        Named::Texts(texts) => {
            let any = texts.iter().map(|(_, condition)| condition.clone()).reduce(simplest);
            any.unwrap_or_else(Expression::never)
        }
    }
}

/// Either holds; what always holds says it all.
pub(super) fn simplest(one: Expression, other: Expression) -> Expression {
    if one.is_always() || other.is_always() { Expression::always() } else { one.or(other) }
}

pub(super) fn test(attribute: Attribute, operator: Operator, operand: Operand) -> Expression {
    Expression::Test(Test { path: Path::Member(attribute), operator, operand })
}

/// `active`, compared with a boolean. There are two states, so that what differs from one is the
/// other.
pub(super) fn status(operator: Operator, active: bool) -> Expression {
    let wanted = active == (operator == Operator::Equal);
    let status = if wanted { Status::Active } else { Status::Suspended };
    test(Attribute::Status, Operator::Equal, Operand::Status(status))
}

/// `meta.version`, compared with an entity tag; one that is not ours is nobody's.
pub(super) fn version(operator: Operator, literal: Json) -> Result<Expression, String> {
    let text = match literal {
        Json::Text(text) => text,
        Json::Null => return Ok(test(Attribute::Version, operator, Operand::Null)),
        Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => {
            return Err("write a version in quotation marks, as it is shown".to_owned());
        }
    };
    let digits = text.strip_prefix("W/").unwrap_or(&text).trim_matches('"');
    Ok(match digits.parse() {
        Ok(number) => test(Attribute::Version, operator, Operand::Integer(number)),
        Err(_) if operator == Operator::Equal => Expression::never(),
        Err(_) => Expression::always(),
    })
}

/// Some text that the user has compares so.
pub(super) fn any_text(
    texts: &[(&'static str, Expression)],
    operator: Operator,
    literal: Json,
) -> Result<Expression, String> {
    let operand = operand(Comparison::Exact, operator, literal)?;
    let Operand::Text { typed: wanted, .. } = operand else {
        // There is always one: none is null.
        let never = operator == Operator::Equal;
        return Ok(if never { Expression::never() } else { Expression::always() });
    };
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
    let met = texts.iter().filter(|(text, _)| holds(text));
    let any = met.map(|(_, condition)| condition.clone()).reduce(simplest);
    Ok(any.unwrap_or_else(Expression::never))
}
