//! Which index drives.

use super::*;
use crate::{list::SortBy, user::Status};

fn plan(by: SortBy, equals: Equals) -> Plan {
    let mut query = PageQuery::first(50);
    query.sort.by = by;
    query.equals = equals;
    Plan::of(&query)
}

#[test]
fn the_most_selective_condition_drives() {
    let both = Equals {
        email: Some("ada@example.com".to_owned()),
        status: Some(Status::Active),
        ..Equals::default()
    };
    assert_eq!(plan(SortBy::Id, both), Plan { driver: Driver::Email, sorts: false });
}

#[test]
fn a_condition_whose_index_has_another_order_sorts() {
    let active = Equals { status: Some(Status::Active), ..Equals::default() };
    assert_eq!(plan(SortBy::Name, active.clone()), Plan { driver: Driver::Status, sorts: true });
    assert_eq!(plan(SortBy::Id, active), Plan { driver: Driver::Status, sorts: false });
}

#[test]
fn without_a_condition_the_order_drives() {
    let sort = Plan { driver: Driver::Sort, sorts: false };
    assert_eq!(plan(SortBy::UpdatedAt, Equals::default()), sort);
}

fn filtered(by: SortBy, filter: &str) -> (Plan, bool) {
    let mut query = PageQuery::first(50);
    query.sort.by = by;
    let query = query.with_filter(Filter::parse(filter).expect(filter));
    let plan = Plan::of(&query);
    let bounded = plan.is_bounded(&query);
    (plan, bounded)
}

fn range(by: SortBy, from: Bound<&str>, to: Bound<&str>) -> Driver {
    let key = |bound: Bound<&str>| bound.map(|text| RangeKey::Text(text.to_owned()));
    Driver::Range(Range { by, from: key(from), to: key(to) })
}

#[test]
fn keys_that_every_match_has_are_looked_up() {
    let ada = |of: fn(String) -> Lookup| of("ada@x.example".to_owned());
    for (filter, wanted, bounded) in [
        (r#"username eq "Ada@x.example" and title pr"#, vec![ada(Lookup::Username)], true),
        (r#"email eq "ADA@x.example" and title pr"#, vec![ada(Lookup::Email)], true),
        (r#"emails eq "ada@x.example""#, vec![ada(Lookup::AnyEmail)], false),
        (r#"emails[type pr and value eq "ada@x.example"]"#, vec![ada(Lookup::AnyEmail)], false),
        (
            r#"username eq "ada@x.example" or (email eq "ada@x.example" and title pr)"#,
            vec![ada(Lookup::Username), ada(Lookup::Email)],
            true,
        ),
        (r#"external_id eq "ada@x.example" and title pr"#, vec![ada(Lookup::ExternalId)], false),
        (r#"id eq "nobody""#, vec![], true),
        (r#"phone_number eq "none""#, vec![], true),
    ] {
        let plan = Plan { driver: Driver::Lookups(wanted), sorts: true };
        assert_eq!(filtered(SortBy::Name, filter), (plan, bounded), "{filter}");
    }
}

#[test]
fn a_key_that_is_asked_for_alone_is_a_condition() {
    let taken = |filter: &str| {
        let filter = Filter::parse(filter).expect("a filter");
        let PageQuery { equals, filter, .. } = PageQuery::first(50).with_filter(filter);
        assert_eq!(filter, None);
        equals
    };
    let text = || Some("ada@x.example".to_owned());
    let none = Equals::default;
    let username = taken(r#"username eq "Ada@x.example""#);
    assert_eq!(username, Equals { username: text(), ..none() });
    assert_eq!(taken(r#"email eq "Ada@x.example""#), Equals { email: text(), ..none() });
    let external_id = taken(r#"external_id eq "ada@x.example""#);
    assert_eq!(external_id, Equals { external_id: text(), ..none() });
    let number = Equals { phone_number: Some("+4420".to_owned()), ..none() };
    assert_eq!(taken(r#"phone_number eq "+44 20""#), number);
    let id = "0190d1c2-8000-7000-8000-000000000001";
    let ids = UserId::parse(id).map(|id| vec![id]);
    assert_eq!(taken(&format!("id eq \"{id}\"")), Equals { ids, ..none() });
}

#[test]
fn a_key_beside_another_condition_of_its_kind_stays_a_filter() {
    let mut query = PageQuery::first(50);
    query.equals.username = Some("grace".to_owned());
    let filter = Filter::parse(r#"username eq "ada""#).expect("a filter");
    let query = query.with_filter(filter);
    assert_eq!(query.equals.username.as_deref(), Some("grace"));
    assert!(query.filter.is_some(), "nobody has both");
}

#[test]
fn what_is_not_sure_for_every_match_does_not_drive() {
    for filter in [
        r#"username eq "ada" or title pr"#,
        r#"not (username eq "ada")"#,
        r#"username ne "ada""#,
        r#"username co "ada""#,
        r#"attributes.team eq "core""#,
        r#"email gt "ada""#,
        r#"family_name sw "a" or family_name sw "b""#,
    ] {
        let sort = Plan { driver: Driver::Sort, sorts: false };
        assert_eq!(filtered(SortBy::Id, filter), (sort, false), "{filter}");
    }
}

#[test]
fn a_range_of_an_index_drives() {
    use Bound::{Excluded, Included, Unbounded};
    let family = SortBy::FamilyName;
    for (filter, driver, bounded) in [
        (r#"family_name sw "Love""#, range(family, Included("love"), Excluded("lovf")), true),
        (r#"family_name eq "Love""#, range(family, Included("love"), Included("love")), true),
        (
            r#"family_name ge "b" and family_name lt "C" and family_name gt "b""#,
            range(family, Excluded("b"), Excluded("c")),
            true,
        ),
        (r#"family_name sw "" and title pr"#, range(family, Included(""), Unbounded), false),
        (
            "family_name sw \"\u{10FFFF}a\u{10FFFF}\"",
            range(family, Included("\u{10FFFF}a\u{10FFFF}"), Excluded("\u{10FFFF}b")),
            true,
        ),
        (r#"name lt "x" and family_name gt "y""#, range(family, Excluded("y"), Unbounded), false),
    ] {
        let wanted = Plan { driver, sorts: false };
        assert_eq!(filtered(family, filter), (wanted, bounded), "{filter}");
    }
    let email = range(SortBy::Email, Included("ada@"), Excluded("adaA"));
    let plan = Plan { driver: email, sorts: true };
    assert_eq!(filtered(SortBy::Id, r#"email sw "Ada@büch""#), (plan, false));
}

#[test]
fn a_moment_of_creation_is_a_range_of_ids() {
    let (plan, bounded) = filtered(SortBy::Id, r#"created_at eq "2024-07-20T20:08:23.296Z""#);
    let id = |text| RangeKey::Id(UserId::parse(text).expect("an id"));
    let range = Range {
        by: SortBy::Id,
        from: Bound::Included(id("0190d1c2-8000-0000-0000-000000000000")),
        to: Bound::Excluded(id("0190d1c2-8001-0000-0000-000000000000")),
    };
    assert_eq!((plan, bounded), (Plan { driver: Driver::Range(range), sorts: false }, true));
}

#[test]
fn a_status_that_is_asked_for_becomes_a_condition_of_its_own() {
    let query = PageQuery::first(1).with_filter(Filter::parse(r#"status eq "active""#).expect("f"));
    assert_eq!((query.equals.status, query.filter), (Some(Status::Active), None));
    let filter = Filter::parse(r#"status eq "active" and title pr"#).expect("f");
    let query = PageQuery::first(1).with_filter(filter);
    assert_eq!(Plan::of(&query).driver, Driver::Status);
    assert!(query.filter.is_some());
}

#[test]
fn what_all_meet_is_no_condition_and_its_contrary_finds_nobody() {
    for filter in ["id pr", "username pr", "status pr", "created_at pr"] {
        let query = PageQuery::first(1).with_filter(Filter::parse(filter).expect("a filter"));
        assert!(query.is_unconditional(), "{filter}");
    }
    let nobody = Plan { driver: Driver::Lookups(vec![]), sorts: true };
    assert_eq!(filtered(SortBy::Id, "not (id pr)"), (nobody, true));
    let sort = Plan { driver: Driver::Sort, sorts: false };
    assert_eq!(filtered(SortBy::Id, "not (title pr)"), (sort, false));
}
