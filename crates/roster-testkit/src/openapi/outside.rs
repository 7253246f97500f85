//! Responses outside of the operations: an unknown path, another method, `OPTIONS`.

use std::collections::BTreeSet;

use super::{
    Exchange,
    answer::{check_response, parse},
    document::{Description, at},
};

/// Methods of RFC 9110, RFC 5789 and RFC 10008: always known, offered only where an operation
/// exists.
const KNOWN: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"];

/// Checks a response that belongs to no operation against the common rules.
pub(super) fn check(description: &Description, exchange: &Exchange) -> Result<(), String> {
    if exchange.is_bare_refusal() {
        return Ok(());
    }
    let offered = offered(description, exchange);
    if let Some(allow) = exchange.response_header("allow")
        && exchange.path != "*"
    {
        let allow: BTreeSet<&str> = allow.split(',').map(str::trim).collect();
        if allow != offered {
            return Err(format!("Allow names {allow:?}, the document {offered:?}"));
        }
    }
    if exchange.method == "OPTIONS" && exchange.status == 204 {
        return check_options(exchange);
    }
    if exchange.status < 400 {
        return Err("the document has no such operation".to_owned());
    }
    if exchange.path.contains("/scim/v2") {
        let is_scim = exchange.media_type() == Some("application/scim+json");
        return if is_scim { Ok(()) } else { Err("an error is application/scim+json".to_owned()) };
    }
    check_status(exchange, offered.is_empty())?;
    check_shared_problem(description, exchange)
}

/// The methods of the path; none if it is unknown.
fn offered<'a>(description: &'a Description, exchange: &Exchange) -> BTreeSet<&'a str> {
    let mut offered: BTreeSet<&str> =
        description.at_path(exchange).map(|(operation, _)| operation.method.as_str()).collect();
    if offered.contains("GET") {
        offered.insert("HEAD");
    }
    if !offered.is_empty() {
        offered.insert("OPTIONS");
    }
    offered
}

fn check_options(exchange: &Exchange) -> Result<(), String> {
    if exchange.response_header("allow").is_none() {
        return Err("the header Allow is missing".to_owned());
    }
    if exchange.response_body.is_empty() { Ok(()) } else { Err("204 has a body".to_owned()) }
}

/// The three statuses about path and method must be correct.
fn check_status(exchange: &Exchange, path_is_unknown: bool) -> Result<(), String> {
    let method_is_known = KNOWN.contains(&exchange.method.as_str());
    match exchange.status {
        404 if !path_is_unknown => Err("the path is documented".to_owned()),
        405 if path_is_unknown => Err("the path is not documented".to_owned()),
        405 if !method_is_known => Err("an unknown method is 501".to_owned()),
        501 if method_is_known => Err("a known method is 405".to_owned()),
        _ => Ok(()),
    }
}

/// Whether a response says that nothing is at this path below the base URL of a tenant, or that the
/// caller needs a credential there. Every operation may return it, and none lists it.
pub(super) fn is_refusal_of_tenant(description: &Description, exchange: &Exchange) -> bool {
    if !description.is_below_tenant(exchange) || !matches!(exchange.status, 401 | 404) {
        return false;
    }
    if exchange.media_type() != Some("application/problem+json") || exchange.method == "HEAD" {
        return false;
    }
    let body = parse("application/problem+json", &exchange.response_body).unwrap_or_default();
    let code = at(&body, "/code").as_str();
    matches!(code, Some("unauthenticated" | "tenant-not-found" | "not-found"))
}

pub(super) fn check_shared_problem(
    description: &Description,
    exchange: &Exchange,
) -> Result<(), String> {
    if exchange.media_type() != Some("application/problem+json") {
        return Err("an error is application/problem+json".to_owned());
    }
    if exchange.method == "HEAD" {
        let empty = exchange.response_body.is_empty();
        return if empty { Ok(()) } else { Err("HEAD has a body".to_owned()) };
    }
    let body = parse("application/problem+json", &exchange.response_body)?;
    let code = at(&body, "/code").as_str().unwrap_or_default();
    let Some(response) = description.problems.get(code) else {
        return Err(format!("the code {code} is not documented"));
    };
    check_response(response, exchange)
}
