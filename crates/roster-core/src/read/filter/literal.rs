//! Converts a literal to an operand and checks it against the path and the operator. Every error
//! says what to write instead.

use super::expression::{Comparison, Operand, Operator};
use crate::{
    json::Json,
    text::{email_key, fold_key, nfc, phone_key, phone_part, username_fold},
    timestamp::Timestamp,
    user::{Status, keys::username_lookup},
};

/// Checks that values with this comparison support the operator.
pub fn check_operator(comparison: Comparison, operator: Operator) -> Result<(), String> {
    let (by_equality, by_text) = (operator.is_equality(), operator.is_by_part());
    match comparison {
        _ if operator == Operator::Present => Ok(()),
        Comparison::Presence => Err("it has parts: name one; by itself it takes pr".to_owned()),
        Comparison::Flag if !by_equality => Err("a boolean takes eq, ne and pr".to_owned()),
        Comparison::Status if !by_equality => Err("status takes eq, ne and pr".to_owned()),
        Comparison::Time | Comparison::TimeJson if by_text => {
            Err("a time takes eq, ne, gt, ge, lt, le and pr".to_owned())
        }
        Comparison::Integer if by_text => {
            Err("a number takes eq, ne, gt, ge, lt, le and pr".to_owned())
        }
        Comparison::Folded
        | Comparison::Exact
        | Comparison::Username
        | Comparison::Email
        | Comparison::PhoneNumber
        | Comparison::Time
        | Comparison::Integer
        | Comparison::Flag
        | Comparison::Status
        | Comparison::Json
        | Comparison::FoldedJson
        | Comparison::TimeJson => Ok(()),
    }
}

/// The operand of a literal.
pub fn operand(
    comparison: Comparison,
    operator: Operator,
    literal: Json,
) -> Result<Operand, String> {
    if matches!(literal, Json::Null) {
        let detail = || "null goes with eq and ne".to_owned();
        return if operator.is_equality() { Ok(Operand::Null) } else { Err(detail()) };
    }
    match (comparison, literal) {
        (Comparison::FoldedJson, Json::Text(text)) => Ok(self::text(comparison, operator, text)),
        (Comparison::Json | Comparison::FoldedJson, literal) => json(operator, literal),
        (Comparison::Flag, Json::Bool(flag)) => Ok(Operand::Flag(flag)),
        (Comparison::Flag, _) => Err("write true or false".to_owned()),
        (Comparison::Integer, Json::Int(number)) => Ok(Operand::Integer(number)),
        (Comparison::Integer, _) => Err("write a whole number".to_owned()),
        (Comparison::Time | Comparison::TimeJson, Json::Text(text)) => time(operator, text),
        (Comparison::Time | Comparison::TimeJson, _) => {
            Err("write a time in quotation marks".to_owned())
        }
        (Comparison::Status, Json::Text(text)) => {
            let status = Status::parse(&text.to_ascii_lowercase());
            status
                .map(Operand::Status)
                .ok_or_else(|| "write \"active\" or \"suspended\"".to_owned())
        }
        (_, Json::Text(text)) => Ok(self::text(comparison, operator, text)),
        _ => Err("write a text in quotation marks".to_owned()),
    }
}

/// Stored times are whole milliseconds. A time between two milliseconds is rounded up for `lt` and
/// `ge` and down for other operators, and equals no value.
fn time(operator: Operator, typed: String) -> Result<Operand, String> {
    let Some((before, after)) = Timestamp::parse_between(&typed) else {
        return Err("write a time of RFC 3339, like \"2026-11-20T12:00:00Z\"".to_owned());
    };
    Ok(if operator.is_equality() && before != after {
        Operand::Text { typed, key: None }
    } else if matches!(operator, Operator::Less | Operator::GreaterOrEqual) {
        Operand::Time(after)
    } else {
        Operand::Time(before)
    })
}

fn json(operator: Operator, literal: Json) -> Result<Operand, String> {
    let (by_equality, by_text) = (operator.is_equality(), operator.is_by_part());
    match literal {
        Json::Text(typed) => Ok(Operand::Text { key: Some(typed.clone()), typed }),
        _ if by_text => Err("co, sw and ew take a text in quotation marks".to_owned()),
        Json::Int(number) => Ok(Operand::Integer(number)),
        Json::Float(number) => Ok(Operand::Number(number)),
        Json::Bool(flag) if by_equality => Ok(Operand::Flag(flag)),
        Json::Bool(_) => Err("true and false take eq, ne and pr".to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => Err("write one value".to_owned()),
    }
}

fn text(comparison: Comparison, operator: Operator, typed: String) -> Operand {
    let key = match comparison {
        Comparison::Username if operator.is_by_part() => Some(username_fold(&typed)),
        Comparison::Username => Some(username_lookup(&typed)),
        Comparison::Email if operator.is_equality() => Some(email_key(&typed)),
        Comparison::PhoneNumber if operator.is_by_part() => phone_part(&typed),
        Comparison::PhoneNumber => Some(phone_key(&typed)).filter(|key| !key.is_empty()),
        Comparison::Exact => Some(nfc(typed.clone())),
        Comparison::Email
        | Comparison::Folded
        | Comparison::Time
        | Comparison::Integer
        | Comparison::Flag
        | Comparison::Status
        | Comparison::Json
        | Comparison::FoldedJson
        | Comparison::TimeJson
        | Comparison::Presence => Some(fold_key(&typed)),
    };
    Operand::Text { typed, key }
}
