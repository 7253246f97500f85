//! List requests (RFC 7644 section 3.4.2, RFC 9865), and the envelope of a page.
//!
//! A query in a URL and a SearchRequest (RFC 7644 section 3.4.3) mean the same. Unknown members of
//! a SearchRequest are errors. Of unknown parameters of a URL, tolerant parsing ignores those that
//! are no misspelt known ones. Numbers out of range are adjusted where the RFC says so.

use std::borrow::Cow;

use roster_core::{
    Attribute, Json, UserSchema,
    filter::Path,
    json::write_text,
    limits::PAGE_SIZE_MAX,
    list::{Direction, Sort, SortBy},
    schema::MemberIndex,
    text::nearest,
};

use crate::{
    error::{ScimError, ScimType},
    filter::UserNames,
    project::Projection,
    schema::{GROUP, ResourceType, USER},
    strictness::Strictness,
};

/// The URN of a page.
pub const LIST_RESPONSE_URN: &str = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
/// The URN of a SearchRequest.
pub const SEARCH_REQUEST_URN: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
/// The parameters of a list.
pub const PARAMETERS: [&str; 8] = [
    "filter",
    "attributes",
    "excludedAttributes",
    "sortBy",
    "sortOrder",
    "startIndex",
    "count",
    "cursor",
];
/// Page size if the request has no `count`.
pub const COUNT_DEFAULT: usize = 100;

/// A list request.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRequest {
    /// The filter, not yet parsed.
    pub filter: Option<String>,
    /// The order.
    pub sort: Sort,
    /// The index of the first resource, from 1.
    pub start_index: u64,
    /// The page size, at most the maximum.
    pub count: Option<usize>,
    /// The cursor, empty on the first page; `None` to page by index.
    pub cursor: Option<String>,
    /// The attributes to return.
    pub projection: Projection,
    /// Whether resources of all types are listed.
    pub all_types: bool,
}

#[derive(Clone, Default)]
struct Given {
    filter: Option<String>,
    sort_by: Option<String>,
    sort_order: Option<String>,
    start_index: Option<i64>,
    count: Option<i64>,
    cursor: Option<String>,
    attributes: Option<Vec<String>>,
    excluded: Option<Vec<String>>,
}

impl ListRequest {
    /// Parses the decoded parameters of a URL.
    pub fn of_parameters<'a>(
        resource_type: &ResourceType,
        schema: &UserSchema,
        parameters: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
        strictness: Strictness,
    ) -> Result<Self, ScimError> {
        Given::of_parameters(parameters, strictness)?.end(resource_type, schema)
    }

    /// Parses a SearchRequest.
    pub fn of_body(
        resource_type: &ResourceType,
        schema: &UserSchema,
        tree: Json,
        strictness: Strictness,
    ) -> Result<Self, ScimError> {
        Given::of_body(tree, strictness)?.end(resource_type, schema)
    }

    /// Parses the decoded parameters of the list of all resources: of its users and of its groups.
    pub fn of_parameters_for_all<'a>(
        schema: &UserSchema,
        parameters: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
        strictness: Strictness,
    ) -> Result<[Self; 2], ScimError> {
        Given::of_parameters(parameters, strictness)?.for_all(schema)
    }

    /// Parses a SearchRequest of all resources: of its users and of its groups.
    pub fn of_body_for_all(
        schema: &UserSchema,
        tree: Json,
        strictness: Strictness,
    ) -> Result<[Self; 2], ScimError> {
        Given::of_body(tree, strictness)?.for_all(schema)
    }
}

/// Parses the projection from the parameters of an operation on one resource.
pub fn projection<'a>(
    resource_type: &ResourceType,
    parameters: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
) -> Result<Projection, ScimError> {
    let mut given = Given::default();
    for (name, value) in parameters {
        given.take_projection(&name, &value);
    }
    Projection::read(resource_type, given.attributes.as_deref(), given.excluded.as_deref())
}

fn unknown_in_search() -> ScimError {
    let detail = "a SearchRequest has schemas, filter, sortBy, sortOrder, startIndex, count, \
                  cursor, attributes and excludedAttributes";
    ScimError::new(ScimType::InvalidSyntax, detail)
}

impl Given {
    fn of_parameters<'a>(
        parameters: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
        strictness: Strictness,
    ) -> Result<Self, ScimError> {
        let mut given = Self::default();
        for (name, value) in parameters {
            given.take(&name, value.into_owned(), strictness)?;
        }
        Ok(given)
    }

    fn of_body(tree: Json, strictness: Strictness) -> Result<Self, ScimError> {
        let Json::Object(members) = tree else {
            let detail = "send a SearchRequest as a JSON object";
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        };
        let says = |(name, value): &(String, Json)| {
            let urn = Json::Text(SEARCH_REQUEST_URN.to_owned());
            name.eq_ignore_ascii_case("schemas")
                && matches!(value, Json::Array(urns) if urns.contains(&urn))
        };
        if strictness == Strictness::Strict && !members.iter().any(says) {
            let detail = format!("schemas: send [\"{SEARCH_REQUEST_URN}\"]");
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let mut given = Self::default();
        for (name, value) in members {
            given.take_json(&name, value)?;
        }
        Ok(given)
    }

    fn for_all(self, schema: &UserSchema) -> Result<[ListRequest; 2], ScimError> {
        if self.cursor.is_some() {
            let detail =
                "a walk by cursor is one of /Users or of /Groups; here pages go by startIndex";
            return Err(ScimError::new(ScimType::InvalidCursor, detail));
        }
        let descends =
            |order: &String| matches!(direction(Some(order.as_str())), Ok(Direction::Descending));
        let is_own = |by: &str| by.is_empty() || by.eq_ignore_ascii_case("id");
        if self.sort_by.iter().any(|by| !is_own(by.trim())) || self.sort_order.iter().any(descends)
        {
            let wanted = "the users come before the groups here, each in the order of their ids, \
                          ascending";
            return Err(wrong("sortBy", wanted));
        }
        let mut requests = [self.clone().end(&USER, schema)?, self.end(&GROUP, schema)?];
        for request in &mut requests {
            request.all_types = true;
        }
        Ok(requests)
    }

    /// Takes a parameter. Providers send others too, but without a misspelt filter everything would
    /// be found.
    fn take(&mut self, name: &str, value: String, strictness: Strictness) -> Result<(), ScimError> {
        if self.take_projection(name, &value) {
            return Ok(());
        }
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("startIndex") {
            return once(name, &mut self.start_index, number(name, &value)?);
        }
        if is("count") {
            return once(name, &mut self.count, number(name, &value)?);
        }
        if let Some(field) = self.text(name) {
            return once(name, field, value);
        }
        match nearest(name, PARAMETERS.into_iter()) {
            Some(near) => Err(unknown_parameter(&format!("did you mean {near}?"))),
            None if strictness == Strictness::Strict => {
                Err(unknown_parameter(&format!("a list has {}", PARAMETERS.join(", "))))
            }
            None => Ok(()),
        }
    }

    fn take_json(&mut self, name: &str, value: Json) -> Result<(), ScimError> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("startIndex") || is("count") {
            let field = if is("count") { &mut self.count } else { &mut self.start_index };
            return match value {
                Json::Null => Ok(()),
                Json::Int(number) => once(name, field, number),
                Json::Text(text) => {
                    let number = number(name, &text)?;
                    once(name, field, number)
                }
                Json::Bool(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => {
                    Err(wrong(name, "send a whole number"))
                }
            };
        }
        if is("attributes") || is("excludedAttributes") {
            let field = if is("attributes") { &mut self.attributes } else { &mut self.excluded };
            return match value {
                Json::Null => Ok(()),
                Json::Text(text) => {
                    field.get_or_insert_default().extend(split(&text));
                    Ok(())
                }
                Json::Array(items) => {
                    let field = field.get_or_insert_default();
                    for item in items {
                        let Json::Text(item) = item else {
                            return Err(wrong(name, "send names as strings"));
                        };
                        field.push(item);
                    }
                    Ok(())
                }
                Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Object(_) => {
                    Err(wrong(name, "send an array of names"))
                }
            };
        }
        let Some(field) = self.text(name) else {
            // Without a misspelt filter everything would be found.
            let is_known = is("schemas");
            return if is_known { Ok(()) } else { Err(unknown_in_search()) };
        };
        match value {
            Json::Null => Ok(()),
            Json::Text(text) => once(name, field, text),
            Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Array(_) | Json::Object(_) => {
                Err(wrong(name, "send a string"))
            }
        }
    }

    /// Parses `attributes` and `excludedAttributes`. Returns false for any other parameter.
    fn take_projection(&mut self, name: &str, value: &str) -> bool {
        let field = if name.eq_ignore_ascii_case("attributes") {
            &mut self.attributes
        } else if name.eq_ignore_ascii_case("excludedAttributes") {
            &mut self.excluded
        } else {
            return false;
        };
        field.get_or_insert_default().extend(split(value));
        true
    }

    fn text(&mut self, name: &str) -> Option<&mut Option<String>> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("filter") {
            Some(&mut self.filter)
        } else if is("sortBy") {
            Some(&mut self.sort_by)
        } else if is("sortOrder") {
            Some(&mut self.sort_order)
        } else if is("cursor") {
            Some(&mut self.cursor)
        } else {
            None
        }
    }

    fn end(
        self,
        resource_type: &ResourceType,
        schema: &UserSchema,
    ) -> Result<ListRequest, ScimError> {
        let projection =
            Projection::read(resource_type, self.attributes.as_deref(), self.excluded.as_deref())?;
        if self.cursor.is_some() && self.start_index.is_some() {
            let detail = "send cursor or startIndex, not both";
            return Err(ScimError::new(ScimType::InvalidCursor, detail));
        }
        // RFC 7644 section 3.4.2.4: less than 1 is 1, a negative count is 0.
        let start_index = self.start_index.unwrap_or(1).max(1).unsigned_abs();
        let count = self.count.map(|count| usize::try_from(count.max(0)).unwrap_or(usize::MAX));
        Ok(ListRequest {
            filter: self.filter,
            sort: sort(resource_type, schema, self.sort_by.as_deref(), self.sort_order.as_deref())?,
            start_index,
            count: count.map(|count| count.min(PAGE_SIZE_MAX)),
            cursor: self.cursor,
            projection,
            all_types: false,
        })
    }
}

fn once<T>(name: &str, field: &mut Option<T>, value: T) -> Result<(), ScimError> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(wrong(name, "send it once")),
    }
}

fn split(names: &str) -> impl Iterator<Item = String> {
    names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn number(name: &str, text: &str) -> Result<i64, ScimError> {
    let digits = text.trim();
    let plain = digits.strip_prefix('-').unwrap_or(digits);
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(name, "send a whole number"));
    }
    // Larger than any list, so the exact number does not matter.
    Ok(digits.parse().unwrap_or(if digits.starts_with('-') { i64::MIN } else { i64::MAX }))
}

fn unknown_parameter(wanted: &str) -> ScimError {
    ScimError::new(ScimType::InvalidValue, format!("a parameter has an unknown name: {wanted}"))
}

fn wrong(name: &str, wanted: &str) -> ScimError {
    let name = PARAMETERS.iter().find(|known| known.eq_ignore_ascii_case(name));
    let name = name.copied().unwrap_or_default();
    let kind = if name == "count" { ScimType::InvalidCount } else { ScimType::InvalidValue };
    ScimError::new(kind, format!("{name}: {wanted}"))
}

fn direction(order: Option<&str>) -> Result<Direction, ScimError> {
    match order {
        None => Ok(Direction::Ascending),
        Some(word) if word.eq_ignore_ascii_case("ascending") => Ok(Direction::Ascending),
        Some(word) if word.eq_ignore_ascii_case("descending") => Ok(Direction::Descending),
        Some(_) => Err(wrong("sortOrder", "send ascending or descending")),
    }
}

/// Parses the order. Only orders with an index are supported.
fn sort(
    resource_type: &ResourceType,
    schema: &UserSchema,
    by: Option<&str>,
    order: Option<&str>,
) -> Result<Sort, ScimError> {
    let direction = direction(order)?;
    let Some(by) = by.map(str::trim).filter(|by| !by.is_empty()) else {
        return Ok(Sort { by: SortBy::Id, direction });
    };
    if resource_type.name == GROUP.name {
        let found = GROUP
            .find(by)
            .map(|found| (found.attribute.name, found.sub_attribute.map_or("", |part| part.name)));
        let by = match found {
            Some(("id", _) | ("meta", "created")) => SortBy::Id,
            Some(("displayName", _)) => SortBy::Name,
            Some(_) | None => {
                let wanted = "groups can be ordered by id, displayName or meta.created";
                return Err(wrong("sortBy", wanted));
            }
        };
        return Ok(Sort { by, direction });
    }
    let found = USER
        .find(by)
        .map(|found| (found.attribute.name, found.sub_attribute.map_or("", |part| part.name)));
    let by = match found {
        Some(("id", _) | ("meta", "created")) => SortBy::Id,
        Some(("meta", "lastModified")) => SortBy::UpdatedAt,
        Some(("userName", _)) => SortBy::Username,
        Some(("emails", "" | "value")) => SortBy::Email,
        Some(("name", "familyName")) => SortBy::FamilyName,
        Some(("name", "formatted")) => SortBy::Name,
        Some(_) | None if member(schema, by) == Some(Path::Member(Attribute::ExpiresAt)) => {
            SortBy::ExpiresAt
        }
        Some(_) | None => match indexed(schema, by) {
            Some(index) if index.is_sortable() => SortBy::Indexed(index.kind),
            Some(_) => {
                let wanted = "the index of this attribute is being built, or has several values";
                return Err(wrong("sortBy", wanted));
            }
            None => {
                let wanted = "lists can be ordered by id, userName, emails.value, \
                              name.familyName, name.formatted, meta.created, meta.lastModified, \
                              expires_at, or an attribute that the schema of users gives an index";
                return Err(wrong("sortBy", wanted));
            }
        },
    };
    Ok(Sort { by, direction })
}

/// The path of an attribute of users, also of an extension without its URN.
fn member(schema: &UserSchema, by: &str) -> Option<Path> {
    UserNames::new(Strictness::Tolerant, schema).path(by)
}

/// The index of an attribute that the schema of users gives one.
fn indexed<'s>(schema: &'s UserSchema, by: &str) -> Option<&'s MemberIndex> {
    match member(schema, by)? {
        path @ (Path::Member(_) | Path::Free(_)) => {
            schema.indexes.iter().find(|index| index.is_live() && index.has_values_of(&path))
        }
        Path::Part(..) | Path::Groups | Path::Group(_) => None,
    }
}

/// The members of a page's body, except the resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The total number of results, if known.
    pub total: Option<u64>,
    /// The index of the first resource, when paging by index.
    pub start_index: Option<u64>,
    /// The number of resources on the page.
    pub items: usize,
    /// The cursor of the next page, when paging by cursor.
    pub next_cursor: Option<String>,
}

impl Envelope {
    /// Starts the body of a page. The resources follow, separated by commas, then
    /// [`Envelope::close`].
    pub fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"schemas\":[\"");
        out.extend_from_slice(LIST_RESPONSE_URN.as_bytes());
        out.extend_from_slice(b"\"]");
        let mut number = |name: &str, number: Option<u64>| {
            if let Some(number) = number {
                out.extend_from_slice(format!(",\"{name}\":{number}").as_bytes());
            }
        };
        number("totalResults", self.total);
        number("startIndex", self.start_index);
        number("itemsPerPage", u64::try_from(self.items).ok());
        if let Some(cursor) = &self.next_cursor {
            out.extend_from_slice(b",\"nextCursor\":");
            write_text(out, cursor);
        }
        out.extend_from_slice(b",\"Resources\":[");
    }

    /// Ends the body of a page.
    pub fn close(out: &mut Vec<u8>) {
        out.extend_from_slice(b"]}");
    }
}

#[cfg(test)]
mod tests;
