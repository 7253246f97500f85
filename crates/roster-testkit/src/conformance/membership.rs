//! Filters on the groups that users are direct members of.

use std::collections::BTreeSet;

use roster_core::{
    GroupId, Rules, Stored, UserId,
    list::{PageQuery, Sort, SortBy, Total},
};

use super::{
    harness::{Harness, view},
    order::{DIRECTIONS, crowd, order},
    reads::filter,
};

pub const RULES: Rules = super::DEFAULT;

/// Users, and the members of two groups: every second user is in the first one, every third in the
/// second one. A third group contains the first one and nobody else.
struct Groups {
    users: Vec<Stored>,
    even: GroupId,
    third: GroupId,
    outer: GroupId,
}

impl Groups {
    async fn new(harness: &Harness) -> Self {
        let users = crowd(harness).await;
        let every =
            |nth: usize| -> Vec<UserId> { users.iter().step_by(nth).map(|user| user.id).collect() };
        let even = harness.group("Even Ones", &every(2)).await;
        let third = harness.group("Third", &every(3)).await;
        let outer = harness.group("Outer", &[even]).await;
        Self { users, even, third, outer }
    }

    /// The users whose number the condition is true for.
    fn expected(&self, condition: impl Fn(usize) -> bool) -> Vec<Stored> {
        let users = self.users.iter().enumerate().filter(|(number, _)| condition(*number));
        users.map(|(_, user)| user.clone()).collect()
    }
}

/// Compares all pages, in every order, with the users that are expected.
async fn meets(harness: &Harness, text: &str, mut expected: Vec<Stored>) {
    for by in SortBy::ALL.iter().copied() {
        for direction in DIRECTIONS {
            order(&mut expected, by, direction);
            for limit in [2, 7, 100] {
                let (sort, meaning) = (Sort { by, direction }, Some(filter(text)));
                let query =
                    PageQuery { sort, filter: meaning, count: true, ..PageQuery::first(limit) };
                let total = Some(Total::Exactly(u64::try_from(expected.len()).expect("few")));
                assert_eq!(harness.page(query.clone()).await.total, total, "{text}");
                assert_eq!(harness.walk(query).await, expected, "{text} by {by:?} {direction:?}");
            }
        }
    }
}

pub async fn users_are_found_by_their_direct_group(harness: Harness) {
    let groups = Groups::new(&harness).await;
    let Groups { even, third, outer, .. } = groups;
    for text in [
        format!("groups.value eq \"{even}\""),
        format!("groups eq \"{even}\""),
        format!("groups[value eq \"{even}\"]"),
        format!("Groups.Value EQ \"{even}\" and groups pr"),
        "groups.display eq \"even ones\"".to_owned(),
    ] {
        meets(&harness, &text, groups.expected(|number| number % 2 == 0)).await;
    }
    let both = format!("groups.value eq \"{even}\" and groups.value eq \"{third}\"");
    meets(&harness, &both, groups.expected(|number| number % 6 == 0)).await;
    for either in [
        format!("groups.value eq \"{even}\" or groups.value eq \"{third}\""),
        "groups pr".to_owned(),
    ] {
        let is_member = |number| number % 2 == 0 || number % 3 == 0;
        meets(&harness, &either, groups.expected(is_member)).await;
    }
    // Nested membership is not direct, and nobody is in a group that does not exist.
    for none in [
        format!("groups.value eq \"{outer}\""),
        format!("groups.value eq \"{}\"", harness.new_id()),
        "groups.value eq \"7\"".to_owned(),
        format!("groups[value eq \"{even}\" and display eq \"Third\"]"),
    ] {
        meets(&harness, &none, Vec::new()).await;
    }
}

pub async fn memberships_are_negated_and_joined_to_other_conditions(harness: Harness) {
    let groups = Groups::new(&harness).await;
    let Groups { even, third, .. } = groups;
    for (text, expected) in [
        (format!("not (groups.value eq \"{even}\")"), groups.expected(|n| n % 2 == 1)),
        ("not (groups pr)".to_owned(), groups.expected(|n| n % 2 == 1 && n % 3 != 0)),
        ("groups.value eq null".to_owned(), groups.expected(|n| n % 2 == 1 && n % 3 != 0)),
        // As for every list, `ne` is true for a user who has another value, or none.
        (format!("groups.value ne \"{even}\""), groups.expected(|n| n % 3 == 0 || n % 2 == 1)),
        ("groups.display sw \"t\"".to_owned(), groups.expected(|n| n % 3 == 0)),
        ("groups.display co \"EN O\"".to_owned(), groups.expected(|n| n % 2 == 0)),
        (
            format!("groups.value eq \"{third}\" and not (groups[display sw \"Even\"])"),
            groups.expected(|n| n % 3 == 0 && n % 2 == 1),
        ),
    ] {
        meets(&harness, &text, expected).await;
    }
    let one = view(&groups.users[6])["username"].clone();
    let by_name = format!("groups.value eq \"{even}\" and username eq {one}");
    meets(&harness, &by_name, vec![groups.users[6].clone()]).await;
    let other = view(&groups.users[7])["username"].clone();
    let by_name = format!("username eq {other} and groups.value eq \"{even}\"");
    meets(&harness, &by_name, Vec::new()).await;
}

pub async fn a_filter_sees_each_change_of_a_group_at_once(harness: Harness) {
    let groups = Groups::new(&harness).await;
    let query = PageQuery {
        filter: Some(filter(&format!("groups.value eq \"{}\"", groups.third))),
        ..PageQuery::first(100)
    };
    let found = async || -> BTreeSet<UserId> {
        harness.walk(query.clone()).await.iter().map(|user| user.id).collect()
    };
    let before = found().await;
    let (leaver, joiner) = (groups.users[0].id, groups.users[1].id);
    harness.delete(leaver).await.expect("there");
    assert!(!found().await.contains(&leaver));
    harness.restore(leaver).await.expect("free");
    assert!(!found().await.contains(&leaver), "a restore joins no group");
    harness.join(groups.third, &[joiner], &[]).await.expect("free");
    let after = found().await;
    assert_eq!(after.len(), before.len());
    assert!(after.contains(&joiner));
}
