//! Checks a response against its documentation.

use jsonschema::Validator;
use serde_json::Value;

use super::{
    Exchange,
    document::{Form, Operation, Response, at},
};

/// Checks the response against the documentation of its status.
pub(super) fn check(operation: &Operation, exchange: &Exchange) -> Result<(), String> {
    if exchange.is_bare_refusal() {
        return Ok(());
    }
    let refusal = operation.refusal.as_ref().filter(|_| exchange.status >= 400);
    let Some(response) = operation.responses.get(&exchange.status).or(refusal) else {
        return Err(format!("{} does not document this status", operation.id));
    };
    check_response(response, exchange)
}

/// Checks the response against one documented response.
pub(super) fn check_response(response: &Response, exchange: &Exchange) -> Result<(), String> {
    check_headers(response, exchange)?;
    let left_out = exchange.method == "HEAD" || is_minimal(exchange);
    if response.content.is_empty() || left_out {
        if !exchange.response_body.is_empty() {
            return Err("there is a body where none may be".to_owned());
        }
        if response.content.is_empty() && exchange.media_type().is_some() {
            return Err("there is a Content-Type, but never a body".to_owned());
        }
        return Ok(());
    }
    let media_type = exchange.media_type().ok_or("there is no Content-Type")?;
    let schema = match response.content.get(media_type) {
        None => return Err(format!("{media_type} is not documented")),
        Some(Form::Lines(schema)) => return check_lines(schema, &exchange.response_body),
        Some(Form::Whole(schema)) => schema,
    };
    let body = parse(media_type, &exchange.response_body)?;
    validate(schema, &body).map_err(|fault| format!("body {fault}"))?;
    if response.codes.is_empty() { Ok(()) } else { check_problem(response, exchange, &body) }
}

/// Checks each line against the schema of lines. The last one must be terminated too.
fn check_lines(schema: &Validator, body: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(body).map_err(|_| "body is no UTF-8".to_owned())?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line is not ended".to_owned());
    }
    for (index, line) in text.lines().enumerate() {
        let value = serde_json::from_str(line);
        let value = value.map_err(|fault| format!("line {} is no JSON: {fault}", index + 1))?;
        validate(schema, &value).map_err(|fault| format!("line {} {fault}", index + 1))?;
    }
    Ok(())
}

fn check_headers(response: &Response, exchange: &Exchange) -> Result<(), String> {
    for header in &response.headers {
        let name = &header.name;
        let same = |(found, _): &&(String, String)| found.eq_ignore_ascii_case(name);
        let values: Vec<_> = exchange.response_headers.iter().filter(same).collect();
        if values.is_empty() && header.required {
            return Err(format!("the header {name} is missing"));
        }
        for (_, value) in values {
            validate(&header.schema, &Value::from(value.as_str()))
                .map_err(|fault| format!("header {name} {fault}"))?;
        }
    }
    Ok(())
}

/// Checks the parts of a problem that a schema cannot express: it must match its response.
fn check_problem(response: &Response, exchange: &Exchange, body: &Value) -> Result<(), String> {
    let code = at(body, "/code").as_str().unwrap_or_default();
    if !response.codes.contains(code) {
        return Err(format!("the code {code} is not documented here"));
    }
    if *at(body, "/status") != exchange.status {
        return Err(format!("the body says status {}", at(body, "/status")));
    }
    if at(body, "/request_id").as_str() != exchange.response_header("x-request-id") {
        return Err("request_id is not X-Request-Id".to_owned());
    }
    for fault in at(body, "/errors").as_array().into_iter().flatten() {
        let places = ["pointer", "parameter", "column"].map(|name| fault.get(name).is_some());
        // A cell has a member and a column.
        if !matches!(places, [true, false, _] | [false, true, false] | [false, false, true]) {
            return Err(format!("{fault} names not exactly one place"));
        }
    }
    let kind = at(body, "/type").as_str().unwrap_or_default();
    if kind.ends_with(&format!("/problems/{code}")) {
        return Ok(());
    }
    Err(format!("type {kind} does not lead to the page of {code}"))
}

/// Whether the body was omitted because the caller preferred that (RFC 7240 section 4.2).
fn is_minimal(exchange: &Exchange) -> bool {
    (200..300).contains(&exchange.status)
        && exchange.response_header("preference-applied") == Some("return=minimal")
}

/// The body as a JSON tree; a body that is not JSON becomes one string.
pub(super) fn parse(media_type: &str, body: &[u8]) -> Result<Value, String> {
    if media_type == "application/json" || media_type.ends_with("+json") {
        return serde_json::from_slice(body).map_err(|fault| format!("body is no JSON: {fault}"));
    }
    let text = std::str::from_utf8(body).map_err(|_| "body is no UTF-8".to_owned())?;
    Ok(Value::from(text))
}

/// Validates a value against a schema. The error names every location.
pub(super) fn validate(schema: &Validator, value: &Value) -> Result<(), String> {
    let faults: Vec<String> = schema
        .iter_errors(value)
        .map(|fault| format!("at '{}': {fault}", fault.instance_path()))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}
