//! The rules of PATCH (RFC 7644 section 3.5.2), and the deviations of identity providers.

mod groups;
mod quirks;
mod rules;

use roster_core::{Json, Work, json, limits::COMPARISONS_MAX};

use super::{Operation, apply, read};
use crate::{ScimError, ScimType, Strictness, schema::USER};

pub(super) const ADA: &str = r#"{
    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User",
        "urn:ietf:params:scim:schemas:extension:roster:2.0:User"],
    "id": "0190d1c2-8000-7000-8000-000000000001",
    "meta": {"resourceType": "User", "version": "W/\"3\"",
        "created": "2024-07-20T20:08:23.296Z"},
    "userName": "ada", "title": "Countess", "active": true,
    "name": {"givenName": "Ada", "familyName": "King"},
    "emails": [{"value": "ada@work.example", "type": "work", "primary": true},
        {"value": "ada@home.example", "type": "home"}],
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User": {"status": "active",
        "attributes": {"team": "core", "tags": ["a"], "deep": {"x": 1}}}
}"#;

pub(super) const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

pub(super) fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).unwrap_or_else(|fault| panic!("{text}: {}", fault.detail))
}

pub(super) fn ada() -> Json {
    tree(ADA)
}

/// Parses a body with these operations.
pub(super) fn operations(list: &str, strictness: Strictness) -> Result<Vec<Operation>, ScimError> {
    let urn = super::PATCH_URN;
    read(tree(&format!(r#"{{"schemas":["{urn}"],"Operations":[{list}]}}"#)), strictness)
}

pub(super) fn patched(list: &str, strictness: Strictness) -> Result<Json, ScimError> {
    let work = Work::new(COMPARISONS_MAX);
    apply(&USER, ada(), operations(list, strictness)?, strictness, &work)
}

/// The result of the operations, which must be the same in tolerant and strict parsing.
pub(super) fn both(list: &str) -> Json {
    let strict =
        patched(list, Strictness::Strict).unwrap_or_else(|error| panic!("{list}: {error:?}"));
    let tolerant = patched(list, Strictness::Tolerant).expect(list);
    assert_eq!(strict, tolerant, "{list}");
    strict
}

pub(super) fn tolerant(list: &str) -> Json {
    patched(list, Strictness::Tolerant).unwrap_or_else(|error| panic!("{list}: {error:?}"))
}

pub(super) fn refused(list: &str, strictness: Strictness) -> Option<ScimType> {
    let error = patched(list, strictness).map(|tree| panic!("{list}: {tree:?}")).err();
    let error = error.expect("a refusal");
    assert!(error.status == 400 && !error.detail.is_empty(), "{error:?}");
    error.scim_type
}

#[track_caller]
pub(super) fn both_refuse(list: &str, kind: ScimType) {
    for strictness in Strictness::ALL {
        assert_eq!(refused(list, *strictness), Some(kind), "{list} {strictness}");
    }
}

/// The value below these names; a number is an index of a list.
#[track_caller]
pub(super) fn at<'t>(tree: &'t Json, path: &[&str]) -> Option<&'t Json> {
    path.iter().try_fold(tree, |tree, name| {
        let Json::Array(items) = tree else { return tree.member(name) };
        items.get(name.parse::<usize>().ok()?)
    })
}

#[track_caller]
pub(super) fn holds(tree: &Json, path: &[&str], value: &str) {
    let wanted = self::tree(value);
    assert_eq!(at(tree, path).unwrap_or(&Json::Null), &wanted, "{path:?} of {tree:?}");
}
