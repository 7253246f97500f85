//! Tenants: their rows, and that each has users of its own.

use roster_core::{
    Actor, Clock as _, EventKind, EventKinds, EventsQuery, GroupAct, Preconditions, Purged,
    Refusal, Rules, SchemaDraft, Status, Tenant, TenantId, TenantName, UserId,
    access::{
        ApiKey, Expiry, KeyAct, KeyChange, KeyDraft, KeyFailure, KeyRefusal, KeyView, Scope,
        Scopes, Token,
    },
    audit::tenant_subject,
    group::{GroupDraft, StatedKinds},
    list::PageQuery,
    tenant::{
        TenantAct, TenantChange, TenantCounts, TenantDecision, TenantDraft, TenantFailure,
        TenantQuery, TenantRefusal, TenantSelection,
    },
};
use serde_json::{Value, json};

use super::{
    erasure::erase_all,
    harness::{Harness, patching, tree},
    reads::Image,
};

pub const RULES: Rules = super::DEFAULT;

pub(crate) fn name(text: &str) -> TenantName {
    TenantName::parse(text).expect("a name")
}

fn draft(body: &Value) -> TenantDraft {
    TenantDraft::parse(&tree(body)).expect("a valid tenant")
}

pub(crate) async fn change(
    harness: &Harness,
    act: TenantAct,
) -> Result<TenantDecision, TenantRefusal> {
    try_out(harness, act, false).await
}

async fn try_out(
    harness: &Harness,
    act: TenantAct,
    is_dry_run: bool,
) -> Result<TenantDecision, TenantRefusal> {
    let (preconditions, at) = (Preconditions::default(), harness.clock.now());
    let (rules, caller) = (RULES, super::harness::caller());
    let change = TenantChange { act, preconditions, rules, at, caller, is_dry_run };
    let before = generation(harness).await;
    let result = match harness.store().change_tenant(change).await {
        Ok(decision) => Ok(decision),
        Err(TenantFailure::Refused(refusal)) => Err(refusal),
        Err(TenantFailure::Store(error)) => panic!("the store failed: {error:?}"),
    };
    let is_changed = !is_dry_run && result.as_ref().is_ok_and(|decision| decision.changes);
    assert_eq!(generation(harness).await != before, is_changed, "{result:?}");
    result
}

async fn generation(harness: &Harness) -> i64 {
    harness.store().tenants_generation().await.expect("the store answers")
}

pub(crate) async fn create(harness: &Harness, body: Value) -> Tenant {
    change(harness, TenantAct::Create(draft(&body))).await.expect("a new name").tenant
}

async fn patch(harness: &Harness, tenant: &str, body: Value) -> Tenant {
    let act = TenantAct::Patch(name(tenant), tree(&body));
    change(harness, act).await.expect("a valid patch").tenant
}

pub(crate) async fn find(harness: &Harness, tenant: &str) -> Option<(Tenant, TenantCounts)> {
    harness.store().tenant(name(tenant)).await.expect("the store answers")
}

/// A harness on the users of a tenant.
pub(super) async fn of(harness: &Harness, tenant: &Tenant) -> Harness {
    harness.on(harness.store().of_tenant(tenant.id).await.expect("the store answers"))
}

pub async fn a_tenant_is_found_by_its_name_as_it_was_changed_last(harness: Harness) {
    let body = json!({"name": "acme", "display_name": "Acme", "external_id": "7", "users_max": 5});
    let acme = create(&harness, body).await;
    assert_ne!(acme.id, TenantId::DEFAULT);
    assert_eq!(find(&harness, "acme").await, Some((acme.clone(), TenantCounts::default())));
    assert_eq!(find(&harness, "other").await, None);
    let again = change(&harness, TenantAct::Create(draft(&json!({"name": "acme"})))).await;
    assert_eq!(again, Err(TenantRefusal::NameTaken { is_deleted: false }));
    harness.clock.step(5);
    let body = json!({"status": "suspended", "external_id": null, "users_max": null});
    let suspended = patch(&harness, "acme", body).await;
    let expected = Tenant {
        version: 2,
        status: Status::Suspended,
        external_id: None,
        users_max: None,
        updated_at: harness.clock.now(),
        ..acme.clone()
    };
    assert_eq!(suspended, expected);
    assert_eq!(find(&harness, "acme").await.map(|(tenant, _)| tenant), Some(expected));
    let unknown = TenantAct::Patch(name("other"), tree(&json!({})));
    assert_eq!(change(&harness, unknown).await, Err(TenantRefusal::NotFound));
    let other = create(&harness, json!({"name": "other"})).await;
    assert_ne!(other.id, acme.id);
}

pub async fn a_dry_run_of_a_tenant_stores_nothing(harness: Harness) {
    let act = || TenantAct::Create(draft(&json!({"name": "acme"})));
    assert!(try_out(&harness, act(), true).await.expect("a new name").changes);
    assert_eq!(find(&harness, "acme").await, None);
    create(&harness, json!({"name": "acme"})).await;
    assert_eq!(
        try_out(&harness, act(), true).await,
        Err(TenantRefusal::NameTaken { is_deleted: false })
    );
    let act = TenantAct::Patch(name("acme"), tree(&json!({"display_name": "Acme"})));
    assert_eq!(try_out(&harness, act, true).await.expect("valid").tenant.version, 2);
    assert_eq!(find(&harness, "acme").await.map(|(tenant, _)| tenant.version), Some(1));
}

pub async fn tenants_are_listed_in_the_order_of_their_names(harness: Harness) {
    for (nth, tenant) in ["b", "a-2", "c", "a", "0"].into_iter().enumerate() {
        create(&harness, json!({"name": tenant, "external_id": format!("{}", nth % 2)})).await;
    }
    let list = async |external_id: Option<&str>| {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let of_id = |id: &str| TenantSelection::ExternalId(id.to_owned());
            let selection = external_id.map(of_id).unwrap_or_default();
            let query = TenantQuery { selection, after, limit: 2 };
            let page = harness.store().tenants(query).await.expect("the store answers");
            names.extend(page.items.iter().map(|(tenant, _)| tenant.name.to_string()));
            if !page.has_more {
                return names;
            }
            assert_eq!(page.items.len(), 2);
            after = page.items.last().map(|(tenant, _)| tenant.name.clone());
        }
    };
    assert_eq!(list(None).await, ["0", "a", "a-2", "b", "c"]);
    assert_eq!(list(Some("1")).await, ["a", "a-2"]);
    assert!(list(Some("2")).await.is_empty());
}

pub async fn tenants_have_users_of_their_own(harness: Harness) {
    let acme = create(&harness, json!({"name": "acme"})).await;
    let globex = create(&harness, json!({"name": "globex"})).await;
    let harnesses = [harness.clone(), of(&harness, &acme).await, of(&harness, &globex).await];
    let body = || json!({"username": "ada", "email": "ada@example.com", "external_id": "7"});
    let mut users = Vec::new();
    for tenant in &harnesses {
        let user = tenant.user(body()).await;
        let taken = tenant.create(body()).await;
        assert!(matches!(taken, Err(Refusal::Taken(_))), "{taken:?}");
        let act = GroupAct::Create {
            id: tenant.new_id(),
            draft: Box::new(GroupDraft::parse(tree(&json!({"display_name": "Staff"})))),
            members: [user.id].into(),
            kinds: StatedKinds::new(),
            otherwise: None,
        };
        tenant.act(act).await.expect("a new group");
        users.push(user);
    }
    let [_, of_acme, of_globex] = &harnesses;
    for (tenant, other) in [(of_acme, users[2].id), (&harness, users[1].id)] {
        assert_eq!(tenant.store().get(other).await.expect("the store answers"), None);
        assert_eq!(tenant.patch(other, json!({"title": "T"})).await, Err(Refusal::NotFound));
        assert_eq!(tenant.delete(other).await, Err(Refusal::NotFound));
    }
    of_acme.delete(users[1].id).await.expect("it is there");
    let counts = async |tenant: &str| find(&harness, tenant).await.expect("it is there").1;
    let counted = |users, deleted_users| TenantCounts { users, deleted_users, groups: 1 };
    assert_eq!([counts("acme").await, counts("globex").await], [counted(0, 1), counted(1, 0)]);
    let totals = harness.store().totals().await.expect("the store answers");
    assert_eq!((totals.active, totals.suspended, totals.deleted), (2, 0, 1));
    assert!(of_globex.create(body()).await.is_err());
    of_acme.user(body()).await;
    for tenant in [&harness, of_globex] {
        let page = tenant.store().page(PageQuery { count: true, ..PageQuery::first(10) }).await;
        assert_eq!(page.expect("the store answers").items.len(), 1);
        let events = tenant.store().events(EventsQuery::after(0, 10)).await;
        let mut page = events.expect("the store answers");
        page.retain(|event| !event.kind.is_audit());
        assert_eq!(page.events.len(), 2);
    }
}

pub async fn a_tenant_with_its_maximum_of_users_rejects_another(harness: Harness) {
    let acme = create(&harness, json!({"name": "acme", "users_max": 2})).await;
    let tenant = of(&harness, &acme).await;
    let ada = tenant.user(json!({"username": "ada"})).await;
    tenant.user(json!({"username": "grace", "status": "suspended"})).await;
    let third = || tenant.create(json!({"username": "edith"}));
    assert_eq!(third().await, Err(Refusal::QuotaExceeded));
    let taken = tenant.create(json!({"username": "ada"})).await;
    assert!(matches!(taken, Err(Refusal::Taken(_))), "{taken:?}");
    tenant.patch(ada.id, json!({"title": "T"})).await.expect("no new user");
    tenant.delete(ada.id).await.expect("it is there");
    let edith = third().await.expect("there is room").stored;
    assert_eq!(tenant.restore(ada.id).await, Err(Refusal::QuotaExceeded));
    patch(&harness, "acme", json!({"users_max": 1})).await;
    tenant.delete(edith.id).await.expect("it is there");
    assert_eq!(tenant.restore(ada.id).await, Err(Refusal::QuotaExceeded));
    patch(&harness, "acme", json!({"users_max": null})).await;
    tenant.restore(ada.id).await.expect("there is no maximum");
    // Several creates of one batch count together.
    patch(&harness, "acme", json!({"users_max": 4})).await;
    let acts = (0..4).map(|n| tenant.creating(&json!({"username": format!("u{n}")})));
    let results = tenant.apply(acts.collect()).await;
    let created = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(created, 2, "{results:?}");
    for n in 0..5 {
        harness.user(json!({"username": format!("u{n}")})).await;
    }
}

/// Gives a tenant some of everything. Returns a live and a deleted user.
async fn fill(harness: &Harness, tenant: &Tenant) -> [UserId; 2] {
    let of_tenant = of(harness, tenant).await;
    let act = of_tenant.creating(&json!({
        "username": "ada", "name": "Ada Lovelace", "external_id": "7",
        "emails": [{"value": "ada@example.com"}, {"value": "countess@example.com"}],
    }));
    let ada = of_tenant.act_once(act, 1, 1).await.expect("free").stored.id;
    for n in 0..1100 {
        of_tenant.patch(ada, json!({"title": format!("T{n}")})).await.expect("valid");
    }
    let grace = of_tenant.user(json!({"username": "grace", "status": "suspended"})).await.id;
    of_tenant.delete(grace).await.expect("it is there");
    let act = GroupAct::Create {
        id: of_tenant.new_id(),
        draft: Box::new(GroupDraft::parse(tree(&json!({"display_name": "Staff"})))),
        members: [ada].into(),
        kinds: StatedKinds::new(),
        otherwise: None,
    };
    of_tenant.act(act).await.expect("a new group");
    let schema = json!({"attributes": [{"name": "badge", "type": "string"}]});
    of_tenant.act(SchemaDraft::parse(tree(&schema))).await.expect("a valid schema");
    let token = Token::new(&*harness.clock).expect("a clock with bytes");
    let scopes: Scopes = [Scope::UsersRead].into_iter().collect();
    let now = harness.clock.now();
    let key = KeyDraft::of("of a tenant", scopes, Expiry::Default, now).expect("a valid key");
    let key = key.into_key(tenant.id, token.presented(), &Actor::Anonymous, now);
    change_keys(harness, tenant, KeyAct::Create(Box::new(key))).await.expect("there is room");
    [ada, grace]
}

async fn change_keys(
    harness: &Harness,
    tenant: &Tenant,
    act: KeyAct,
) -> Result<ApiKey, KeyRefusal> {
    let (view, at) = (KeyView::Tenant(tenant.id), harness.clock.now());
    let change = KeyChange { act, view, at, caller: super::harness::caller() };
    match harness.store().change_keys(change).await {
        Ok(key) => Ok(key),
        Err(KeyFailure::Refused(refusal)) => Err(refusal),
        Err(KeyFailure::Store(error)) => panic!("the store failed: {error:?}"),
    }
}

/// How many keys a tenant has.
async fn keys_of(harness: &Harness, tenant: &Tenant) -> usize {
    harness.store().keys(KeyView::Tenant(tenant.id)).await.expect("the store answers").len()
}

/// Everything in a tenant, without the position of the log, which other tenants change.
async fn content(harness: &Harness) -> Image {
    let mut image = harness.image().await;
    image.head.position = 0;
    image
}

async fn names(harness: &Harness, selection: TenantSelection) -> Vec<String> {
    let query = TenantQuery { selection, after: None, limit: 10 };
    let page = harness.store().tenants(query).await.expect("the store answers");
    page.items.iter().map(|(tenant, _)| tenant.name.to_string()).collect()
}

pub async fn a_deleted_tenant_is_kept_and_restored(harness: Harness) {
    let acme = create(&harness, json!({"name": "acme", "external_id": "7"})).await;
    create(&harness, json!({"name": "globex", "external_id": "7"})).await;
    let [ada, grace] = fill(&harness, &acme).await;
    let of_acme = of(&harness, &acme).await;
    let before = content(&of_acme).await;
    let delete = || TenantAct::Delete(name("acme"));
    assert!(try_out(&harness, delete(), true).await.expect("it is there").changes);
    assert_eq!(names(&harness, TenantSelection::Deleted).await, [""; 0]);
    harness.clock.step(5);
    let deleted = change(&harness, delete()).await.expect("it is there").tenant;
    assert_eq!((deleted.version, deleted.deleted_at), (2, Some(harness.clock.now())));
    assert_eq!(
        [
            names(&harness, TenantSelection::Live).await,
            names(&harness, TenantSelection::Deleted).await
        ],
        [["globex"], ["acme"]]
    );
    let counts = TenantCounts { users: 1, deleted_users: 1, groups: 1 };
    assert_eq!(find(&harness, "acme").await, Some((deleted.clone(), counts)));
    let selection = TenantSelection::ExternalId("7".to_owned());
    assert_eq!(names(&harness, selection).await, ["globex"]);

    assert_eq!(change(&harness, delete()).await, Err(TenantRefusal::NotFound));
    let again = TenantAct::Create(draft(&json!({"name": "acme"})));
    let refusal = TenantRefusal::NameTaken { is_deleted: true };
    assert_eq!(change(&harness, again).await, Err(refusal));
    let refused = Err(Refusal::TenantNotFound);
    assert_eq!(of_acme.create(json!({"username": "edith"})).await, refused);
    assert_eq!(of_acme.patch(ada, json!({"title": "T"})).await, refused);
    assert_eq!(of_acme.restore(grace).await, refused);
    assert_eq!(of(&harness, &acme).await.purge(grace).await, refused);
    let results = of_acme.apply(vec![patching(ada, &json!({"title": "T"})); 3]).await;
    assert_eq!(results, vec![refused; 3]);
    let token = Token::new(&*harness.clock).expect("a clock with bytes");
    let scopes: Scopes = [Scope::UsersRead].into_iter().collect();
    let now = harness.clock.now();
    let key = KeyDraft::of("too late", scopes, Expiry::Default, now).expect("a valid key");
    let key = key.into_key(acme.id, token.presented(), &Actor::Anonymous, now);
    let created = change_keys(&harness, &acme, KeyAct::Create(Box::new(key))).await;
    assert_eq!(created, Err(KeyRefusal::TenantNotFound));
    harness.user(json!({"username": "ada"})).await;

    let restored = change(&harness, TenantAct::Restore(name("acme"))).await.expect("it is kept");
    assert_eq!(restored.tenant, Tenant { version: 3, updated_at: now, ..acme.clone() });
    assert_eq!(names(&harness, TenantSelection::Live).await, ["acme", "globex"]);
    assert_eq!(content(&of_acme).await, before);
    of_acme.restore(grace).await.expect("it is kept");
    assert_eq!(keys_of(&harness, &acme).await, 1);
}

pub async fn a_purged_tenant_is_erased_and_its_name_is_free(harness: Harness) {
    let acme = create(&harness, json!({"name": "acme"})).await;
    let globex = create(&harness, json!({"name": "globex"})).await;
    fill(&harness, &globex).await;
    let of_globex = of(&harness, &globex).await;
    let before = content(&of_globex).await;
    let [ada, grace] = fill(&harness, &acme).await;
    let of_acme = of(&harness, &acme).await;
    let purge = || TenantAct::Purge(name("acme"));
    assert_eq!(change(&harness, purge()).await, Err(TenantRefusal::NotFound), "it is not deleted");
    change(&harness, TenantAct::Delete(name("acme"))).await.expect("it is there");
    assert!(try_out(&harness, purge(), true).await.expect("it is deleted").changes);
    assert!(find(&harness, "acme").await.is_some());
    let known = harness.store().changed_keys(None).await.expect("the store answers");
    let known = known.expect("all keys").generation;
    change(&harness, purge()).await.expect("it is deleted");
    let changed = harness.store().changed_keys(Some(known)).await.expect("the store answers");
    let changed: Vec<_> = changed.expect("a change").keys.into_values().collect();
    assert_eq!(changed.len(), 1, "its key");
    assert!(changed.iter().all(|key| key.revoked_at.is_some()), "{changed:?}");
    assert_eq!(find(&harness, "acme").await, None);
    assert_eq!(change(&harness, purge()).await, Err(TenantRefusal::NotFound));
    let totals = harness.store().totals().await.expect("the store answers");
    assert_eq!((totals.active, totals.suspended, totals.deleted), (1, 0, 1));

    let again = create(&harness, json!({"name": "acme"})).await;
    assert_ne!(again.id, acme.id);
    let of_again = of(&harness, &again).await;
    of_again.user(json!({"username": "ada"})).await;
    let image = content(&of_again).await;
    let pending = harness.store().pending_erasures().await.expect("the store answers");
    let about = Purged { tenant: TenantId::DEFAULT, user: Some(tenant_subject(acme.id)) };
    let whole = Purged { tenant: acme.id, user: None };
    assert!(pending.iter().all(|purged| [whole, about].contains(purged)), "{pending:?}");
    erase_all(&harness).await;
    assert_eq!((content(&of_globex).await, content(&of_again).await), (before, image));
    assert_eq!((of_acme.get(ada).await, of_acme.get_deleted(grace).await), (None, None));
    let page = of_acme.store().events(EventsQuery::after(0, 5000)).await.expect("it answers");
    assert!(page.events.iter().all(|(_, event)| event.record.is_empty()));
    assert_eq!((keys_of(&harness, &acme).await, keys_of(&harness, &globex).await), (0, 1));
    let edith = of_acme.create(json!({"username": "edith"})).await;
    assert_eq!(edith, Err(Refusal::TenantNotFound));
}

pub async fn the_events_of_all_tenants_have_one_order(harness: Harness) {
    let acme = create(&harness, json!({"name": "acme"})).await;
    let globex = create(&harness, json!({"name": "globex"})).await;
    let [of_acme, of_globex] = [of(&harness, &acme).await, of(&harness, &globex).await];
    let body = |n: usize| json!({"username": format!("u{n}")});
    for n in 0..3 {
        of_acme.user(body(n)).await;
        harness.user(body(n)).await;
        of_globex.user(body(n)).await;
    }
    let ada = of_acme.user(json!({"username": "ada"})).await;
    of_acme.delete(ada.id).await.expect("it is there");
    // The first two events are those of the tenants.
    let all = EventsQuery { all_tenants: true, ..EventsQuery::after(2, 100) };
    let page = harness.store().events(all.clone()).await.expect("the store answers");
    let positions: Vec<i64> = page.events.iter().map(|(position, _)| *position).collect();
    let last = page.head;
    assert_eq!(positions, (last - 10..=last).collect::<Vec<_>>(), "without gaps");
    assert_eq!(page.reached, last);
    // The cases also run in another tenant than the default one.
    let own = page.tenants[1].clone();
    let [of_acme_event, of_globex_event] =
        [&acme, &globex].map(|tenant| (tenant.id, Some(tenant.name.clone())));
    let three = [of_acme_event.clone(), own, of_globex_event];
    let mut expected: Vec<_> = three.iter().cycle().take(9).cloned().collect();
    expected.extend([of_acme_event.clone(), of_acme_event]);
    assert_eq!(page.tenants, expected);
    assert!(page.events.iter().all(|(_, event)| !event.record.is_empty()));

    // In parts, and of one kind.
    let (mut after, mut read) = (2, Vec::new());
    while after < last {
        let query = EventsQuery { after, limit: 2, ..all.clone() };
        let part = harness.store().events(query).await.expect("the store answers");
        assert_eq!(part.events.len(), part.tenants.len());
        read.extend(part.events.into_iter().zip(part.tenants));
        after = part.reached;
    }
    assert_eq!(read, page.events.into_iter().zip(page.tenants).collect::<Vec<_>>());
    let query = EventsQuery { kinds: EventKinds::only(EventKind::Deleted), ..all.clone() };
    let deleted = harness.store().events(query).await.expect("the store answers");
    assert_eq!((deleted.events.len(), deleted.tenants), (1, vec![expected[9].clone()]));
    assert_eq!(deleted.reached, last);

    change(&harness, TenantAct::Delete(name("acme"))).await.expect("it is there");
    change(&harness, TenantAct::Purge(name("acme"))).await.expect("it is deleted");
    let page = harness.store().events(all).await.expect("the store answers");
    for ((_, event), (tenant, name)) in page.events.iter().zip(&page.tenants) {
        if *tenant == acme.id {
            assert_eq!((name, event.record.is_empty()), (&None, true), "hidden before the erasure");
        } else {
            assert_eq!(event.record.is_empty(), event.kind.is_audit(), "about the purged one");
        }
    }
    assert_eq!(page.events.len(), 13, "the log has no gap");
}
