//! Lists of groups: every condition, filters and searches, and pages that end early.

use roster_core::{
    GroupId, Rules,
    group::{GroupQuery, group_name_key},
    list::{Direction, Sort, SortBy, Total},
};
use serde_json::json;

use super::{grouping::filtered, harness::Harness, reads::words};

pub const RULES: Rules = super::DEFAULT;

pub async fn groups_are_listed_by_every_condition(harness: Harness) {
    let ada = harness.user(json!({"username": "ada"})).await.id;
    let grace = harness.user(json!({"username": "grace"})).await.id;
    let mut ids = Vec::new();
    for (name, external_id, member) in [("One", "x", ada), ("Two", "x", grace), ("Three", "y", ada)]
    {
        let body = json!({"display_name": name, "external_id": external_id});
        let act = harness.grouping(&body, &[member]);
        ids.push(harness.act(act).await.expect("valid").stored.id);
    }
    let found = async |query: GroupQuery| {
        let counted = GroupQuery { limit: 0, count: true, ..query.clone() };
        let page = harness.group_page(counted).await;
        let found = harness.walk_groups(GroupQuery { limit: 1, ..query }).await;
        let total = u64::try_from(found.len()).expect("few");
        assert_eq!((page.total, page.items.len()), (Some(Total::Exactly(total)), 0));
        assert_eq!(page.position, harness.head().await.position);
        found
    };
    let any = || GroupQuery::first(1);
    assert_eq!(found(any()).await, ids);
    let name_key = |name| Some(group_name_key(name));
    assert_eq!(found(GroupQuery { name_key: name_key("TWO"), ..any() }).await, [ids[1]]);
    assert_eq!(found(GroupQuery { name_key: name_key("four"), ..any() }).await, []);
    let external_id = |id: &str| Some(id.to_owned());
    assert_eq!(found(GroupQuery { external_id: external_id("x"), ..any() }).await, ids[..2]);
    assert_eq!(found(GroupQuery { external_id: external_id("X"), ..any() }).await, []);
    assert_eq!(found(GroupQuery { member: Some(ada), ..any() }).await, [ids[0], ids[2]]);
    let wanted = vec![ids[0], ids[1], harness.new_id()];
    assert_eq!(found(GroupQuery { ids: Some(wanted.clone()), ..any() }).await, ids[..2]);
    assert_eq!(found(GroupQuery { ids: Some(Vec::new()), ..any() }).await, []);
    let both = GroupQuery { ids: Some(wanted), member: Some(ada), ..any() };
    assert_eq!(found(both).await, [ids[0]], "some clients test membership in this way");
    let three = GroupQuery {
        member: Some(ada),
        external_id: external_id("y"),
        name_key: name_key("three"),
        ..any()
    };
    assert_eq!(found(three).await, [ids[2]]);
    let met = |filter| filtered(any(), filter);
    for (filter, wanted) in [
        (r#"display_name sw "T""#, &ids[1..]),
        (r#"external_id eq "x" and not (display_name eq "one")"#, &ids[1..2]),
        (r#"external_id eq "y" or display_name ew "NE""#, &[ids[0], ids[2]]),
        (r#"display_name eq "two" and external_id eq "x""#, &ids[1..2]),
        (r#"display_name eq "two" and version gt 1"#, &[]),
        ("version eq 1", &ids),
        (r#"created_at lt "2020-01-01T00:00:00Z""#, &[]),
    ] {
        assert_eq!(found(met(filter)).await, wanted, "{filter}");
    }
    let of_ada = GroupQuery { member: Some(ada), ..met(r#"display_name co "h""#) };
    assert_eq!(found(of_ada).await, [ids[2]]);
    for (typed, wanted) in [("T", &ids[1..]), ("tw", &ids[1..2]), ("wo", &[]), ("@", &[])] {
        assert_eq!(found(GroupQuery { words: words(typed), ..any() }).await, wanted, "{typed}");
    }
    let both = GroupQuery { words: words("t"), ..met(r#"external_id eq "y""#) };
    assert_eq!(found(both).await, [ids[2]]);
}

pub async fn a_page_of_tested_groups_ends_early_and_the_next_goes_on(harness: Harness) {
    let mut ids = Vec::new();
    for number in 0..9 {
        ids.push(harness.group(&format!("team {number} {}", number % 3), &[]).await);
    }
    for (by, direction) in
        [(SortBy::Id, Direction::Ascending), (SortBy::Name, Direction::Descending)]
    {
        let mut wanted: Vec<GroupId> = ids.iter().copied().step_by(3).collect();
        if direction == Direction::Descending {
            wanted.reverse();
        }
        let sort = Sort { by, direction };
        for (examined_max, comparisons_max) in [(2, u64::MAX), (0, u64::MAX), (usize::MAX, 1)] {
            for limit in [1, 2, 100] {
                let first = GroupQuery { sort, examined_max, ..GroupQuery::first(limit) };
                let bounded = GroupQuery { comparisons_max, ..first };
                let searched = GroupQuery { words: words("te 0"), ..bounded.clone() };
                assert_eq!(harness.walk_groups(searched).await, wanted, "{sort:?} {limit}");
                let query = filtered(bounded, r#"display_name ew " 0""#);
                assert_eq!(harness.walk_groups(query).await, wanted, "{sort:?} {limit}");
            }
        }
    }
}
