//! The body of a bulk request.

use std::collections::BTreeSet;

use roster_core::{
    Json,
    limits::{BULK_OPERATIONS_MAX, TEXT_LENGTH_MAX},
};

use super::BULK_REQUEST_URN;
use crate::{ScimError, ScimType, Strictness};

/// A bulk request.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkRequest {
    /// The number of failures after which the rest is not executed; `None` for no limit.
    pub fail_on_errors: Option<i64>,
    /// The operations.
    pub operations: Vec<BulkOperation>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkOperation {
    /// The method.
    pub method: BulkMethod,
    /// The name by which other operations refer to the resource that this one creates.
    pub bulk_id: Option<String>,
    /// The version that the resource must have.
    pub version: Option<String>,
    /// The path below the base URL of SCIM.
    pub path: String,
    /// The body.
    pub data: Option<Json>,
}

/// The method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkMethod {
    /// Creates.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Deletes.
    Delete,
    /// Reads. Bulk operations cannot read; such an operation fails by itself.
    Get,
}

impl BulkMethod {
    const ALL: &[Self] = &[Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Get];

    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Get => "GET",
        }
    }
}

/// Parses a bulk request. If it is malformed, nothing is executed.
pub fn read(body: Json, strictness: Strictness) -> Result<BulkRequest, ScimError> {
    let mut members = members_of(body, "the body")?;
    check_schemas(take(&mut members, "schemas"), strictness)?;
    let fail_on_errors = match take(&mut members, "failOnErrors") {
        // Without a number, or with 0, no number of errors ends the request.
        None | Some(Json::Null | Json::Int(0)) => None,
        Some(Json::Int(count)) if count > 0 => Some(count),
        Some(_) => return Err(invalid("failOnErrors: send a whole number from 0")),
    };
    let Some(Json::Array(sent)) = take(&mut members, "Operations") else {
        return Err(invalid("send Operations, an array of operations"));
    };
    if sent.is_empty() {
        return Err(invalid("send at least one operation"));
    }
    if sent.len() > BULK_OPERATIONS_MAX {
        // RFC 7644 section 3.7.4.
        let detail = format!("send at most {BULK_OPERATIONS_MAX} operations (maxOperations)");
        return Err(ScimError::of_status(413, detail));
    }
    if !members.is_empty() {
        return Err(invalid(
            "the body: unknown member; a Bulk request has schemas, failOnErrors and Operations",
        ));
    }
    let mut names = BTreeSet::new();
    let mut operations = Vec::with_capacity(sent.len());
    for (number, one) in (1_usize..).zip(sent) {
        let operation = operation(one, &format!("operation {number}"), strictness)?;
        if let Some(name) = &operation.bulk_id
            && !names.insert(name.clone())
        {
            return Err(invalid(format!("operation {number}: its bulkId is used twice")));
        }
        operations.push(operation);
    }
    Ok(BulkRequest { fail_on_errors, operations })
}

fn check_schemas(schemas: Option<Json>, strictness: Strictness) -> Result<(), ScimError> {
    let is_it =
        |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(BULK_REQUEST_URN));
    match schemas {
        Some(Json::Array(urns)) if urns.iter().any(is_it) => Ok(()),
        _ if strictness.is_tolerant() => Ok(()),
        _ => Err(invalid(format!("send schemas with {BULK_REQUEST_URN}"))),
    }
}

fn operation(one: Json, label: &str, strictness: Strictness) -> Result<BulkOperation, ScimError> {
    let mut members = members_of(one, label)?;
    let mut text = |name: &str| match take(&mut members, name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("{label}: send {name} as a string"))),
    };
    let (method, path) = (text("method")?, text("path")?);
    let (bulk_id, version) = (text("bulkId")?, text("version")?);
    let known = |word: &String| {
        BulkMethod::ALL.iter().copied().find(|known| known.as_str().eq_ignore_ascii_case(word))
    };
    let method = method.as_ref().and_then(known).ok_or_else(|| {
        invalid(format!("{label}: send method, one of POST, PUT, PATCH and DELETE"))
    })?;
    let path = path.ok_or_else(|| invalid(format!("{label}: send path, such as /Users")))?;
    let lengths = 1..=TEXT_LENGTH_MAX;
    if bulk_id.as_ref().is_some_and(|name| !lengths.contains(&name.chars().count())) {
        return Err(invalid(format!("{label}: bulkId has 1 to {TEXT_LENGTH_MAX} characters")));
    }
    // RFC 7644 section 3.7.
    if method == BulkMethod::Post && bulk_id.is_none() && !strictness.is_tolerant() {
        return Err(invalid(format!("{label}: send a bulkId for a POST")));
    }
    let data = match take(&mut members, "data") {
        Some(Json::Null) => None,
        // RFC 7644 section 3.7.3 shows the operations of a PATCH without the object around them.
        Some(data @ Json::Array(_)) if strictness.is_tolerant() && method == BulkMethod::Patch => {
            Some(Json::Object(vec![("Operations".to_owned(), data)]))
        }
        data => data,
    };
    if data.is_none() && !matches!(method, BulkMethod::Delete | BulkMethod::Get) {
        return Err(invalid(format!("{label}: send data")));
    }
    // It may be a misspelt version.
    if !members.is_empty() {
        let known = "an operation has method, bulkId, version, path and data";
        return Err(invalid(format!("{label}: unknown member; {known}")));
    }
    Ok(BulkOperation { method, bulk_id, version, path, data })
}

fn members_of(json: Json, label: &str) -> Result<Vec<(String, Json)>, ScimError> {
    let Json::Object(members) = json else {
        return Err(invalid(format!("{label}: send an object")));
    };
    Ok(members)
}

/// Removes a member and returns it. The name ignores case (RFC 7643 section 2.1).
fn take(members: &mut Vec<(String, Json)>, name: &str) -> Option<Json> {
    let at = members.iter().position(|(found, _)| found.eq_ignore_ascii_case(name))?;
    Some(members.swap_remove(at).1)
}

fn invalid(detail: impl Into<std::borrow::Cow<'static, str>>) -> ScimError {
    ScimError::new(ScimType::InvalidSyntax, detail)
}
