//! Checks a successful request against its documentation.
//!
//! Other requests are not checked, because tests send invalid ones on purpose. An accepted request
//! must be documented as valid.

use serde_json::Value;

use super::{
    Exchange,
    answer::{parse, validate},
    document::{Form, Operation, Parameter},
    essence, header,
};

/// Checks the request against its operation, if it succeeded.
pub(super) fn check(
    operation: &Operation,
    captured: &[(String, String)],
    exchange: &Exchange,
) -> Result<(), String> {
    if !(200..300).contains(&exchange.status) {
        return Ok(());
    }
    let query = exchange.query.as_deref().unwrap_or_default();
    let query: Vec<(String, String)> =
        form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    for (name, _) in &query {
        if !operation.parameters.iter().any(|one| one.place == "query" && one.name == *name) {
            return Err(format!("the parameter {name} was taken, but is not documented"));
        }
    }
    for parameter in &operation.parameters {
        let values: Vec<&str> = match parameter.place.as_str() {
            "path" => of_name(captured, &parameter.name).collect(),
            "query" => of_name(&query, &parameter.name).collect(),
            _ => header(&exchange.request_headers, &parameter.name).into_iter().collect(),
        };
        check_parameter(parameter, &values)
            .map_err(|fault| format!("the parameter {} was taken {fault}", parameter.name))?;
    }
    check_body(operation, exchange).map_err(|fault| format!("the request was taken: {fault}"))
}

fn of_name<'a>(pairs: &'a [(String, String)], name: &str) -> impl Iterator<Item = &'a str> {
    pairs.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
}

fn check_parameter(parameter: &Parameter, values: &[&str]) -> Result<(), String> {
    let Some(first) = values.first() else {
        return if parameter.required { Err("without a value".to_owned()) } else { Ok(()) };
    };
    if parameter.kind == "array" {
        let joined = values.iter().flat_map(|value| {
            let parts = if parameter.explode { vec![*value] } else { value.split(',').collect() };
            parts.into_iter().map(Value::from)
        });
        return validate(&parameter.schema, &joined.collect());
    }
    if values.len() > 1 {
        return Err("twice".to_owned());
    }
    let value = match parameter.kind.as_str() {
        "integer" => first.parse::<i64>().map_or_else(|_| Value::from(*first), Value::from),
        "boolean" => first.parse::<bool>().map_or_else(|_| Value::from(*first), Value::from),
        _ => Value::from(*first),
    };
    validate(&parameter.schema, &value)
}

fn check_body(operation: &Operation, exchange: &Exchange) -> Result<(), String> {
    if operation.bodies.is_empty() {
        return Ok(());
    }
    let media_type = header(&exchange.request_headers, "content-type").map(essence);
    if media_type.is_none() && exchange.request_body.is_empty() && !operation.needs_body {
        return Ok(());
    }
    let media_type = media_type.ok_or("without a Content-Type")?;
    let schema = match operation.bodies.get(&media_type.to_ascii_lowercase()) {
        None => return Err(format!("as {media_type}, which is not documented")),
        // Each line or row may fail by itself, so a sent one may have any content.
        Some(Form::Lines(_)) => return Ok(()),
        Some(Form::Whole(_)) if media_type.eq_ignore_ascii_case("text/csv") => return Ok(()),
        Some(Form::Whole(schema)) => schema,
    };
    let body = parse("application/json", &exchange.request_body)?;
    validate(schema, &body).map_err(|fault| format!("body {fault}"))
}
