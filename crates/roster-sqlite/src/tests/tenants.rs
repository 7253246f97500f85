//! Two tenants of one store with the same ids, names and addresses.

use roster_core::{
    Actor, Caller, Erasure, EventKind, EventsQuery, Failure, GroupStore as _, Head, OnConflict,
    Purged, Refusal, SchemaDraft, Store, TenantId, TenantStore as _, Timestamp,
    group::{GroupQuery, MembersQuery},
    list::{DeletedQuery, PageQuery},
    tenant::{TenantAct, TenantChange, TenantDraft, TenantName},
};

use super::support::{
    apply, command, create, create_group, delete, id, open, or, patch, purge, settings, tree,
};
use crate::{Sqlite, check, purge::erasure};

const ADA: &str = r#"{"username":"ada","email":"ada@example.com","external_id":"7","name":"Ada"}"#;

/// A store with the tenants 1 and 2.
pub(super) async fn store(directory: &std::path::Path) -> (Sqlite, [Sqlite; 2]) {
    let store = open(directory);
    for name in ["one", "two"] {
        let draft = TenantDraft::parse(&tree(&format!(r#"{{"name":"{name}"}}"#))).unwrap();
        change_tenant(&store, TenantAct::Create(draft)).await;
    }
    let tenants = [1, 2].map(|number| store.of(TenantId::new(number).unwrap()).unwrap());
    (store, tenants)
}

async fn change_tenant(store: &Sqlite, act: TenantAct) {
    let (preconditions, rules) = Default::default();
    let change = TenantChange {
        act,
        preconditions,
        rules,
        at: Timestamp::from_millis(1),
        caller: Caller { actor: Actor::System, request_id: "r".to_owned() },
        is_dry_run: false,
    };
    store.change_tenant(change).await.unwrap();
}

/// The kinds of the events about users and groups.
async fn events(store: &Sqlite) -> Vec<EventKind> {
    let page = store.events(EventsQuery::after(0, 100)).await.unwrap();
    assert_eq!(page.reached, page.head, "the end of the log");
    let kinds = page.events.into_iter().map(|(_, event)| event.kind);
    kinds.filter(|kind| !kind.is_audit()).collect()
}

async fn counts(store: &Sqlite) -> (i64, i64, i64) {
    let Head { active, suspended, deleted, .. } = store.head().await.unwrap();
    (active, suspended, deleted)
}

#[tokio::test]
async fn tenants_with_the_same_ids_and_names_do_not_see_each_other() {
    use EventKind::{Created, Deleted, GroupCreated, GroupUpdated, Updated};

    let directory = tempfile::tempdir().unwrap();
    let (default, [one, two]) = store(directory.path()).await;
    for store in [&default, &one, &two] {
        apply(store, create(1, ADA)).await.unwrap();
        apply(store, create_group(2, "Staff", &[1])).await.unwrap();
    }
    let taken = apply(&one, create(3, ADA)).await;
    assert!(matches!(taken, Err(Failure::Refused(Refusal::Taken(_)))), "{taken:?}");
    apply(&one, patch(4, 1, r#"{"name":"Eve","status":"suspended"}"#)).await.unwrap();
    apply(&two, delete(5, 1)).await.unwrap();

    let name = async |store: &Sqlite| {
        let stored = store.get(id(1)).await.unwrap()?;
        let record = String::from_utf8(stored.record.to_vec()).unwrap();
        Some(record.contains("Eve"))
    };
    assert_eq!(name(&default).await, Some(false));
    assert_eq!(name(&one).await, Some(true));
    assert_eq!(name(&two).await, None);
    assert!(two.get_deleted(id(1)).await.unwrap().is_some());
    assert!(one.get_deleted(id(1)).await.unwrap().is_none());
    assert_eq!([counts(&default).await, counts(&one).await], [(1, 0, 0), (0, 1, 0)]);
    assert_eq!(counts(&two).await, (0, 0, 1));

    assert_eq!(events(&default).await, [Created, GroupCreated]);
    assert_eq!(events(&one).await, [Created, GroupCreated, Updated]);
    assert_eq!(events(&two).await, [Created, GroupCreated, GroupUpdated, Deleted]);
    for (store, members, deleted) in [(&default, 1, 0), (&one, 1, 0), (&two, 0, 1)] {
        let page = store.page(PageQuery { count: true, ..PageQuery::first(10) }).await.unwrap();
        assert_eq!(page.items.len(), members);
        let query = MembersQuery { group: id(2), after: None, limit: 10 };
        assert_eq!(store.members(query).await.unwrap().unwrap().items.len(), members);
        let groups = store.groups(GroupQuery { count: true, ..GroupQuery::first(10) }).await;
        assert_eq!(groups.unwrap().items.len(), 1);
        assert_eq!(store.groups_of(vec![id(1)]).await.unwrap().len(), members);
        let kept = store.deleted_page(DeletedQuery::first(10)).await.unwrap();
        assert_eq!((kept.items.len(), kept.total), (deleted, deleted.try_into().unwrap()));
    }
    drop((default, one, two));
    let findings = check(directory.path()).unwrap();
    assert!(findings.is_sound(), "{findings}");
}

#[tokio::test]
async fn requests_of_several_tenants_share_a_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, two]) = store(directory.path()).await;
    let stores = [default, one, two];
    let writes = (0..60).map(|n| {
        let store = stores[n % 3].clone();
        let n = u64::try_from(n / 3).unwrap();
        let user = format!(r#"{{"username":"user {n}"}}"#);
        async move { apply(&store, create(n + 1, &user)).await }
    });
    for result in futures_util::future::join_all(writes).await {
        result.unwrap();
    }
    for store in &stores {
        assert_eq!(counts(store).await, (20, 0, 0));
        assert_eq!(events(store).await.len(), 20);
    }
}

#[tokio::test]
async fn a_purge_erases_the_history_of_one_tenant() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, _]) = store(directory.path()).await;
    for store in [&default, &one] {
        apply(store, create(1, ADA)).await.unwrap();
        for at in 2..1200 {
            apply(store, patch(at, 1, &format!(r#"{{"title":"{at}"}}"#))).await.unwrap();
        }
        apply(store, delete(1300, 1)).await.unwrap();
    }
    apply(&one, purge(1400, 1)).await.unwrap();
    let pending = default.pending_erasures().await.unwrap();
    assert_eq!(pending, [Purged { tenant: TenantId::new(1).unwrap(), user: Some(id(1)) }]);
    while default.erase(pending[0]).await.unwrap() != Erasure::Done {}
    let records = async |store: &Sqlite| {
        let page = store.events(EventsQuery::after(0, 5000)).await.unwrap();
        let of_users = page.events.iter().filter(|(_, event)| event.kind.is_of_user());
        of_users.filter(|(_, event)| !event.record.is_empty()).count()
    };
    assert_eq!(records(&default).await, 1200);
    assert_eq!(records(&one).await, 0);
    drop((default, one));
    assert!(check(directory.path()).unwrap().is_sound());
}

#[tokio::test]
async fn a_tenant_that_is_being_erased_is_no_fault() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, _]) = store(directory.path()).await;
    // More rows than a step erases, in each table.
    let users: Vec<u64> = (1..=2 * erasure::SQL.rows_of_tenant_max.unsigned_abs()).collect();
    for n in &users {
        let user =
            format!(r#"{{"username":"u{n}","name":"Ada {n}","phone_number":"+49301{n:05}"}}"#);
        apply(&one, create(*n, &user)).await.unwrap();
    }
    apply(&one, create_group(1000, "Core", &users)).await.unwrap();
    let name = || TenantName::parse("one").unwrap();
    change_tenant(&default, TenantAct::Delete(name())).await;
    change_tenant(&default, TenantAct::Purge(name())).await;
    let whole = Purged { tenant: TenantId::new(1).unwrap(), user: None };
    let mut steps = 0;
    while default.erase(whole).await.unwrap() != Erasure::Done {
        let findings = check(directory.path()).unwrap();
        assert!(findings.is_sound(), "{findings}");
        steps += 1;
    }
    assert!(steps > 10, "{steps}");
}

#[tokio::test]
async fn a_schema_is_that_of_one_tenant_also_after_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, two]) = store(directory.path()).await;
    let draft = SchemaDraft::parse(tree(r#"{"attributes":[{"name":"badge","type":"string"}]}"#));
    apply(&one, command(1, draft)).await.unwrap();
    assert_eq!([one.schema().version, two.schema().version, default.schema().version], [2, 1, 1]);
    drop((default, one, two));
    let store = Sqlite::open(settings(directory.path())).unwrap();
    let versions =
        [0, 1, 2].map(|number| store.of(TenantId::new(number).unwrap()).unwrap().schema().version);
    assert_eq!(versions, [1, 2, 1]);
}

#[tokio::test]
async fn an_upsert_meets_users_of_its_tenant_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (default, [one, _]) = store(directory.path()).await;
    apply(&default, create(1, ADA)).await.unwrap();
    let outcome = apply(&one, or(OnConflict::Merge, create(2, ADA))).await.unwrap();
    assert_eq!(outcome.stored.id, id(2));
}
