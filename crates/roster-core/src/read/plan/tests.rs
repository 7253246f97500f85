//! The plans of queries.

use super::*;
use crate::read::filter::Expression;
use crate::store::Head;
use crate::user::attribute::Attribute;

fn plan(by: SortBy, conditions: &[Expression]) -> Plan {
    let mut query = PageQuery::first(50);
    query.sort.by = by;
    Plan::of(&conditions.iter().cloned().fold(query, PageQuery::with))
}

/// A plan whose source covers all conditions.
fn direct(source: Source) -> Plan {
    Plan { source, status: None, residual: None }
}

fn whole(by: SortBy) -> Source {
    Source::Along(Range::whole(Index::Sort(by)))
}

fn email() -> Expression {
    Expression::equal(Attribute::Email, "ada@x.example".to_owned())
}

fn active() -> Expression {
    Expression::status(Status::Active)
}

#[test]
fn one_key_of_an_index_is_a_range_in_the_order_of_ids() {
    let range =
        range(SortBy::Email, Bound::Included("ada@x.example"), Bound::Included("ada@x.example"));
    for by in [SortBy::Id, SortBy::Email] {
        assert_eq!(plan(by, &[email()]), direct(Source::Along(range.clone())));
    }
    let keys = Source::Keys(vec![Lookup::Email("ada@x.example".to_owned())]);
    assert_eq!(plan(SortBy::Name, &[email()]), direct(keys));
    let both = plan(SortBy::Id, &[active(), email()]);
    let expected = Plan { status: Some(Status::Active), ..direct(Source::Along(range)) };
    assert_eq!(both, expected);
}

#[test]
fn a_status_alone_is_a_range_and_otherwise_tested_on_its_column() {
    let range = Range::of_status(Status::Active);
    assert_eq!(plan(SortBy::Id, &[active()]), direct(Source::Along(range.clone())));
    assert_eq!(plan(SortBy::Name, &[active()]), direct(Source::Range(range)));
    let title = Filter::parse("title pr").expect("a filter").expression().clone();
    let found = plan(SortBy::Name, &[active(), title.clone()]);
    assert_eq!((found.status, found.residual), (None, Some(Filter::new(title))));
}

#[test]
fn a_range_of_one_user_is_bounded_for_every_residual() {
    for (filter, is_bounded) in [
        (r#"username eq "ada" and title pr"#, true),
        (r#"username eq "ada" and status eq "active""#, true),
        (r#"email eq "ada@x.example" and title pr"#, false),
        (r#"external_id eq "7" and status eq "active""#, false),
    ] {
        let (plan, found) = filtered(SortBy::Id, filter);
        assert!(matches!(plan.source, Source::Along(_)) && plan.may_find_few(), "{filter}");
        assert_eq!(found, is_bounded, "{filter}");
    }
}

#[test]
fn without_a_condition_the_source_is_the_index_of_the_order() {
    assert_eq!(plan(SortBy::UpdatedAt, &[]), direct(whole(SortBy::UpdatedAt)));
}

#[test]
fn ids_are_looked_up_together() {
    let ids = [1, 2].map(|n| UserId::from_bytes([n; 16]));
    let keys = Source::Keys(ids.map(Lookup::Id).into());
    assert_eq!(plan(SortBy::Id, &[Expression::ids(ids.into())]), direct(keys));
}

#[test]
fn the_kept_counters_count_all_and_each_status() {
    let head = Head { position: 9, active: 5, suspended: 2, deleted: 1 };
    let kept = |by, conditions: &[Expression], words: &[&str]| {
        let mut query = PageQuery::first(50);
        query.sort.by = by;
        query.words = words.iter().map(|word| (*word).to_owned()).collect();
        let query = conditions.iter().cloned().fold(query, PageQuery::with);
        Plan::of(&query).counter(&query).map(|counter| head.count(counter))
    };
    for by in SortBy::ALL.iter().copied() {
        assert_eq!(kept(by, &[], &[]), Some(7));
        assert_eq!(kept(by, &[active()], &[]), Some(5));
        assert_eq!(kept(by, &[Expression::status(Status::Suspended)], &[]), Some(2));
        assert_eq!(kept(by, &[email()], &[]), None);
        assert_eq!(kept(by, &[active(), email()], &[]), None);
        assert_eq!(kept(by, &[active()], &["ada"]), None);
    }
}

fn filtered(by: SortBy, filter: &str) -> (Plan, bool) {
    let mut query = PageQuery::first(50);
    query.sort.by = by;
    let query = query.with(Filter::parse(filter).expect(filter).expression().clone());
    let plan = Plan::of(&query);
    let bounded = plan.is_bounded(&query);
    (plan, bounded)
}

fn range(by: SortBy, from: Bound<&str>, to: Bound<&str>) -> Range {
    let key = |bound: Bound<&str>| bound.map(|text| RangeKey::Text(text.to_owned()));
    Range { index: Index::Sort(by), from: key(from), to: key(to) }
}

#[test]
fn keys_that_every_match_has_are_looked_up() {
    let ada = |of: fn(String) -> Lookup| of("ada@x.example".to_owned());
    for (filter, wanted, bounded) in [
        (r#"username eq "Ada@x.example" and title pr"#, vec![ada(Lookup::Username)], true),
        (r#"email eq "ADA@x.example" and title pr"#, vec![ada(Lookup::Email)], false),
        (r#"emails eq "ada@x.example""#, vec![ada(Lookup::AnyEmail)], false),
        (r#"emails[type pr and value eq "ada@x.example"]"#, vec![ada(Lookup::AnyEmail)], false),
        (
            r#"username eq "ada@x.example" or (email eq "ada@x.example" and title pr)"#,
            vec![ada(Lookup::Username), ada(Lookup::Email)],
            false,
        ),
        (r#"external_id eq "ada@x.example" and title pr"#, vec![ada(Lookup::ExternalId)], false),
        (r#"id eq "nobody""#, vec![], true),
        (r#"phone_number eq "none""#, vec![], true),
    ] {
        let (plan, is_bounded) = filtered(SortBy::Name, filter);
        assert_eq!((plan.source, is_bounded), (Source::Keys(wanted), bounded), "{filter}");
    }
}

#[test]
fn conditions_that_the_source_covers_are_not_tested_again() {
    for (filter, residual) in [
        (r#"username eq "ada""#, None),
        (r#"username eq "ada" and title pr"#, Some("title pr")),
        (r#"username eq "ada" and username eq "grace""#, Some(r#"username eq "grace""#)),
        (r#"emails[type pr and value eq "a"]"#, Some(r#"emails[type pr and value eq "a"]"#)),
        (r#"name sw "a" and name lt "b" and title pr"#, Some("title pr")),
        (r#"email sw "a""#, Some(r#"email sw "a""#)),
    ] {
        let (plan, _) = filtered(SortBy::Id, filter);
        assert_eq!(plan.residual.map(|left| left.to_string()).as_deref(), residual, "{filter}");
    }
}

#[test]
fn conditions_that_some_matches_lack_are_not_a_source() {
    for filter in [
        r#"username eq "ada" or title pr"#,
        r#"not (username eq "ada")"#,
        r#"username ne "ada""#,
        r#"username co "ada""#,
        r#"attributes.team eq "core""#,
        r#"email gt "ada""#,
        r#"family_name sw "a" or family_name sw "b""#,
    ] {
        let (plan, is_bounded) = filtered(SortBy::Id, filter);
        assert_eq!((plan.source, is_bounded), (whole(SortBy::Id), false), "{filter}");
    }
}

#[test]
fn a_range_of_an_index_is_a_source() {
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
        let (plan, is_bounded) = filtered(family, filter);
        assert_eq!((plan.source, is_bounded), (Source::Along(driver), bounded), "{filter}");
    }
    let email = range(SortBy::Email, Included("ada@"), Excluded("adaA"));
    let (plan, is_bounded) = filtered(SortBy::Id, r#"email sw "Ada@büch""#);
    assert_eq!((plan.source, is_bounded), (Source::Range(email), false));
}

#[test]
fn a_time_of_creation_is_a_range_of_ids() {
    let (plan, bounded) = filtered(SortBy::Id, r#"created_at eq "2024-07-20T20:08:23.296Z""#);
    let id = |text| RangeKey::Id(UserId::parse(text).expect("an id"));
    let range = Range {
        index: Index::Sort(SortBy::Id),
        from: Bound::Included(id("0190d1c2-8000-0000-0000-000000000000")),
        to: Bound::Excluded(id("0190d1c2-8001-0000-0000-000000000000")),
    };
    assert_eq!((plan, bounded), (direct(Source::Along(range)), true));
}

#[test]
fn a_condition_of_all_users_is_dropped_and_its_negation_finds_no_user() {
    for filter in ["id pr", "username pr", "status pr", "created_at pr"] {
        let filter = Filter::parse(filter).expect("a filter");
        let query = PageQuery::first(1).with(filter.expression().clone());
        assert!(query.is_unconditional(), "{filter}");
    }
    let (plan, is_bounded) = filtered(SortBy::Id, "not (id pr)");
    assert_eq!((plan.source, is_bounded), (Source::Keys(vec![]), true));
    let (plan, is_bounded) = filtered(SortBy::Id, "not (title pr)");
    assert_eq!((plan.source, is_bounded), (whole(SortBy::Id), false));
}

#[test]
fn a_page_after_a_row_without_the_key_begins_within_the_whole_index_or_at_its_end() {
    let text = |text| Bound::Included(text);
    let row = PageKey { key: SortKey::Text(None), id: UserId::from_bytes([1; 16]) };
    for (from, to, ascending, descending) in [
        (Bound::Unbounded, Bound::Unbounded, true, true),
        (text("m"), Bound::Unbounded, true, false),
        (Bound::Unbounded, text("m"), true, false),
        (text("a"), text("m"), true, false),
    ] {
        let range = range(SortBy::Name, from, to);
        for (direction, expected) in
            [(Direction::Ascending, ascending), (Direction::Descending, descending)]
        {
            let sort = Sort { by: SortBy::Name, direction };
            assert_eq!(range.begins_after(&row, sort), expected, "{range:?} {direction:?}");
        }
    }
}

#[test]
fn a_page_after_a_row_at_a_bound_begins_there_unless_the_bound_is_excluded() {
    let row = PageKey { key: SortKey::Text(Some("m".to_owned())), id: UserId::from_bytes([1; 16]) };
    for (bound, expected) in [
        (Bound::Included("m"), true),
        (Bound::Excluded("m"), false),
        (Bound::Included("k"), true),
        (Bound::Excluded("k"), true),
    ] {
        let ascending = range(SortBy::Name, bound, Bound::Unbounded);
        let sort = Sort { by: SortBy::Name, direction: Direction::Ascending };
        assert_eq!(ascending.begins_after(&row, sort), expected, "from {bound:?}");
    }
    for (bound, expected) in [
        (Bound::Included("m"), true),
        (Bound::Excluded("m"), false),
        (Bound::Included("p"), true),
        (Bound::Excluded("p"), true),
    ] {
        let descending = range(SortBy::Name, Bound::Unbounded, bound);
        let sort = Sort { by: SortBy::Name, direction: Direction::Descending };
        assert_eq!(descending.begins_after(&row, sort), expected, "to {bound:?}");
    }
}

#[test]
fn conditions_on_rows_are_short_work_only_if_they_need_few_comparisons_in_any_case() {
    let heavy = [r#"roles.value co "x""#; 62].join(" or ");
    for (filter, is_short) in [
        (r#"username eq "ada" and (title co "x" or nickname co "y")"#.to_owned(), true),
        (r#"username eq "ada" or username eq "grace""#.to_owned(), true),
        (r#"username eq "ada" and roles.value co "x""#.to_owned(), false),
        (r#"username eq "ada" and groups.display co "x""#.to_owned(), false),
        (format!(r#"username eq "ada" and ({heavy})"#), false),
        (format!(r#"email eq "ada@x.example" and ({heavy})"#), false),
    ] {
        let (plan, found) = filtered(SortBy::Id, &filter);
        assert!(plan.residual.is_some() && plan.may_find_few(), "{filter}");
        assert_eq!(found, is_short, "{filter}");
    }
    let ids: Vec<UserId> = (0..80).map(|n| UserId::from_bytes([n; 16])).collect();
    let by_ids = PageQuery::first(100).with(Expression::ids(ids));
    assert!(Plan::of(&by_ids).is_bounded(&by_ids));
    let tested = by_ids.with(Filter::parse(r#"title co "x""#).expect("valid").expression().clone());
    assert!(!Plan::of(&tested).is_bounded(&tested), "80 records may be large");
    let mut searched = PageQuery::first(100).with(email());
    searched.words = vec!["ada".to_owned()];
    assert!(!Plan::of(&searched).is_bounded(&searched), "words are tested on rows");
}
