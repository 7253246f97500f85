//! Tenants of one store: no read and no write of one sees the rows of another, whatever ids and
//! names these have.

use std::sync::Arc;

use futures_util::future::join_all;
use roster_core::{
    Command, Effect, Erasure, EventKind, EventKinds, EventsQuery, Failure, GroupStore, Purged,
    Refusal, SchemaDraft, Store, TenantId, ViolationCode,
    group::{GroupAct, GroupDraft, GroupEdit, GroupQuery, MembersEdit, MembersQuery, StatedKinds},
    list::{DeletedQuery, PageQuery, Total},
    store::StoreFaults,
    words::words_of_text,
};
use roster_engine::{Table, digest, rows as rows_of};
use roster_testkit::{Conditions, postgres::Schema};
use tokio::{join, time::Duration};

use super::{
    checking::told_after,
    support::{
        apply, assert_sound, beside, command, create, delete, id, once, open, patch, purge,
        restore, schema, settings, tree,
    },
};
use crate::{
    Connector, Postgres, Settings,
    load::{Load, Source},
    reads::rows::Rows,
};

/// Creates the tenant 7, with its event.
const CREATE_TENANT: &str = r#"
INSERT INTO tenants VALUES (7, 'seven', 1, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0, 0, 0);
UPDATE log_head SET position = position + 1;
INSERT INTO events SELECT position, 0, 'tenant.created', 0, 'system', 'r',
    '00000000-0000-0000-0000-007400000007', 1, '',
    '{"name":"seven","version":1,"status":"active","created_at":"1970-01-01T00:00:00.000Z"'
    || ',"updated_at":"1970-01-01T00:00:00.000Z"}' FROM log_head"#;

/// A store with two tenants: the default one, and another.
async fn two_tenants() -> (Schema, [Postgres; 2]) {
    let schema = schema();
    let store = open(&schema.url()).await;
    beside(&schema.url()).await.batch_execute(CREATE_TENANT).await.unwrap();
    let other = store.of(TenantId::new(7).unwrap()).await.unwrap();
    (schema, [store, other])
}

fn user(n: u64, title: &str) -> String {
    format!(
        r#"{{"username":"u{n}","name":"Ada Nr{n}","emails":[{{"value":"u{n}@x.example",
        "primary":true}},{{"value":"w{n}@x.example"}}],"external_id":"e{n}","title":"{title}"}}"#
    )
}

fn create_group(n: u64, name: &str) -> Command {
    let draft = Box::new(GroupDraft::of(Some(name.to_owned()), Some("x".to_owned())));
    let members = [id(1), id(2)].into();
    let kinds = StatedKinds::new();
    command(n, GroupAct::Create { id: id(50), draft, members, kinds, otherwise: None })
}

/// Creates users 1 to 4, of which 4 is deleted, and a group of 1 and 2.
async fn fill(store: &Postgres, title: &str) {
    for n in 1..=4 {
        apply(store, once(n, create(n, &user(n, title)))).await.unwrap();
    }
    apply(store, delete(5, 4)).await.unwrap();
    apply(store, once(6, create_group(6, title))).await.unwrap();
}

fn is_of(record: &[u8], title: &str) -> bool {
    String::from_utf8_lossy(record).contains(&format!("\"{title}\""))
}

/// Every read finds the rows of [`fill`] with this title, and no others.
async fn assert_reads(store: &Postgres, title: &str) {
    let head = store.head().await.unwrap();
    assert_eq!((head.active, head.suspended, head.deleted), (3, 0, 1));
    assert!(is_of(&store.get(id(1)).await.unwrap().unwrap().record, title));
    assert!(is_of(&store.get_deleted(id(4)).await.unwrap().unwrap().stored.record, title));
    let deleted = store.deleted_page(DeletedQuery::first(9)).await.unwrap();
    assert_eq!((deleted.items.len(), deleted.total), (1, 1));
    let by = |condition: Conditions| condition.of(PageQuery::first(9));
    let none = Conditions::default;
    for (query, found) in [
        (PageQuery { count: true, ..PageQuery::first(9) }, 3),
        (by(Conditions { ids: Some(vec![id(1), id(2)]), ..none() }), 2),
        (by(Conditions { username: Some("u2".to_owned()), ..none() }), 1),
        (by(Conditions { email: Some("u2@x.example".to_owned()), ..none() }), 1),
        (by(Conditions { external_id: Some("e2".to_owned()), ..none() }), 1),
        (PageQuery { words: words_of_text("nr2"), count: true, ..PageQuery::first(9) }, 1),
    ] {
        let page = store.page(query.clone()).await.unwrap();
        assert_eq!(page.items.len(), found, "{query:?}");
        assert!(page.items.iter().all(|item| is_of(&item.record, title)), "{query:?}");
        assert!(
            page.total.is_none_or(|total| total == Total::Exactly(u64::try_from(found).unwrap())),
            "{query:?}"
        );
    }
    let group = store.group(id(50)).await.unwrap().unwrap();
    assert!(is_of(&group.record, title));
    for query in [
        GroupQuery { count: true, ..GroupQuery::first(9) },
        GroupQuery { external_id: Some("x".to_owned()), count: true, ..GroupQuery::first(9) },
        GroupQuery { member: Some(id(1)), ..GroupQuery::first(9) },
        GroupQuery { ids: Some(vec![id(50)]), ..GroupQuery::first(9) },
    ] {
        let page = store.groups(query.clone()).await.unwrap();
        assert_eq!(page.items, std::slice::from_ref(&group), "{query:?}");
        assert!(page.total.is_none_or(|total| total == Total::Exactly(1)), "{query:?}");
    }
    let query = MembersQuery { group: id(50), after: None, limit: 9 };
    let members = store.members(query).await.unwrap().unwrap();
    assert_eq!((members.total, members.items.len()), (2, 2));
    assert_eq!(store.groups_of(vec![id(1)]).await.unwrap()[&id(1)].len(), 1);
    for (user_id, count) in [(None, 6), (Some(id(1)), 1), (Some(id(50)), 1)] {
        let query = EventsQuery { user_id, ..EventsQuery::after(0, 100) };
        let mut page = store.events(query).await.unwrap();
        page.retain(|event| !event.kind.is_audit());
        assert_eq!((page.events.len(), page.reached), (count, page.head));
        assert!(page.events.iter().all(|(_, event)| is_of(&event.record, title)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_with_the_same_ids_and_names_do_not_see_each_other() {
    let (schema, [one, other]) = two_tenants().await;
    join!(fill(&one, "One"), fill(&other, "Other"));
    assert_reads(&one, "One").await;
    assert_reads(&other, "Other").await;
    let known = assert_sound(&schema.url()).await;
    // A repeated request has the result of its own tenant.
    let again = apply(&one, once(1, create(1, &user(1, "One")))).await.unwrap();
    assert!(again.replayed && is_of(&again.stored.record, "One"));
    assert_eq!(assert_sound(&schema.url()).await, known);
    // All of these change the rows of one tenant only.
    apply(&one, patch(20, 1, r#"{"title":"New","username":"u9"}"#)).await.unwrap();
    apply(&one, restore(21, 4)).await.unwrap();
    for n in [1, 2, 4] {
        apply(&one, delete(22, n)).await.unwrap();
        apply(&one, purge(23, n)).await.unwrap();
    }
    let edit = GroupEdit::Patch(Box::new(tree(r#"{"display_name":"New"}"#)));
    let members = MembersEdit::All([id(3)].into());
    let kinds = StatedKinds::new();
    let act = GroupAct::Change { id: id(50), edit, members, kinds };
    apply(&one, command(24, act)).await.unwrap();
    apply(&one, command(25, GroupAct::Delete { id: id(50) })).await.unwrap();
    assert_reads(&other, "Other").await;
    let head = one.head().await.unwrap();
    assert_eq!((head.active, head.suspended, head.deleted), (1, 0, 0));
    assert_eq!(one.groups_of(vec![id(1)]).await.unwrap().len(), 0);
    // What one tenant has given up stays taken in the other.
    apply(&one, create(30, &user(2, "Again"))).await.unwrap();
    let refused = apply(&other, create(30, &user(2, "Again"))).await;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::Taken(_)))), "{refused:?}");
    assert_sound(&schema.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_erasure_of_a_user_leaves_the_user_of_another_tenant_with_its_id() {
    let (schema, [one, other]) = two_tenants().await;
    for store in [&one, &other] {
        apply(store, once(1, create(1, &user(1, "T")))).await.unwrap();
        let patches = (0..1200).map(|at| patch(at, 1, &format!(r#"{{"title":"T{at}"}}"#)));
        let results = store.apply(patches.collect()).await;
        assert!(results.iter().all(Result::is_ok));
        apply(store, delete(2000, 1)).await.unwrap();
    }
    apply(&other, purge(2001, 1)).await.unwrap();
    let pending = [Purged { tenant: TenantId::new(7).unwrap(), user: Some(id(1)) }];
    assert_eq!(one.pending_erasures().await.unwrap(), pending);
    let of_default = Purged { tenant: TenantId::DEFAULT, user: Some(id(1)) };
    let shown = async |store: &Postgres| {
        let page = store.events(EventsQuery::after(0, 5000)).await.unwrap();
        let of_users = page.events.iter().filter(|(_, event)| event.kind.is_of_user());
        of_users.filter(|(_, event)| !event.record.is_empty()).count()
    };
    for steps in [Erasure::Pending, Erasure::Done] {
        assert_eq!((shown(&one).await, shown(&other).await), (1202, 0));
        assert_eq!(one.erase(of_default).await.unwrap(), Erasure::Waiting);
        assert_eq!(one.erase(pending[0]).await.unwrap(), steps);
    }
    assert_eq!((shown(&one).await, shown(&other).await), (1202, 0));
    let again = apply(&one, once(1, create(1, &user(1, "T")))).await.unwrap();
    assert!(again.replayed, "its idempotency record is left");
    assert_sound(&schema.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_executes_waiting_requests_of_several_tenants() {
    let schema = schema();
    let url = schema.url();
    let one_writer = Settings { write_connections: 1, ..settings(&url) };
    let one = Postgres::open(one_writer).await.unwrap();
    let client = beside(&url).await;
    client.batch_execute(CREATE_TENANT).await.unwrap();
    let other = one.of(TenantId::new(7).unwrap()).await.unwrap();
    client.batch_execute("BEGIN; SELECT FROM log_head FOR UPDATE").await.unwrap();
    let write = async |n: u64| {
        let (store, title) = if n.is_multiple_of(2) { (&one, "One") } else { (&other, "Other") };
        let result = apply(store, create(n / 2, &user(n / 2, title))).await.unwrap();
        assert!(is_of(&result.stored.record, title));
        result.position
    };
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        client.batch_execute("COMMIT").await.unwrap();
    };
    let (mut positions, ()) = join!(join_all((2..42).map(write)), release);
    positions.sort_unstable();
    assert!(positions.iter().copied().eq(2..=41), "{positions:?}");
    for store in [&one, &other] {
        assert_eq!(store.head().await.unwrap().active, 20);
    }
    assert_eq!(assert_sound(&url).await, 41);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_of_several_tenants_do_not_wait_for_each_other_in_a_circle() {
    let (schema, tenants) = two_tenants().await;
    let url = schema.url();
    let second = open(&url).await;
    let second = [second.clone(), second.of(TenantId::new(7).unwrap()).await.unwrap()];
    join!(fill(&tenants[0], "One"), fill(&tenants[1], "Other"));
    let clients = (0..16_u64).map(async |client| {
        let process = if client.is_multiple_of(2) { &tenants } else { &second };
        for turn in 0..20 {
            let store = &process[usize::from((client + turn) % 4 < 2)];
            let n = 1000 + client * 100 + turn;
            let members =
                MembersEdit::Delta { added: [id(3)].into(), removed: [id(1 + turn % 2)].into() };
            let (edit, kinds) = (GroupEdit::Keep, StatedKinds::new());
            let act = GroupAct::Change { id: id(50), edit, members, kinds };
            let commands = vec![create(n, &user(n, "T")), command(n, act), delete(n, n)];
            for result in store.apply(commands).await {
                assert!(result.is_ok(), "{result:?}");
            }
        }
    });
    join_all(clients).await;
    for store in [&tenants[0], &second[0]] {
        let faults = store.faults();
        assert_eq!(faults.lock_timeouts, StoreFaults::default().lock_timeouts);
        assert_eq!(faults.commits_in_doubt, 0);
    }
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_events_ends_where_it_has_read_to() {
    let (_schema, [one, other]) = two_tenants().await;
    for round in 0..6 {
        for (store, count) in [(&one, 1 + round % 3), (&other, 4 - round % 3)] {
            for turn in 0..count {
                let n = 10 * round + turn + 1;
                apply(store, create(n, &user(n, "T"))).await.unwrap();
                apply(store, patch(n, 1, &format!(r#"{{"title":"{n}"}}"#))).await.unwrap();
            }
        }
    }
    for store in [&one, &other] {
        let all = store.events(EventsQuery::after(0, 1000)).await.unwrap().events;
        assert!(all.len() > 20);
        for user_id in [None, Some(id(1)), Some(id(90))] {
            let only = EventKinds::only;
            for kinds in [EventKinds::ALL, only(EventKind::Created), only(EventKind::Purged)] {
                let is_wanted = |event: &roster_core::Event| {
                    kinds.has(event.kind) && user_id.is_none_or(|id| event.user_id == id)
                };
                let wanted: Vec<_> =
                    all.iter().filter(|(_, event)| is_wanted(event)).cloned().collect();
                for (limit, examined_max, bytes_max) in
                    [(1, 100, 9999), (3, 1, 9999), (3, 2, 9999), (2, 7, 9999), (50, 100, 300)]
                {
                    let first = EventsQuery { kinds, user_id, ..EventsQuery::after(0, limit) };
                    let query = EventsQuery { examined_max, bytes_max, ..first };
                    assert_eq!(walked(store, query.clone()).await, wanted, "{query:?}");
                }
            }
        }
    }
}

/// The events of all pages. Each page ends at an event, or behind its last one.
async fn walked(store: &Postgres, mut query: EventsQuery) -> Vec<(i64, roster_core::Event)> {
    let mut events = Vec::new();
    loop {
        let page = store.events(query.clone()).await.unwrap();
        assert!(page.events.len() <= query.limit);
        let within = |(position, _): &(i64, _)| (query.after + 1..=page.reached).contains(position);
        assert!(page.events.iter().all(within), "{query:?}");
        assert!(page.reached > query.after || page.reached == page.head, "{query:?}");
        events.extend(page.events);
        if page.reached == page.head {
            return events;
        }
        query.after = page.reached;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_users_is_that_of_its_tenant_in_every_process() {
    let (schema, [one, other]) = two_tenants().await;
    let url = schema.url();
    let process = open(&url).await;
    let same = process.of(TenantId::new(7).unwrap()).await.unwrap();
    let behind = open(&url).await;
    let declared = r#"{"attributes":[{"name":"badge","type":"string","required":true}]}"#;
    let replaced = apply(&other, command(1, SchemaDraft::parse(tree(declared)))).await.unwrap();
    assert_eq!(replaced.effect, Effect::Changed(EventKind::SchemaUpdated));
    // It comes into use in a process that has not seen the change.
    let behind = behind.of(TenantId::new(7).unwrap()).await.unwrap();
    assert_eq!(behind.schema(), other.schema());
    for (store, is_free) in [(&one, true), (&process, true), (&other, false), (&same, false)] {
        for n in [2, 3] {
            let result = apply(store, create(n, &user(n, "T"))).await;
            match result {
                Err(Failure::Refused(Refusal::Invalid(violations))) => {
                    let codes = violations.into_iter().map(|violation| violation.code);
                    assert!(codes.eq([ViolationCode::Required]));
                    assert!(!is_free);
                }
                _ => assert!(is_free, "{result:?}"),
            }
        }
    }
    for (store, version) in [(&one, 1), (&process, 1), (&other, 2), (&same, 2)] {
        assert_eq!(store.schema().version, version);
    }
    // A tenant that comes into use later has its stored schema.
    let late = open(&url).await.of(TenantId::new(7).unwrap()).await.unwrap();
    assert_eq!(late.schema(), other.schema());
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_reads_only_the_schemas_that_changed() {
    let (schema, [_one, other]) = two_tenants().await;
    let process = open(&schema.url()).await;
    let same = process.of(TenantId::new(7).unwrap()).await.unwrap();
    let [before, changed] = [process.schema(), same.schema()];
    let declared = r#"{"attributes":[{"name":"badge","type":"string"}]}"#;
    apply(&other, command(1, SchemaDraft::parse(tree(declared)))).await.unwrap();
    same.renew_schema().await.unwrap();
    assert!(Arc::ptr_eq(&process.schema(), &before));
    assert_ne!(same.schema(), changed);
    assert_eq!(same.schema(), other.schema());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_what_is_wrong_in_any_tenant() {
    let (schema, [one, other]) = two_tenants().await;
    let url = schema.url();
    join!(fill(&one, "One"), fill(&other, "Other"));
    let client = beside(&url).await;
    for (damage, fault) in [
        (
            "UPDATE tenants SET active = 9 WHERE id = 7",
            "tenants.active of 7: is 9, but there are 3",
        ),
        (
            "UPDATE tenants SET groups = 9 WHERE id = 7",
            "tenants.groups of 7: is 9, but there are 1",
        ),
        ("DELETE FROM tenants WHERE id = 7", "users: 3 rows have no tenant"),
        ("UPDATE tenants SET status = 3 WHERE id = 7", "users: 3 rows have no tenant"),
        ("UPDATE tenants SET status = 3 WHERE id = 7", "events: 6 rows have no tenant"),
        ("UPDATE words SET tenant = 8 WHERE tenant = 7", "words: 18 rows have no tenant"),
        ("UPDATE events SET tenant = 0 WHERE tenant = 7 AND kind = 'user.deleted'", "events of "),
        ("UPDATE users SET name_key = 'x' WHERE tenant = 7", "name_key is not the record's"),
        ("DELETE FROM group_members WHERE tenant = 7", "members is 2, but there are 0"),
    ] {
        let told = told_after(&client, &url, damage).await;
        assert!(told.contains(fault), "{damage}: {told}");
    }
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tenants_are_loaded_into_an_empty_database() {
    let (source, [one, other]) = two_tenants().await;
    join!(fill(&one, "One"), fill(&other, "Other"));
    let connection = Connector::parse(&source.url()).unwrap().connect().await.unwrap();
    let target = schema();
    let connector = Connector::parse(&target.url()).unwrap();
    // The rows that a service creates in an empty database are replaced.
    open(&target.url()).await.close().await;
    let position = assert_sound(&source.url()).await;
    let rows = Vec::new();
    let begun = Load::begin(&connector, Source { log_id: one.log_id(), position, rows }).await;
    let mut load = begun.unwrap();
    for table in Table::ALL {
        let sql = table.select::<Rows<'_>>(false);
        let rows = rows_of(Rows::of_store(&connection), &sql, &[]).await.unwrap();
        load.add(table, rows).await.unwrap();
        let expected = digest(Rows::of_store(&connection), table).await.unwrap();
        assert_eq!(load.digest(table).await.unwrap(), expected, "{}", table.name);
    }
    for index in load.indexes().await.unwrap() {
        load.make_index(&index).await.unwrap();
    }
    load.finish().await.unwrap();
    assert_eq!(assert_sound(&target.url()).await, position);
    let one = open(&target.url()).await;
    let other = one.of(TenantId::new(7).unwrap()).await.unwrap();
    assert_reads(&one, "One").await;
    assert_reads(&other, "Other").await;
    apply(&other, patch(40, 1, r#"{"title":"New"}"#)).await.unwrap();
    assert_sound(&target.url()).await;
}
