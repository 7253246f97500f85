//! Restoring (promise "Deleted users can be restored"): a deleted user is restored unchanged with
//! the next version, unless another user holds its names by now.

use roster_core::{
    Attribute, Effect, EventKind, GroupId, Member, MemberKind, Outcome, Preconditions, Refusal,
    Rules, Tags, Taken, UserAct, UserId, UsernameOrigin,
    group::GroupAct,
    keys::username_lookup,
    list::{PageQuery, SortBy},
    text::{email_key, phone_key},
};
use serde_json::{Value, json};

use crate::Conditions;

use super::{
    harness::{Harness, deleting, only_if, patching, restoring, view},
    order::{DIRECTIONS, sorted},
    preconditions::if_match,
};

pub const RULES: Rules = super::DEFAULT;

fn taken(username: bool, email: bool) -> Refusal {
    let username = username.then_some(UsernameOrigin::Given);
    Refusal::Taken(Taken { username, email, external_id: false, ..Taken::default() })
}

fn deleting_group(id: GroupId) -> GroupAct {
    GroupAct::Delete { id }
}

fn ada() -> Value {
    json!({"username": "ada", "email": "ada@example.com", "name": "Ada"})
}

/// A deleted user at version 2.
async fn deleted(harness: &Harness, body: Value) -> UserId {
    let id = harness.user(body).await.id;
    harness.delete(id).await.expect("there");
    id
}

pub async fn a_restored_user_is_unchanged_with_the_next_version(harness: Harness) {
    let mut body = ada();
    body["emails"] =
        json!([{"value": "ada@example.com"}, {"value": "a@home.example", "type": "home"}]);
    body["attributes"] = json!({"team": {"core": [1, 2.5]}});
    let user = harness.user(body).await;
    harness.clock.step(10);
    let gone = harness.delete(user.id).await.expect("there").stored;
    harness.clock.step(10);
    let Outcome { stored, position, replayed, .. } = harness.restore(user.id).await.expect("free");
    assert_eq!((stored.id, stored.version, position, replayed), (user.id, 3, 3, false));
    assert_eq!(harness.get(user.id).await.as_ref(), Some(&stored));
    let (mut before, mut after) = (view(&gone), view(&stored));
    assert_eq!((&before["version"], &after["version"]), (&json!(2), &json!(3)));
    assert_ne!(before["updated_at"], after["updated_at"]);
    for seen in [&mut before, &mut after] {
        let members = seen.as_object_mut().expect("an object");
        members.retain(|name, _| name != "version" && name != "updated_at");
    }
    assert_eq!(before, after);
    assert_eq!(harness.get_deleted(user.id).await, None);
    let image = harness.image().await;
    assert_eq!((image.users, image.deleted), (vec![stored], vec![]));
}

pub async fn a_restored_user_keeps_its_status(harness: Harness) {
    let id = deleted(&harness, json!({"username": "ada", "status": "suspended"})).await;
    let head = harness.head().await;
    assert_eq!((head.active, head.suspended, head.deleted), (0, 0, 1));
    let stored = harness.restore(id).await.expect("free").stored;
    assert_eq!(view(&stored)["status"], "suspended");
    let head = harness.head().await;
    assert_eq!((head.active, head.suspended, head.deleted), (0, 1, 0));
}

pub async fn a_restore_has_an_event(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    harness.clock.step(10);
    let outcome = harness.restore(id).await.expect("free");
    let events = harness.events().await;
    let (position, event) = &events[2];
    assert_eq!((*position, event.kind), (outcome.position, EventKind::Restored));
    assert_eq!((event.user_id, event.version), (id, 3));
    assert_eq!(event.record, outcome.stored.record);
    assert_eq!(view(&outcome.stored)["updated_at"], event.at.to_string());
    assert_eq!(event.changed, Vec::<Attribute>::new(), "it is as it was");
    assert_eq!(events.len(), 3);
}

pub async fn a_restore_is_refused_while_another_holds_its_name_or_address(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    for (body, refusal) in [
        (json!({"username": "ADA"}), taken(true, false)),
        (json!({"username": "x", "email": "Ada@example.com"}), taken(false, true)),
        (ada(), taken(true, true)),
    ] {
        let holder = harness.user(body.clone()).await.id;
        let before = harness.image().await;
        assert_eq!(harness.restore(id).await, Err(refusal), "{body}");
        assert_eq!(harness.image().await, before, "{body}");
        harness.delete(holder).await.expect("there");
    }
    // The names are free again, although three stored deleted users had them.
    assert_eq!(harness.restore(id).await.expect("free").stored.version, 3);
}

pub async fn two_holders_of_name_and_address_are_reported_together(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    harness.user(json!({"username": "ada"})).await;
    harness.user(json!({"username": "x", "email": "ada@example.com"})).await;
    assert_eq!(harness.restore(id).await, Err(taken(true, true)));
}

pub async fn a_restore_succeeds_after_the_holder_is_renamed(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    let holder = harness.user(ada()).await.id;
    harness.patch(holder, json!({"username": "countess"})).await.expect("valid");
    assert_eq!(harness.restore(id).await, Err(taken(false, true)));
    harness.patch(holder, json!({"emails": null, "email": null})).await.expect("valid");
    harness.restore(id).await.expect("free");
}

pub async fn a_secondary_address_of_another_user_does_not_block_a_restore(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    let emails = json!([{"value": "g@example.com"}, {"value": "ada@example.com"}]);
    harness.user(json!({"username": "grace", "emails": emails})).await;
    harness.restore(id).await.expect("only the primary address is unique");
}

pub async fn a_restored_user_holds_its_name_and_address_again(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    harness.restore(id).await.expect("free");
    let other = json!({"username": "Ada"});
    assert_eq!(harness.create(other).await, Err(taken(true, false)));
    let other = json!({"username": "x", "email": "ADA@example.com"});
    assert_eq!(harness.create(other).await, Err(taken(false, true)));
}

pub async fn only_one_of_two_deleted_users_with_one_name_can_be_restored(harness: Harness) {
    let first = deleted(&harness, ada()).await;
    let second = deleted(&harness, ada()).await;
    harness.restore(second).await.expect("free");
    assert_eq!(harness.restore(first).await, Err(taken(true, true)));
    harness.delete(second).await.expect("there");
    harness.restore(first).await.expect("free");
    assert_eq!(harness.restore(second).await, Err(taken(true, true)));
}

pub async fn a_restore_checks_preconditions(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    let restore = |preconditions| harness.act(only_if(restoring(id), preconditions));
    let before = harness.image().await;
    let stale = Err(Refusal::VersionMismatch { current: 2 });
    for versions in [&[1][..], &[3], &[]] {
        assert_eq!(restore(if_match(versions)).await, stale, "{versions:?}");
    }
    let not = |tags| Preconditions { if_match: None, if_none_match: Some(tags) };
    for tags in [Tags::Any, Tags::Versions(vec![2])] {
        assert_eq!(restore(not(tags)).await, stale);
    }
    assert_eq!(harness.image().await, before);
    let outcome = restore(if_match(&[1, 2])).await.expect("it holds");
    assert_eq!(outcome.stored.version, 3);
    harness.delete(id).await.expect("there");
    let any = Preconditions { if_match: Some(Tags::Any), if_none_match: None };
    assert_eq!(restore(any).await.expect("it holds").stored.version, 5);
}

pub async fn a_restore_reports_a_stale_version_before_a_taken_name(harness: Harness) {
    let id = deleted(&harness, ada()).await;
    harness.user(ada()).await;
    let stale = harness.act(only_if(restoring(id), if_match(&[1]))).await;
    assert_eq!(stale, Err(Refusal::VersionMismatch { current: 2 }));
    let preconditions = harness.act(only_if(restoring(id), if_match(&[2]))).await;
    assert_eq!(preconditions, Err(taken(true, true)));
}

pub async fn only_a_deleted_user_can_be_restored(harness: Harness) {
    let live = harness.user(ada()).await.id;
    let before = harness.image().await;
    for id in [live, harness.new_id()] {
        assert_eq!(harness.restore(id).await, Err(Refusal::NotFound));
        let preconditions = if_match(&[1]);
        assert_eq!(
            harness.act(only_if(restoring(id), preconditions)).await,
            Err(Refusal::NotFound)
        );
    }
    assert_eq!(harness.image().await, before);
    harness.delete(live).await.expect("there");
    harness.restore(live).await.expect("free");
    assert_eq!(harness.restore(live).await, Err(Refusal::NotFound), "twice");
}

pub async fn a_user_can_be_deleted_and_restored_many_times_in_one_batch(harness: Harness) {
    let id = harness.user(ada()).await.id;
    let round = || [deleting(id), restoring(id), patching(id, &json!({"name": "A"}))];
    let acts: Vec<UserAct> = (0..10).flat_map(|_| round()).collect();
    let results = harness.apply(acts).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let image = harness.image().await;
    // The name changes only in the first round.
    assert_eq!((image.head.position, image.users[0].version), (22, 22));
    assert_eq!((image.head.active, image.head.deleted), (1, 0));
    assert_eq!((image.users.len(), image.deleted.len()), (1, 0));
}

pub async fn updated_at_never_goes_back_at_a_restore(harness: Harness) {
    let user = harness.user(ada()).await;
    harness.clock.step(-60_000);
    let gone = harness.delete(user.id).await.expect("there").stored;
    let back = harness.restore(user.id).await.expect("free").stored;
    assert_eq!(view(&gone)["updated_at"], view(&user)["updated_at"]);
    assert_eq!(view(&back)["updated_at"], view(&user)["updated_at"]);
}

pub async fn a_restored_user_is_in_every_list(harness: Harness) {
    let body = json!({
        "username": "Ada", "name": "Ada L", "family_name": "Lovelace", "external_id": "7",
        "emails": [{"value": "ada@example.com"}, {"value": "second@example.com"}],
        "phone_numbers": [{"value": "+44 20 1"}, {"value": "+44 20 2"}],
    });
    let id = harness.user(body).await.id;
    harness.user(json!({"username": "other"})).await;
    harness.delete(id).await.expect("there");
    let text = |text: &str| Some(text.to_owned());
    let conditions = [
        Conditions { ids: Some(vec![id]), ..Conditions::default() },
        Conditions { username: Some(username_lookup("ada")), ..Conditions::default() },
        Conditions { email: Some(email_key("ADA@example.com")), ..Conditions::default() },
        Conditions { external_id: text("7"), ..Conditions::default() },
        Conditions { phone_number: Some(phone_key("+44201")), ..Conditions::default() },
    ];
    let filters = [
        "emails.value eq \"second@example.com\"",
        "phone_numbers.value eq \"+44 20 2\"",
        "family_name sw \"love\"",
    ];
    for there in [false, true] {
        if there {
            harness.restore(id).await.expect("free");
        }
        let expected = if there { vec!["Ada".to_owned()] } else { vec![] };
        for equals in &conditions {
            let query = equals.of(PageQuery::first(10));
            let seen: Vec<_> = harness.walk(query).await.iter().map(|user| user.id).collect();
            assert_eq!(seen, vec![id; expected.len()], "{equals:?}");
        }
        for filter in filters {
            assert_eq!(harness.filtered(filter).await, expected, "{filter}");
        }
        assert_eq!(harness.found("lovelace second").await, expected);
        for by in SortBy::ALL {
            for direction in DIRECTIONS {
                let seen = harness.walk(sorted(*by, direction, 1)).await;
                assert_eq!(seen.len(), 1 + expected.len(), "{by:?} {direction:?}");
            }
        }
    }
}

pub async fn a_restore_brings_the_groups_back_if_asked_to(harness: Harness) {
    let ada = harness.user(ada()).await.id;
    let grace = harness.user(json!({"username": "grace"})).await.id;
    let one = harness.group("one", &[ada, grace]).await;
    let two = harness.group("two", &[ada, grace]).await;
    let three = harness.group("three", &[ada]).await;
    let outer = harness.group("outer", &[one]).await;
    let of_ada = || async { harness.groups_of(ada).await.into_iter().map(|group| group.id) };
    let with_groups = || UserAct::Restore { id: ada, joins_groups: true };

    // This group was left before the deletion.
    harness.join(three, &[], &[ada]).await.expect("a member");
    harness.join(two, &[], &[grace]).await.expect("there");
    harness.delete(ada).await.expect("there");
    harness.join(outer, &[grace], &[]).await.expect("there");
    let outcome = harness.act_once(with_groups(), 7, 1).await.expect("deleted");
    let again = harness.act_once(with_groups(), 7, 1).await.expect("the stored result");
    assert_eq!(again, Outcome { replayed: true, ..outcome.clone() });
    assert_eq!(outcome.effect, Effect::Changed(EventKind::Restored));
    assert_eq!((outcome.stored.id, outcome.stored.version), (ada, 3));
    assert_eq!(of_ada().await.collect::<Vec<_>>(), [one, two]);
    let events = harness.events_after(outcome.position - 3, 10).await;
    let told: Vec<_> = events
        .iter()
        .map(|(_, event)| (event.kind, event.user_id, event.members.added.clone()))
        .collect();
    let expected = [
        (EventKind::Restored, ada, vec![]),
        (EventKind::GroupUpdated, one, vec![ada]),
        (EventKind::GroupUpdated, two, vec![ada]),
    ];
    assert_eq!(told, expected, "the position covers the groups");

    // A group that was deleted in the meantime stays away.
    harness.delete(ada).await.expect("there");
    harness.act(deleting_group(two)).await.expect("there");
    harness.act(with_groups()).await.expect("deleted");
    assert_eq!(of_ada().await.collect::<Vec<_>>(), [one]);

    // A restore without groups, then a deletion: there was nothing to leave.
    harness.delete(ada).await.expect("there");
    harness.restore(ada).await.expect("deleted");
    harness.delete(ada).await.expect("there");
    harness.act(with_groups()).await.expect("deleted");
    assert_eq!(of_ada().await.count(), 0);

    // In one transaction with other commands.
    harness.join(one, &[ada], &[]).await.expect("there");
    let acts = vec![deleting(ada), with_groups(), deleting(grace)];
    let results = harness.apply(acts).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let kind = MemberKind::User;
    assert_eq!(harness.members_of(one).await, Some(vec![Member { id: ada, kind }]));
}
