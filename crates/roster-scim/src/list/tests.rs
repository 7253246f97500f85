//! How list requests are read.

use roster_core::json;

use super::*;

type Pairs<'a> = &'a [(&'static str, &'static str)];

fn of(pairs: Pairs<'_>) -> Result<ListRequest, ScimError> {
    parsed(pairs, Strictness::Tolerant)
}

fn parsed(pairs: Pairs<'_>, strictness: Strictness) -> Result<ListRequest, ScimError> {
    let pairs = pairs.iter().map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value)));
    ListRequest::of_parameters(&USER, &UserSchema::default(), pairs, strictness)
}

fn kind(pairs: Pairs<'_>) -> Option<ScimType> {
    of(pairs).expect_err("refused").scim_type
}

#[test]
fn numbers_out_of_range_are_adjusted() {
    let list = of(&[("startIndex", "-3"), ("count", "-1")]).expect("a list");
    assert_eq!((list.start_index, list.count), (1, Some(0)));
    let list = of(&[("startIndex", "0"), ("count", "99999999999999999999")]).expect("a list");
    assert_eq!((list.start_index, list.count), (1, Some(PAGE_SIZE_MAX)));
    assert_eq!(of(&[]).expect("a list").count, None);
}

#[test]
fn malformed_parameters_fail_and_unknown_ones_are_ignored() {
    assert_eq!(kind(&[("count", "ten")]), Some(ScimType::InvalidCount));
    assert_eq!(kind(&[("startIndex", "1.5")]), Some(ScimType::InvalidValue));
    assert_eq!(kind(&[("sortBy", "title")]), Some(ScimType::InvalidValue));
    assert_eq!(kind(&[("sortOrder", "up")]), Some(ScimType::InvalidValue));
    assert_eq!(kind(&[("filter", "a"), ("filter", "b")]), Some(ScimType::InvalidValue));
    assert_eq!(kind(&[("cursor", ""), ("startIndex", "1")]), Some(ScimType::InvalidCursor));
    assert!(of(&[("aadOptscim062020", ""), ("x", "1"), ("x", "2")]).is_ok());
}

#[test]
fn misspelt_parameters_fail() {
    for name in ["fliter", "filters", "sort_by", "startindx", "attribute", "cuont"] {
        assert_eq!(kind(&[(name, "1")]), Some(ScimType::InvalidValue), "{name}");
    }
    for name in ["aadOptscim062020", "page", "userName", ""] {
        assert!(of(&[(name, "1")]).is_ok(), "{name}");
        assert!(parsed(&[(name, "1")], Strictness::Strict).is_err(), "{name}");
    }
    assert!(parsed(&[("filter", "userName pr")], Strictness::Strict).is_ok());
}

#[test]
fn each_indexed_order_has_a_scim_name() {
    for (name, by) in [
        ("ID", SortBy::Id),
        ("meta.created", SortBy::Id),
        ("meta.lastModified", SortBy::UpdatedAt),
        ("username", SortBy::Username),
        ("emails", SortBy::Email),
        ("emails.value", SortBy::Email),
        ("urn:ietf:params:scim:schemas:core:2.0:User:name.familyName", SortBy::FamilyName),
        ("name.formatted", SortBy::Name),
    ] {
        let sort = of(&[("sortBy", name), ("sortOrder", "Descending")]).expect(name).sort;
        assert_eq!(sort, Sort { by, direction: Direction::Descending }, "{name}");
    }
}

#[test]
fn a_search_request_means_what_a_query_means() {
    let body = r#"{"schemas":["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        "attributes":["userName","emails"],"filter":"userName pr","startIndex":2,"count":3,
        "sortBy":"userName","sortOrder":"descending"}"#;
    let none = UserSchema::default();
    let tree = json::read(body.as_bytes()).expect("JSON");
    let query = of(&[
        ("attributes", "userName,emails"),
        ("filter", "userName pr"),
        ("startIndex", "2"),
        ("count", "3"),
        ("sortBy", "userName"),
        ("sortOrder", "descending"),
    ]);
    assert_eq!(ListRequest::of_body(&USER, &none, tree, Strictness::Strict), query);
    let misspelt = json::read(br#"{"fitler":"userName pr"}"#).expect("JSON");
    assert!(ListRequest::of_body(&USER, &none, misspelt, Strictness::Tolerant).is_err());
    let bare = json::read(b"{}").expect("JSON");
    assert!(ListRequest::of_body(&USER, &none, bare.clone(), Strictness::Tolerant).is_ok());
    assert!(ListRequest::of_body(&USER, &none, bare, Strictness::Strict).is_err());
}
