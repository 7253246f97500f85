//! Groups: their records, their members, and the events of both.

use std::collections::BTreeSet;

use roster_core::{
    Clock as _, Effect, EventKind, GroupId, GroupRefusal, Member, MemberKind, MembersChanged,
    Outcome, Preconditions, Refusal, Rules, Tags, UserId, ViolationCode,
    group::{
        GroupAct, GroupDraft, GroupEdit, GroupQuery, GroupRef, MembersEdit, MembersQuery,
        StatedKinds,
    },
    limits::{GROUP_DEPTH_MAX, GROUP_MEMBERS_CHANGE_MAX},
};
use serde_json::{Value, json};

use super::{
    grouping::joining,
    harness::{Harness, faults, only_if, restoring, tree, view},
};
use crate::replay::replay_groups;

pub const RULES: Rules = super::DEFAULT;

type CommandResult = Result<Outcome, Refusal>;

fn replacing(id: GroupId, body: &Value) -> GroupAct {
    let edit = GroupEdit::Replace(Box::new(GroupDraft::parse(tree(body))));
    GroupAct::Change { id, edit, members: MembersEdit::Keep, kinds: StatedKinds::new() }
}

fn patching(id: GroupId, body: &Value) -> GroupAct {
    let edit = GroupEdit::Patch(Box::new(tree(body)));
    GroupAct::Change { id, edit, members: MembersEdit::Keep, kinds: StatedKinds::new() }
}

fn all(id: GroupId, members: &[UserId]) -> GroupAct {
    let members = MembersEdit::All(members.iter().copied().collect());
    GroupAct::Change { id, edit: GroupEdit::Keep, members, kinds: StatedKinds::new() }
}

fn group(refusal: GroupRefusal) -> CommandResult {
    Err(Refusal::Group(refusal))
}

async fn users<const N: usize>(harness: &Harness) -> [UserId; N] {
    let mut ids = [UserId::from_bytes([0; 16]); N];
    for (number, id) in ids.iter_mut().enumerate() {
        *id = harness.user(json!({"username": format!("user {number}")})).await.id;
    }
    ids
}

fn user(id: UserId) -> Member {
    Member { id, kind: MemberKind::User }
}

pub async fn a_created_group_is_read_back_unchanged(harness: Harness) {
    let body = json!({"display_name": "Core Team", "external_id": "A-7"});
    let outcome = harness.act(harness.grouping(&body, &[])).await.expect("valid");
    assert_eq!(outcome.effect, Effect::Changed(EventKind::GroupCreated));
    let id = outcome.stored.id;
    let moment = id.created_at().to_string();
    let record = json!({"id": id.to_string(), "version": 1, "display_name": "Core Team",
        "external_id": "A-7", "member_count": 0, "created_at": moment, "updated_at": moment});
    assert_eq!(view(&outcome.stored), record);
    assert_eq!(harness.group_now(id).await, Some(outcome.stored));
    assert_eq!(harness.group_now(harness.new_id()).await, None);
    assert_eq!(harness.members_of(id).await, Some(Vec::new()));
    assert_eq!(harness.members_of(harness.new_id()).await, None);
    assert_eq!(harness.get(id).await, None, "a group is not a user");
    assert_eq!(harness.head().await.live(), 0);
}

pub async fn a_group_name_is_unique_by_its_key(harness: Harness) {
    let one = harness.group("Straße", &[]).await;
    let conflict = harness.grouping(&json!({"display_name": "STRASSE"}), &[]);
    assert_eq!(harness.act(conflict).await, group(GroupRefusal::NameTaken));
    let other = harness.group("Allee", &[]).await;
    let rename = patching(other, &json!({"display_name": "strasse"}));
    assert_eq!(harness.act(rename.clone()).await, group(GroupRefusal::NameTaken));
    let respelt = patching(one, &json!({"display_name": "STRASSE"}));
    assert_eq!(harness.act(respelt).await.expect("a group keeps its own name").stored.version, 2);
    harness.act(GroupAct::Delete { id: one }).await.expect("it exists");
    harness.act(rename).await.expect("the name is free");
}

pub async fn a_group_that_has_the_name_is_changed_if_the_command_says_how(harness: Harness) {
    let ada = harness.user(json!({"username": "ada"})).await.id;
    let bob = harness.user(json!({"username": "bob"})).await.id;
    let otherwise = |edit, members| Some(Box::new((edit, members)));
    let create = |name: &str, members: &[UserId], then| {
        let act = harness.grouping(&json!({"display_name": name}), members);
        let GroupAct::Create { id, draft, members, .. } = act else { unreachable!() };
        GroupAct::Create { id, draft, members, kinds: StatedKinds::new(), otherwise: then }
    };
    let adding = |user| MembersEdit::Delta { added: [user].into(), removed: [].into() };
    let patch = GroupEdit::Patch(Box::new(tree(&json!({"external_id": "x"}))));
    // Nobody has the name yet, so the group is created.
    let act = create("Core", &[ada], otherwise(patch.clone(), adding(bob)));
    let first = harness.act(act).await.expect("a new group");
    assert_eq!(first.effect, Effect::Changed(EventKind::GroupCreated));
    let act = create("CORE", &[], otherwise(patch, adding(bob)));
    let merged = harness.act(act).await.expect("the same group");
    assert_eq!((merged.stored.id, merged.stored.version), (first.stored.id, 2));
    assert_eq!(view(&merged.stored)["external_id"], "x");
    let members = harness.members_of(first.stored.id).await.expect("it exists");
    assert_eq!(members.iter().map(|member| member.id).collect::<Vec<_>>(), [ada, bob]);
    let kept = create("core", &[], otherwise(GroupEdit::Keep, MembersEdit::Keep));
    let kept = harness.act(kept).await.expect("nothing to do");
    assert_eq!((kept.effect, kept.stored.version), (Effect::Unchanged, 2));
    let act = create("core", &[], otherwise(GroupEdit::Keep, adding(harness.new_id())));
    assert!(harness.act(act).await.is_err(), "the change of the group follows the rules");
    assert_eq!(harness.preview(create("core", &[], None)).await, group(GroupRefusal::NameTaken));
    let all = MembersEdit::All([bob].into());
    let preview = harness.preview(create("core", &[], otherwise(GroupEdit::Keep, all))).await;
    assert_eq!(preview.expect("a change").stored.version, 3);
    assert_eq!(harness.group_now(first.stored.id).await.expect("it exists").version, 2);
}

pub async fn writes_of_groups_follow_the_rules_of_users(harness: Harness) {
    let body = json!({"display_name": "one", "external_id": "x"});
    let id = harness.act(harness.grouping(&body, &[])).await.expect("valid").stored.id;
    harness.clock.step(5);
    let same = replacing(id, &body);
    assert_eq!(harness.act(same).await.expect("valid").effect, Effect::Unchanged);
    let outcome = harness.act(patching(id, &json!({"external_id": null}))).await;
    let outcome = outcome.expect("valid");
    assert_eq!(outcome.effect, Effect::Changed(EventKind::GroupUpdated));
    assert_eq!(view(&outcome.stored)["updated_at"], json!(harness.clock.now().to_string()));
    let stale = Preconditions { if_match: Some(Tags::Versions(vec![1])), if_none_match: None };
    let two = json!({"display_name": "two"});
    let mismatch = Err(Refusal::VersionMismatch { current: 2 });
    assert_eq!(harness.act(only_if(replacing(id, &two), stale.clone())).await, mismatch);
    assert_eq!(harness.act(only_if(GroupAct::Delete { id }, stale)).await, mismatch);
    let stale = json!({"display_name": "two", "version": 1});
    assert_eq!(harness.act(replacing(id, &stale)).await, mismatch);
    let faulty = replacing(id, &json!({"name": 1}));
    let expected = [
        ("/name".to_owned(), ViolationCode::UnknownMember),
        ("/display_name".to_owned(), ViolationCode::Required),
    ];
    assert_eq!(faults(harness.act(faulty).await), expected);
    let unknown_id = harness.new_id();
    for act in [
        GroupAct::Delete { id: unknown_id },
        patching(unknown_id, &two),
        joining(unknown_id, &[], &[]),
    ] {
        assert_eq!(harness.act(act).await, group(GroupRefusal::NotFound));
    }
}

pub async fn adding_or_removing_a_member_changes_only_the_group(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let id = harness.group("team", &[grace]).await;
    let outcome = harness.join(id, &[linus, ada, grace], &[]).await.expect("the members exist");
    assert_eq!(outcome.stored.version, 2);
    assert_eq!(harness.members_of(id).await, Some(vec![user(ada), user(grace), user(linus)]));
    assert_eq!(harness.get(ada).await.expect("it exists").version, 1, "the member does not change");
    let (position, event) = harness.events().await.pop().expect("an event");
    assert_eq!((position, event.user_id, event.version), (outcome.position, id, 2));
    let joined = MembersChanged { added: vec![ada, linus], removed: Vec::new() };
    assert_eq!(
        (event.members, event.changed),
        (joined, Vec::new()),
        "the event has the changed members only"
    );
    let nothing = harness.join(id, &[ada], &[harness.new_id()]).await.expect("no change is valid");
    assert_eq!((nothing.effect, nothing.stored.version), (Effect::Unchanged, 2));
    harness.join(id, &[], &[ada, grace]).await.expect("they are members");
    assert_eq!(harness.members_of(id).await, Some(vec![user(linus)]));
    let (_, event) = harness.events().await.pop().expect("an event");
    assert_eq!(event.members, MembersChanged { added: Vec::new(), removed: vec![ada, grace] });
}

pub async fn all_members_can_be_replaced_together(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let id = harness.group("team", &[ada, grace]).await;
    harness.act(all(id, &[grace, linus])).await.expect("the members exist");
    let (_, event) = harness.events().await.pop().expect("an event");
    assert_eq!(event.members, MembersChanged { added: vec![linus], removed: vec![ada] });
    assert_eq!(harness.members_of(id).await, Some(vec![user(grace), user(linus)]));
    let same = harness.act(all(id, &[linus, grace])).await.expect("the members exist");
    assert_eq!(same.effect, Effect::Unchanged);
    harness.act(all(id, &[])).await.expect("valid");
    assert_eq!(harness.members_of(id).await, Some(Vec::new()));
}

pub async fn an_unknown_id_cannot_become_a_member(harness: Harness) {
    let [ada, grace] = users(&harness).await;
    harness.delete(grace).await.expect("it exists");
    let unknown_id = harness.new_id();
    let id = harness.group("team", &[]).await;
    let before = harness.image().await;
    let unknown = |ids: &[UserId]| group(GroupRefusal::UnknownMembers(ids.to_vec()));
    assert_eq!(
        harness.join(id, &[ada, grace, unknown_id], &[]).await,
        unknown(&[grace, unknown_id])
    );
    let act = harness.grouping(&json!({"display_name": "other"}), &[unknown_id]);
    assert_eq!(harness.act(act).await, unknown(&[unknown_id]));
    assert_eq!(harness.image().await, before, "nothing is stored");
    assert_eq!(harness.members_of(id).await, Some(Vec::new()));
}

pub async fn a_deleted_user_leaves_its_groups_and_a_restore_does_not_rejoin_them(harness: Harness) {
    let [ada, grace] = users(&harness).await;
    let one = harness.group("one", &[ada, grace]).await;
    let two = harness.group("two", &[ada]).await;
    let named = |id, name: &str| GroupRef { id, display_name: name.to_owned() };
    assert_eq!(harness.groups_of(ada).await, [named(one, "one"), named(two, "two")]);
    let outcome = harness.delete(ada).await.expect("it exists");
    assert_eq!(outcome.effect, Effect::Changed(EventKind::Deleted));
    let events = harness.events_after(outcome.position - 3, 10).await;
    let seen: Vec<_> =
        events.iter().map(|(_, event)| (event.kind, event.user_id, event.version)).collect();
    let expected = [
        (EventKind::GroupUpdated, one, 2),
        (EventKind::GroupUpdated, two, 2),
        (EventKind::Deleted, ada, 2),
    ];
    assert_eq!(seen, expected, "the event of the user comes last");
    assert_eq!(events[0].1.members.removed, [ada]);
    assert_eq!(harness.members_of(one).await, Some(vec![user(grace)]));
    harness.restore(ada).await.expect("deleted");
    assert_eq!(harness.groups_of(ada).await, []);
    assert_eq!(harness.members_of(two).await, Some(Vec::new()));
    harness.join(two, &[ada], &[]).await.expect("the user is restored");
    assert_eq!(harness.groups_of(ada).await, [named(two, "two")]);
}

pub async fn several_users_leave_one_group_in_one_batch(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let id = harness.group("team", &[ada, grace, linus]).await;
    let acts = vec![
        super::harness::deleting(ada),
        restoring(ada),
        super::harness::deleting(ada),
        super::harness::deleting(grace),
    ];
    let results = harness.apply(acts).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let stored = harness.group_now(id).await.expect("it exists");
    assert_eq!(stored.version, 3, "each removed member adds one version");
    assert_eq!(harness.members_of(id).await, Some(vec![user(linus)]));
    assert_replays(&harness).await;
}

pub async fn a_deleted_group_leaves_the_groups_it_was_in(harness: Harness) {
    let [ada] = users(&harness).await;
    let inner = harness.group("inner", &[ada]).await;
    let outer = harness.group("outer", &[inner]).await;
    let kind = MemberKind::Group;
    assert_eq!(harness.members_of(outer).await, Some(vec![Member { id: inner, kind }]));
    let outcome = harness.act(GroupAct::Delete { id: inner }).await.expect("it exists");
    assert_eq!(outcome.effect, Effect::Changed(EventKind::GroupDeleted));
    assert_eq!((outcome.stored.id, outcome.stored.version), (inner, 2));
    assert_eq!(harness.members_of(inner).await, None);
    assert_eq!(harness.members_of(outer).await, Some(Vec::new()));
    assert_eq!(harness.groups_of(ada).await, []);
    let seen: Vec<_> = harness.events().await.into_iter().map(|(_, event)| event.kind).collect();
    let tail = [EventKind::GroupUpdated, EventKind::GroupDeleted];
    assert!(seen.ends_with(&tail), "{seen:?}");
    assert_eq!(harness.act(GroupAct::Delete { id: inner }).await, group(GroupRefusal::NotFound));
    assert_replays(&harness).await;
}

pub async fn cycles_of_groups_are_rejected(harness: Harness) {
    let one = harness.group("one", &[]).await;
    let two = harness.group("two", &[one]).await;
    let three = harness.group("three", &[two]).await;
    let cycle = || group(GroupRefusal::Cycle);
    assert_eq!(harness.join(one, &[one], &[]).await, cycle());
    assert_eq!(harness.join(one, &[two], &[]).await, cycle());
    assert_eq!(harness.join(one, &[three], &[]).await, cycle());
    assert_eq!(harness.act(all(one, &[three])).await, cycle());
    harness.join(three, &[one], &[]).await.expect("two paths to one group are not a cycle");
    harness.join(three, &[], &[two]).await.expect("it exists");
    assert_eq!(harness.join(one, &[three], &[]).await, cycle(), "through the other path");
    harness.join(three, &[], &[one]).await.expect("it exists");
    harness.join(one, &[three], &[]).await.expect("there is no cycle any more");
}

pub async fn groups_can_be_nested_up_to_the_maximum_depth(harness: Harness) {
    let mut chain = vec![harness.group("level 1", &[]).await];
    for level in 2..=GROUP_DEPTH_MAX {
        let below = *chain.last().expect("one");
        chain.push(harness.group(&format!("level {level}"), &[below]).await);
    }
    let too_deep = || group(GroupRefusal::TooDeep);
    let (bottom, top) = (chain[0], *chain.last().expect("one"));
    let act = harness.grouping(&json!({"display_name": "above all"}), &[top]);
    assert_eq!(harness.act(act).await, too_deep());
    let single = harness.group("single", &[]).await;
    assert_eq!(harness.join(bottom, &[single], &[]).await, too_deep());
    assert_eq!(harness.join(single, &[top], &[]).await, too_deep());
    harness.join(top, &[single], &[]).await.expect("it is not part of the chain");
    let pair = harness.group("pair", &[chain[3]]).await;
    assert_eq!(harness.join(chain[4], &[pair], &[]).await, too_deep(), "in the middle");
}

pub async fn one_of_two_concurrent_joins_that_form_a_cycle_is_rejected(harness: Harness) {
    for round in 0..8 {
        let one = harness.group(&format!("one {round}"), &[]).await;
        let two = harness.group(&format!("two {round}"), &[]).await;
        let first = harness.clone();
        let second = harness.clone();
        let first = tokio::spawn(async move { first.join(one, &[two], &[]).await });
        let second = tokio::spawn(async move { second.join(two, &[one], &[]).await });
        let results =
            [first.await.expect("the task completes"), second.await.expect("the task completes")];
        let won = results.iter().filter(|result| result.is_ok()).count();
        let refused = results.iter().filter(|result| **result == group(GroupRefusal::Cycle));
        assert_eq!((won, refused.count()), (1, 1), "{results:?}");
    }
}

pub async fn a_concurrently_deleted_user_does_not_stay_a_member(harness: Harness) {
    for round in 0..8 {
        let ada = harness.user(json!({"username": format!("ada {round}")})).await.id;
        let id = harness.group(&format!("team {round}"), &[]).await;
        let first = harness.clone();
        let second = harness.clone();
        let join = tokio::spawn(async move { first.join(id, &[ada], &[]).await });
        let delete = tokio::spawn(async move { second.delete(ada).await });
        let joined = join.await.expect("the task completes");
        delete.await.expect("the task completes").expect("the user exists");
        let unknown = group(GroupRefusal::UnknownMembers(vec![ada]));
        assert!(joined.is_ok() || joined == unknown, "{joined:?}");
        assert_eq!(harness.members_of(id).await, Some(Vec::new()));
    }
    assert_replays(&harness).await;
}

pub async fn too_many_members_in_a_request_are_rejected(harness: Harness) {
    let id = harness.group("team", &[]).await;
    let many: Vec<UserId> = (0..=GROUP_MEMBERS_CHANGE_MAX).map(|_| harness.new_id()).collect();
    let too_many = [("/members".to_owned(), ViolationCode::TooMany)];
    assert_eq!(faults(harness.join(id, &many, &[]).await), too_many);
    assert_eq!(faults(harness.act(all(id, &many)).await), too_many);
    let fewer = &many[1..];
    let seen = harness.join(id, fewer, &[]).await;
    assert!(matches!(seen, Err(Refusal::Group(GroupRefusal::UnknownMembers(_)))), "{seen:?}");
}

pub async fn a_page_of_members_has_the_group_the_total_and_the_next_id(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let group = harness.group("team", &[ada, grace, linus]).await;
    let page = harness.members_page(MembersQuery { group, after: None, limit: 2 }).await;
    let page = page.expect("it exists");
    assert_eq!((page.total, page.next, page.group.version), (3, Some(grace), 1));
    assert_eq!(page.position, harness.head().await.position);
    let query = MembersQuery { group, after: Some(grace), limit: 1 };
    let page = harness.members_page(query).await.expect("it exists");
    assert_eq!((page.items, page.next), (vec![user(linus)], None));
    let none = MembersQuery { group, after: None, limit: 0 };
    let page = harness.members_page(none).await.expect("it exists");
    assert_eq!((page.total, page.items, page.next), (3, Vec::new(), None));
}

pub async fn the_groups_of_many_users_are_read_together(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let one = harness.group("one", &[ada, grace]).await;
    let two = harness.group("two", &[grace, one]).await;
    let of = harness.groups_of_many(vec![linus, grace, ada, one]).await;
    let ids = |id| of.get(&id).map(|groups| groups.iter().map(|group| group.id).collect());
    assert_eq!(ids(ada), Some(vec![one]));
    assert_eq!(ids(grace), Some(vec![one, two]));
    assert_eq!(ids(one), Some(vec![two]), "only direct groups");
    assert_eq!(ids(linus), None);
}

/// More memberships than the SQLite engine reads on the thread of the request.
pub async fn many_groups_of_many_users_are_complete(harness: Harness) {
    let all: [UserId; 21] = users(&harness).await;
    let mut groups = Vec::new();
    for number in 0..10 {
        groups.push(harness.group(&format!("team {number}"), &all).await);
    }
    let of = harness.groups_of_many(all.to_vec()).await;
    for user in &all {
        let ids = |groups: &Vec<GroupRef>| groups.iter().map(|group| group.id).collect();
        assert_eq!(of.get(user).map(ids), Some(groups.clone()));
    }
}

pub async fn a_repeated_group_command_is_executed_once(harness: Harness) {
    let [ada] = users(&harness).await;
    let send = |act: GroupAct, (key, fingerprint)| harness.act_once(act, key, fingerprint);
    let body = json!({"display_name": "team"});
    let made = send(harness.grouping(&body, &[]), (1, 1)).await.expect("valid");
    let again = send(harness.grouping(&body, &[]), (1, 1)).await.expect("replayed");
    assert_eq!(again, Outcome { replayed: true, ..made.clone() });
    let reused = send(harness.grouping(&body, &[]), (1, 2)).await;
    assert_eq!(reused, Err(Refusal::KeyReused));
    let id = made.stored.id;
    let joined = send(joining(id, &[ada], &[]), (2, 2)).await.expect("the member exists");
    harness.join(id, &[], &[ada]).await.expect("it exists");
    let again = send(joining(id, &[ada], &[]), (2, 2)).await.expect("replayed");
    assert_eq!((again.stored, again.replayed), (joined.stored.clone(), true));
    let recalled =
        harness.recall(2, 2).await.expect("a group keeps its own name").expect("it is stored");
    assert_eq!((recalled.stored, recalled.replayed), (joined.stored, true));
    assert_eq!(harness.members_of(id).await, Some(Vec::new()), "a replay changes nothing");
    let nothing = send(joining(id, &[], &[ada]), (3, 3)).await.expect("no change is valid");
    assert_eq!(nothing.effect, Effect::Unchanged);
    let again = send(joining(id, &[], &[ada]), (3, 3)).await.expect("replayed");
    assert_eq!(again, Outcome { replayed: true, ..nothing });
    let act = harness.creating(&json!({"username": "b"}));
    assert_eq!(
        harness.act_once(act, 1, 9).await,
        Err(Refusal::KeyReused),
        "users and groups share the idempotency keys"
    );
}

pub async fn a_dry_run_of_a_group_command_stores_nothing(harness: Harness) {
    let [ada] = users(&harness).await;
    let id = harness.group("team", &[]).await;
    let before = harness.image().await;
    let body = json!({"display_name": "Team"});
    let conflict = harness.preview(harness.grouping(&body, &[])).await;
    assert_eq!(conflict, group(GroupRefusal::NameTaken));
    let tried = harness.preview(joining(id, &[ada], &[])).await.expect("the member exists");
    assert_eq!((tried.stored.version, tried.position), (2, before.head.position));
    let tried = harness.preview(GroupAct::Delete { id }).await.expect("it exists");
    assert_eq!(tried.effect, Effect::Changed(EventKind::GroupDeleted));
    assert_eq!(harness.image().await, before);
    assert_eq!(harness.members_of(id).await, Some(Vec::new()));
}

pub async fn the_log_replays_to_the_groups(harness: Harness) {
    let [ada, grace, linus] = users(&harness).await;
    let one = harness.group("one", &[ada, grace]).await;
    let two = harness.group("two", &[one, linus]).await;
    harness.join(one, &[linus], &[grace]).await.expect("the members exist");
    harness.act(patching(two, &json!({"display_name": "zwei"}))).await.expect("valid");
    harness.delete(linus).await.expect("it exists");
    harness.group("three", &[two, ada]).await;
    harness.act(GroupAct::Delete { id: two }).await.expect("it exists");
    assert_replays(&harness).await;
}

/// Asserts that replaying the log gives exactly the stored groups and their members.
pub(crate) async fn assert_replays(harness: &Harness) {
    let events = harness.events().await.into_iter().map(|(_, event)| event);
    let replayed = replay_groups(events);
    let ids: Vec<GroupId> = replayed.keys().copied().collect();
    assert_eq!(harness.walk_groups(GroupQuery::first(3)).await, ids, "the log has all groups");
    for (id, (stored, member_ids)) in replayed {
        let group = harness.group_now(id).await;
        assert_eq!(group, Some(stored), "the log has the record of each group");
        let members = harness.members_of(id).await.unwrap_or_default();
        let members: BTreeSet<UserId> = members.into_iter().map(|member| member.id).collect();
        assert_eq!(members, member_ids, "the log has the members of each group");
    }
}
