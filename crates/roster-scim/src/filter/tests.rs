//! SCIM filters, compared with filters of the REST interface.

use roster_core::{Group, UserSchema, filter::Filter, group::GroupQuery};

use super::filter_groups;
use crate::{ScimError, ScimType, Strictness};

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const ROSTER: &str = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";

fn parse(text: &str, strictness: Strictness) -> Result<Filter, ScimError> {
    super::parse(text, strictness, &UserSchema::default())
}

#[track_caller]
fn means(scim: &str, rest: &str) {
    let wanted = Filter::parse(rest).unwrap_or_else(|fault| panic!("{rest}: {fault:?}"));
    for strictness in Strictness::ALL {
        let found = parse(scim, *strictness).unwrap_or_else(|error| panic!("{scim}: {error:?}"));
        assert_eq!(found, wanted, "{scim} is {found}");
    }
}

#[track_caller]
fn fault(scim: &str, strictness: Strictness) -> ScimError {
    let error = parse(scim, strictness).map(|filter| panic!("{scim} is {filter}"));
    let error = error.expect_err("a refusal");
    assert_eq!((error.status, error.scim_type), (400, Some(ScimType::InvalidFilter)), "{scim}");
    error
}

/// Asserts that tolerant and strict parsing both reject the filter, at this byte, with this detail.
#[track_caller]
fn refused(scim: &str, position: usize, detail: &str) {
    for strictness in Strictness::ALL {
        let error = fault(scim, *strictness);
        let start = format!("at byte {position} of the filter: ");
        assert!(error.detail.starts_with(&start), "{scim}: {}", error.detail);
        assert!(error.detail.contains(detail), "{scim}: {}", error.detail);
    }
}

const EITHER: &str = "emails[type eq \"work\" and value co \"@example.com\"] or \
                      ims[type eq \"xmpp\" and value co \"@foo.com\"]";

#[test]
fn every_example_of_the_rfcs_parses() {
    for (scim, rest) in [
        (r#"userName eq "bjensen""#, r#"username eq "bjensen""#),
        (r#"name.familyName co "O'Malley""#, r#"family_name co "O'Malley""#),
        (r#"userName sw "J""#, r#"username sw "J""#),
        (r#"urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J""#, r#"username sw "J""#),
        ("title pr", "title pr"),
        (
            r#"meta.lastModified gt "2011-05-13T04:42:34Z""#,
            r#"updated_at gt "2011-05-13T04:42:34Z""#,
        ),
        (
            r#"meta.lastModified ge "2011-05-13T04:42:34Z""#,
            r#"updated_at ge "2011-05-13T04:42:34Z""#,
        ),
        (
            r#"meta.lastModified lt "2011-05-13T04:42:34Z""#,
            r#"updated_at lt "2011-05-13T04:42:34Z""#,
        ),
        (
            r#"meta.lastModified le "2011-05-13T04:42:34Z""#,
            r#"updated_at le "2011-05-13T04:42:34Z""#,
        ),
        (r#"title pr and userType eq "Employee""#, r#"title pr and user_type eq "Employee""#),
        (r#"title pr or userType eq "Intern""#, r#"title pr or user_type eq "Intern""#),
        (
            r#"schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User""#,
            "employee_number pr or cost_center pr or organization pr or division pr or \
             department pr or manager pr",
        ),
        (
            r#"userType eq "Employee" and (emails co "a.com" or emails.value co "b.org")"#,
            r#"user_type eq "Employee" and (emails co "a.com" or emails co "b.org")"#,
        ),
        (
            r#"userType ne "Employee" and not (emails co "a.com" or emails.value co "b.org")"#,
            r#"user_type ne "Employee" and not (emails co "a.com" or emails co "b.org")"#,
        ),
        (
            r#"userType eq "Employee" and (emails.type eq "work")"#,
            r#"user_type eq "Employee" and emails.type eq "work""#,
        ),
        (
            r#"userType eq "Employee" and emails[type eq "work" and value co "@example.com"]"#,
            r#"user_type eq "Employee" and emails[type eq "work" and value co "@example.com"]"#,
        ),
        (EITHER, EITHER),
    ] {
        means(scim, rest);
    }
}

#[test]
fn every_attribute_and_part_resolves() {
    for (scim, rest) in [
        (r#"id eq "x""#, r#"id eq "x""#),
        (r#"externalId eq "X""#, r#"external_id eq "X""#),
        (r#"name.formatted ew "n""#, r#"name ew "n""#),
        (r#"name.givenName eq "a""#, r#"given_name eq "a""#),
        (r#"name.middleName eq "a""#, r#"middle_name eq "a""#),
        (r#"name.honorificPrefix eq "a""#, r#"honorific_prefix eq "a""#),
        (r#"name.honorificSuffix eq "a""#, r#"honorific_suffix eq "a""#),
        (r#"displayName eq "a""#, r#"display_name eq "a""#),
        (r#"nickName eq "a""#, r#"nickname eq "a""#),
        (r#"profileUrl eq "https://a""#, r#"profile eq "https://a""#),
        (r#"preferredLanguage eq "en""#, r#"preferred_language eq "en""#),
        (r#"locale eq "en""#, r#"locale eq "en""#),
        (r#"timezone eq "UTC""#, r#"zoneinfo eq "UTC""#),
        (r#"phoneNumbers eq "1""#, r#"phone_numbers eq "1""#),
        (r#"photos.value sw "https""#, r#"photos.value sw "https""#),
        (r#"addresses.streetAddress eq "a""#, r#"addresses.street_address eq "a""#),
        (r#"addresses[postalCode eq "1"]"#, r#"addresses[postal_code eq "1"]"#),
        (r#"entitlements eq "e""#, r#"entitlements eq "e""#),
        (
            r#"roles[value eq "r" and primary eq true]"#,
            r#"roles[value eq "r" and primary eq true]"#,
        ),
        (r#"x509Certificates.display eq "d""#, r#"x509_certificates.display eq "d""#),
        (r#"x509Certificates eq "MII""#, r#"x509_certificates eq "MII""#),
        ("emails pr", "emails pr"),
        ("emails[not (type pr)]", "emails[not (type pr)]"),
        (&format!(r#"{ENTERPRISE}:employeeNumber eq "7""#), r#"employee_number eq "7""#),
        (&format!(r#"{ENTERPRISE}:costCenter eq "7""#), r#"cost_center eq "7""#),
        (&format!(r#"{ENTERPRISE}:organization eq "7""#), r#"organization eq "7""#),
        (&format!(r#"{ENTERPRISE}:division eq "7""#), r#"division eq "7""#),
        (&format!(r#"{ENTERPRISE}:department eq "7""#), r#"department eq "7""#),
        (&format!(r#"{ENTERPRISE}:manager.value eq "m""#), r#"manager.id eq "m""#),
        (&format!(r#"{ENTERPRISE}:manager[value eq "m"]"#), r#"manager[id eq "m"]"#),
        (&format!("{ENTERPRISE}:manager pr"), "manager pr"),
        (&format!(r#"{ROSTER}:status eq "suspended""#), r#"status eq "suspended""#),
        (&format!("{ROSTER}:email_verified eq true"), "email_verified eq true"),
        (&format!("{ROSTER}:phone_number_verified pr"), "phone_number_verified pr"),
        (&format!("{ROSTER}:attributes.team eq 7"), "attributes.team eq 7"),
        (&format!("{ROSTER}:attributes.a.b pr"), "attributes.a.b pr"),
        (&format!("{ROSTER}:attributes pr"), "attributes pr"),
    ] {
        means(scim, rest);
    }
}

#[test]
fn names_and_operators_ignore_case_and_custom_keys_do_not() {
    means(r#"USERNAME EQ "a" AND NOT (TITLE PR)"#, r#"username eq "a" and not (title pr)"#);
    means(r#"Emails[Type Eq "work"]"#, r#"emails[type eq "work"]"#);
    let urn = ENTERPRISE.to_uppercase();
    means(&format!(r#"{urn}:Manager.VALUE eq "m""#), r#"manager.id eq "m""#);
    means(&format!("{ROSTER}:attributes.Team pr"), "attributes.Team pr");
}

#[test]
fn active_is_the_status() {
    means("active eq true", r#"status eq "active""#);
    means("active eq false", r#"status eq "suspended""#);
    means("active ne true", r#"status eq "suspended""#);
    means("active ne false", r#"status eq "active""#);
    means("active pr", "id pr");
    means("active eq null", "status eq null");
    for order in ["gt", "ge", "lt", "le", "co", "sw", "ew"] {
        refused(&format!("active {order} true"), 7, "boolean");
    }
    refused("active eq 1", 10, "true or false");
    let filter = parse(r#"active eq "False""#, Strictness::Tolerant).expect("a filter");
    assert_eq!(filter.to_string(), r#"status eq "suspended""#);
    fault(r#"active eq "False""#, Strictness::Strict);
}

#[test]
fn constant_attributes_are_compared_without_reading_users() {
    means(r#"schemas eq "urn:ietf:params:scim:schemas:core:2.0:User""#, "id pr");
    means(r#"schemas co "core:2.0:User""#, "id pr");
    means(r#"schemas eq "urn:nobody""#, "not (id pr)");
    means("schemas pr", "id pr");
    let own = "expires_at pr or email_verified pr or phone_number_verified pr or attributes pr";
    means(&format!(r#"schemas eq "{ROSTER}""#), own);
    means(r#"meta.resourceType eq "User""#, "id pr");
    means(r#"meta.resourceType eq "Group""#, "not (id pr)");
    means("meta pr", "id pr");
    means(r#"meta.version eq "W/\"3\"""#, "version eq 3");
    means(r#"meta.version ne "3""#, "version ne 3");
    means(r#"meta.version eq "x""#, "not (id pr)");
    refused(r#"meta.version gt "3""#, 13, "eq, ne and pr");
    refused(r#"meta.location eq "x""#, 0, "created");
}

#[test]
fn an_object_takes_a_condition_on_its_parts() {
    let parts = parse("name pr", Strictness::Strict).expect("a filter").to_string();
    assert!(parts.contains("name pr or family_name pr or given_name pr"), "{parts}");
    let both = parse(r#"name[givenName eq "a" and familyName eq "b"]"#, Strictness::Strict);
    let wanted = format!("({parts}) and given_name eq \"a\" and family_name eq \"b\"");
    assert_eq!(both.expect("a filter").to_string(), wanted);
    means(r#"meta[created gt "2026-01-01T00:00:00Z"]"#, r#"created_at gt "2026-01-01T00:00:00Z""#);
}

#[test]
fn common_deviations_from_the_grammar_are_accepted() {
    means(
        r#"emails[type eq "work"].value eq "x@y.example""#,
        r#"emails[type eq "work" and value eq "x@y.example"]"#,
    );
    means(
        r#"emails[type eq "work" or primary eq true].value pr and title pr"#,
        r#"emails[(type eq "work" or primary eq true) and value pr] and title pr"#,
    );
    means("not(title pr)", "not (title pr)");
    means("((title pr))", "title pr");
    for (bare, rest) in [
        ("userName eq bjensen", r#"username eq "bjensen""#),
        ("(meta.resourceType eq User) or (meta.resourceType eq Group)", "id pr or not (id pr)"),
        (
            "emails[type eq work].value eq a@b.example",
            r#"emails[type eq "work" and value eq "a@b.example"]"#,
        ),
        ("meta.created gt 2026-01-01T00:00:00Z", r#"created_at gt "2026-01-01T00:00:00Z""#),
        (r#"department eq "x""#, r#"department eq "x""#),
        (r#"manager.value eq "x""#, r#"manager.id eq "x""#),
    ] {
        let found =
            parse(bare, Strictness::Tolerant).unwrap_or_else(|error| panic!("{bare}: {error:?}"));
        assert_eq!(found, Filter::parse(rest).expect(rest), "{bare} is {found}");
        fault(bare, Strictness::Strict);
    }
}

#[test]
fn malformed_filters_fail_with_their_position() {
    for (scim, position, detail) in [
        ("", 0, "attribute was expected"),
        ("userName", 8, "operator was expected"),
        ("userName eq", 11, "value was expected"),
        (r#"userName eq "a" and"#, 19, "attribute was expected"),
        (r#"userName eq "a" nor title pr"#, 16, "the end was expected"),
        ("userName eq 'bjensen'", 12, "double quotation"),
        (r#"userName eq "a"#, 12, "not closed"),
        (r#"userName eq "a" extra"#, 16, "the end was expected"),
        (r#""bjensen" eq userName"#, 0, "attribute was expected"),
        (r#"userName regex "a""#, 9, "no operator regex: use eq"),
        (r#"(userName eq "a""#, 16, "the ) for byte 0"),
        (r#"userName eq "a")"#, 15, "no ( for this"),
        (r#"emails[type eq "work""#, 21, "the ] for byte 6"),
        ("emails[]", 7, "value, type, primary, display"),
        ("emails[emails[type pr]]", 7, "value, type, primary, display"),
        ("not title pr", 4, "( was expected"),
        ("userName gt null", 12, "null goes with eq"),
        ("title eq and title pr", 9, "value was expected"),
        ("title eq pr", 9, "value was expected"),
        ("name eq \"x\"", 5, "name.formatted"),
        ("addresses eq \"x\"", 10, "addresses.formatted"),
        ("emails.colour pr", 0, "value, type, primary, display"),
        ("title.x pr", 0, "title has no parts"),
        ("title[x pr]", 0, "only an attribute with parts"),
        ("emails[primary gt true]", 15, "boolean"),
        ("x509Certificates gt \"a\"", 17, "no order"),
        ("x509Certificates.value le \"a\"", 23, "no order"),
        ("meta.created gt \"yesterday\"", 16, "RFC 3339"),
        ("meta.created co \"2026\"", 13, "a time takes"),
        ("emails[type eq \"a\"].", 20, "value, type, primary, display"),
        ("emails[type eq \"a\"].value", 25, "operator was expected"),
        ("emails[type eq \"a\"].$ref eq \"b\"", 20, "value, type, primary, display"),
    ] {
        refused(scim, position, detail);
    }
}

#[test]
fn numbers_and_booleans_are_compared_as_texts_unless_strict() {
    for (scim, rest) in [
        ("userName eq 7", r#"username eq "7""#),
        ("userName eq true", r#"username eq "true""#),
        ("externalId eq -12", r#"external_id eq "-12""#),
        ("roles[value eq 7]", r#"roles[value eq "7"]"#),
    ] {
        let found = parse(scim, Strictness::Tolerant).expect(scim);
        assert_eq!(found, Filter::parse(rest).expect(rest), "{scim} is {found}");
        assert!(fault(scim, Strictness::Strict).detail.contains("quotation marks"), "{scim}");
    }
}

#[test]
fn texts_of_one_line_are_compared_as_a_write_stores_them_unless_strict() {
    for (scim, rest) in [
        (r#"title eq "Sales\tEU""#, r#"title eq "Sales EU""#),
        (r#"externalId eq "a\r\nb""#, r#"external_id eq "a b""#),
        (r#"emails[display eq "a\tb"]"#, r#"emails[display eq "a b"]"#),
        (r#"addresses.locality sw "a\tb""#, r#"addresses.locality sw "a b""#),
        (r#"addresses.formatted eq "a\tb""#, r#"addresses.formatted eq "a\tb""#),
        (r#"addresses[streetAddress co "a\nb"]"#, r#"addresses[street_address co "a\nb"]"#),
    ] {
        let found = parse(scim, Strictness::Tolerant).expect(scim);
        assert_eq!(found, Filter::parse(rest).expect(rest), "{scim} is {found}");
    }
    let strict = parse(r#"title eq "a\tb""#, Strictness::Strict).expect("a filter");
    assert_eq!(strict, Filter::parse(r#"title eq "a\tb""#).expect("a filter"));
    let query = asked(r#"displayName eq "Sales\tEU""#, Strictness::Tolerant).expect("a filter");
    assert_eq!(query.name_key.as_deref(), Some("sales eu"));
}

#[test]
fn a_number_that_is_not_whole_is_no_text_without_quotation_marks() {
    for literal in ["1e3", "1000.0", "12E5", "1.50"] {
        for name in ["externalId", "userName", "employeeNumber", "roles.value", "emails"] {
            let scim = format!("{name} eq {literal}");
            let detail = fault(&scim, Strictness::Tolerant).detail;
            assert!(detail.contains("quotation marks"), "{scim}: {detail}");
        }
        let error = asked(&format!("displayName eq {literal}"), Strictness::Tolerant);
        assert!(error.expect_err(literal).detail.contains("quotation marks"), "{literal}");
        let quoted = format!(r#"externalId eq "{literal}""#);
        let found = parse(&quoted, Strictness::Tolerant).expect("a filter");
        assert_eq!(found.to_string(), format!(r#"external_id eq "{literal}""#));
    }
    let free = format!("{ROSTER}:attributes.level gt 2.5");
    assert!(parse(&free, Strictness::Tolerant).is_ok());
}

#[test]
fn an_unknown_attribute_fails_with_the_list_of_known_ones() {
    for name in ["colour", "password", "urn:x:userName", "$ref", "members"] {
        let detail = fault(&format!("{name} eq \"x\""), Strictness::Tolerant).detail;
        for known in ["userName", "emails", "meta", "active", &format!("{ENTERPRISE}:manager")] {
            assert!(detail.contains(known), "{name}: {detail}");
        }
        assert!(!detail.contains("password,"), "{detail}");
    }
    let email = fault("email eq \"x\"", Strictness::Strict);
    assert!(email.detail.contains("no attribute email"), "{}", email.detail);
}

#[test]
fn length_depth_and_tests_are_capped() {
    let deep = |levels: usize| format!("{}title pr{}", "(".repeat(levels), ")".repeat(levels));
    assert!(parse(&deep(31), Strictness::Strict).is_ok());
    assert!(fault(&deep(32), Strictness::Strict).detail.contains("32 deep"));
    let many = |count: usize| vec!["title pr"; count].join(" or ");
    assert!(parse(&many(64), Strictness::Strict).is_ok());
    assert!(fault(&many(65), Strictness::Strict).detail.contains("64 tests"));
    let long = format!("title eq \"{}\"", "x".repeat(5000));
    assert!(fault(&long, Strictness::Tolerant).detail.contains("4096 bytes"));
}

const ID: &str = "0190d1c2-8000-7000-8000-00000000000a";

fn asked(text: &str, strictness: Strictness) -> Result<GroupQuery, ScimError> {
    filter_groups(GroupQuery::first(1), text, strictness, None)
}

fn groups(text: &str) -> GroupQuery {
    asked(text, Strictness::Strict).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn equalities_on_indexed_attributes_of_groups_use_the_index() {
    let query = groups(&format!(
        r#"displayName eq "Engines" and externalId eq "E" and id eq "{ID}" and members eq "{ID}""#
    ));
    let id = roster_core::UserId::parse(ID);
    assert!(!query.has_tests());
    assert_eq!(query.name_key.as_deref(), Some("engines"));
    assert_eq!(query.external_id.as_deref(), Some("E"));
    assert_eq!((query.ids, query.member), (id.map(|id| vec![id]), id));
    for member in [format!(r#"members[value eq "{ID}"]"#), format!(r#"members eq "{ID}""#)] {
        assert_eq!(groups(&member).member, id);
    }
    assert_eq!(groups(r#"members[value eq "nobody"]"#).ids, Some(vec![]));
    assert_eq!(groups(r#"id eq "nobody""#).ids, Some(vec![]));
}

#[test]
fn other_conditions_are_tested_on_each_group() {
    let at = |text| roster_core::Timestamp::parse(text).expect("a moment");
    let engines = Group {
        id: roster_core::UserId::parse(ID).expect("an id"),
        version: 1,
        display_name: "Engines".to_owned(),
        external_id: Some("E".to_owned()),
        member_count: 2,
        updated_at: at("2026-02-01T00:00:00Z"),
    };
    for (text, wanted) in [
        (r#"displayName sw "eng""#, true),
        (r#"displayName eq "x" or externalId eq "E""#, true),
        (r#"not (displayName co "ENG")"#, false),
        (
            r#"meta.created lt "2024-07-21T00:00:00Z" and meta.created gt "2024-07-20T00:00:00Z""#,
            true,
        ),
        (r#"externalId pr and id sw "0190""#, true),
        (r#"meta.lastModified ge "2026-02-01T00:00:00Z""#, true),
        (r#"schemas eq "urn:ietf:params:scim:schemas:core:2.0:Group""#, true),
        ("not (schemas pr)", false),
        (r#"meta.resourceType eq "User""#, false),
        (r#"displayName eq "Engines" and displayName eq "x""#, false),
    ] {
        let query = groups(text);
        let found = query.ids.as_deref() != Some(&[]) && query.tests(&engines, false);
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn unsupported_filters_of_groups_fail() {
    for text in [
        "members lt \"0190\"",
        "members.type eq \"User\"",
        "members.value sw \"0190\"",
        "members co \"0190\"",
        "members.value co \"0190\"",
        "members.$ref co \"/Groups/0190\"",
        "members[value co \"0190\"]",
        "members co \"\"",
        "members[value eq \"a\" or value eq \"b\"]",
        "not (members.value eq \"a\")",
        "displayName eq \"a\" or members.value eq \"b\"",
        "colour eq \"a\"",
        "displayName eq",
        "members",
    ] {
        let error = asked(text, Strictness::Tolerant).expect_err(text);
        assert_eq!(error.scim_type, Some(ScimType::InvalidFilter), "{text}");
    }
    let two = format!(r#"members.value eq "{ID}" and members.value eq "{ID}""#);
    assert!(asked(&two, Strictness::Strict).is_err());
}
