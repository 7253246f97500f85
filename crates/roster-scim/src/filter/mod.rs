//! Filters in SCIM's words (RFC 7644 section 3.4.2.2).
//!
//! Core's one parser reads them, core's one evaluator and plan carry them out: what stands here is
//! what the words mean, and which ways of writing each profile takes. A filter in SCIM's words is
//! the same expression as one in the words of the REST face, so `userName eq` finds by the key by
//! which names are unique. What is not understood is refused with its place.

mod derived;
mod group;
mod names;
#[cfg(test)]
mod tests;
mod told;

use roster_core::filter::{Dialect, Filter, FilterFault};

pub use group::{GroupFacts, GroupFilter};
pub use names::UserNames;
pub(crate) use names::comparison_of;

use crate::{Profile, ScimError, ScimType};

/// Reads a filter of users.
pub fn parse(text: &str, profile: Profile) -> Result<Filter, ScimError> {
    Filter::parse_with(text, &UserNames::new(profile)).map_err(|fault| refused(&fault))
}

/// What is told of a filter that is not taken: where, and what was expected there.
fn refused(fault: &FilterFault) -> ScimError {
    let FilterFault { position, detail } = fault;
    ScimError::new(ScimType::InvalidFilter, format!("at byte {position} of the filter: {detail}"))
}

/// What is taken beside the grammar: a part after the brackets always, as Entra sends it; a bare
/// word for a text, as examples of the RFCs have it (RFC 7644 section 3.4.2.1), by tolerance.
pub(crate) const fn dialect(profile: Profile) -> Dialect {
    Dialect { part_after_brackets: true, bare_words: profile.is_tolerant() }
}

/// The names in a row, for a refusal that tells what there is.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
