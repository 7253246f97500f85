//! SCIM filters (RFC 7644 section 3.4.2.2).
//!
//! Core parses and evaluates filters and plans their pages. This module maps SCIM names to the
//! record and selects the syntax that tolerant and strict parsing accept. A SCIM filter becomes the
//! same expression as a filter of the REST interface, so `userName eq` uses the key that keeps
//! names unique. An error names the position in the filter.

mod derived;
mod group;
mod hints;
mod named;
mod names;
mod spanning;
#[cfg(test)]
mod tests;

use roster_core::{
    Json, UserSchema,
    filter::{Comparison, Dialect, Expression, Filter, FilterFault},
};

use group::GroupNames;
pub use group::filter_groups;
pub(crate) use named::comparison_of;
pub use names::UserNames;
pub(crate) use names::of_declared;
use spanning::Spanning;

use crate::{ScimError, ScimType, Strictness, schema::USER, strictness::as_text, work_email};

/// Parses a filter of users.
pub fn parse(text: &str, strictness: Strictness, schema: &UserSchema) -> Result<Filter, ScimError> {
    Filter::parse_with(text, &UserNames::new(strictness, schema)).map_err(|fault| refused(&fault))
}

/// The expression of a filter of users, with work addresses adapted. In a list of `all_types` it
/// may name attributes of groups.
pub fn expression(
    text: &str,
    strictness: Strictness,
    schema: &UserSchema,
    all_types: bool,
) -> Result<Expression, ScimError> {
    let own = UserNames::new(strictness, schema);
    let filter = if all_types {
        let constant = |truth| if truth { Expression::always() } else { Expression::never() };
        let has = |word: &str| USER.find(word).is_some();
        let names = Spanning { own, other: GroupNames(strictness), has, constant };
        Filter::parse_with(text, &names)
    } else {
        Filter::parse_with(text, &own)
    };
    Ok(work_email::adapt(filter.map_err(|fault| refused(&fault))?.expression().clone()))
}

/// The error of a filter: the position, and what was expected there.
fn refused(fault: &FilterFault) -> ScimError {
    let FilterFault { position, detail } = fault;
    ScimError::new(ScimType::InvalidFilter, format!("at byte {position} of the filter: {detail}"))
}

/// Syntax beyond the grammar. A part after brackets is always accepted, as Microsoft Entra sends
/// it. Strings without quotes, as in examples of the RFCs (RFC 7644 section 3.4.2.1), are accepted
/// in tolerant parsing.
pub(crate) const fn dialect(strictness: Strictness) -> Dialect {
    Dialect { part_after_brackets: true, bare_words: strictness.is_tolerant() }
}

/// In tolerant parsing, converts a literal that is compared with texts as a write would convert the
/// value, so that a provider finds what it has created: a whole number or a boolean becomes the
/// text that it was written as, because such filters come without quotes, and in texts of one line
/// tabs and line breaks become spaces. Returns other values unchanged: of another number it is
/// unknown how it was written, and where texts are compared it is an error.
pub(crate) fn as_words(
    comparison: Comparison,
    literal: Json,
    has_lines: bool,
    strictness: Strictness,
) -> Json {
    let is_text = matches!(
        comparison,
        Comparison::Folded
            | Comparison::Exact
            | Comparison::Username
            | Comparison::Email
            | Comparison::PhoneNumber
    );
    if !is_text || !strictness.is_tolerant() {
        return literal;
    }
    match literal {
        Json::Bool(flag) => Json::Text(flag.to_string()),
        Json::Text(_) if has_lines => literal,
        Json::Int(_) | Json::Text(_) => as_text(literal, strictness),
        Json::Null | Json::Float(_) | Json::Array(_) | Json::Object(_) => literal,
    }
}

/// The text after the last slash: the id in the URL of a resource.
fn last_segment(url: &str) -> String {
    url.rsplit('/').next().map_or_else(String::new, str::to_owned)
}

/// The names as a list, for errors.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
