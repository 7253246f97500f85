//! Tenants: their rows, and that each has users of its own.

use roster_core::{
    Clock as _, EventsQuery, GroupAct, Preconditions, Refusal, Rules, Status, Tenant, TenantId,
    TenantName,
    group::{GroupDraft, StatedKinds},
    list::PageQuery,
    tenant::{
        TenantAct, TenantChange, TenantCounts, TenantDecision, TenantDraft, TenantFailure,
        TenantQuery, TenantRefusal,
    },
};
use serde_json::{Value, json};

use super::harness::{Harness, tree};

pub const RULES: Rules = super::DEFAULT;

fn name(text: &str) -> TenantName {
    TenantName::parse(text).expect("a name")
}

fn draft(body: &Value) -> TenantDraft {
    TenantDraft::parse(&tree(body)).expect("a valid tenant")
}

async fn change(harness: &Harness, act: TenantAct) -> Result<TenantDecision, TenantRefusal> {
    try_out(harness, act, false).await
}

async fn try_out(
    harness: &Harness,
    act: TenantAct,
    is_dry_run: bool,
) -> Result<TenantDecision, TenantRefusal> {
    let (preconditions, at) = (Preconditions::default(), harness.clock.now());
    let change = TenantChange { act, preconditions, at, is_dry_run };
    match harness.store().change_tenant(change).await {
        Ok(decision) => Ok(decision),
        Err(TenantFailure::Refused(refusal)) => Err(refusal),
        Err(TenantFailure::Store(error)) => panic!("the store failed: {error:?}"),
    }
}

async fn create(harness: &Harness, body: Value) -> Tenant {
    change(harness, TenantAct::Create(draft(&body))).await.expect("a new name").tenant
}

async fn patch(harness: &Harness, tenant: &str, body: Value) -> Tenant {
    let act = TenantAct::Patch(name(tenant), tree(&body));
    change(harness, act).await.expect("a valid patch").tenant
}

async fn find(harness: &Harness, tenant: &str) -> Option<(Tenant, TenantCounts)> {
    harness.store().tenant(name(tenant)).await.expect("the store answers")
}

/// A harness on the users of a tenant.
async fn of(harness: &Harness, tenant: &Tenant) -> Harness {
    harness.on(harness.store().of_tenant(tenant.id).await.expect("the store answers"))
}

pub async fn a_tenant_is_found_by_its_name_as_it_was_changed_last(harness: Harness) {
    let body = json!({"name": "acme", "display_name": "Acme", "external_id": "7", "users_max": 5});
    let acme = create(&harness, body).await;
    assert_ne!(acme.id, TenantId::DEFAULT);
    assert_eq!(find(&harness, "acme").await, Some((acme.clone(), TenantCounts::default())));
    assert_eq!(find(&harness, "other").await, None);
    let again = change(&harness, TenantAct::Create(draft(&json!({"name": "acme"})))).await;
    assert_eq!(again, Err(TenantRefusal::NameTaken));
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
    assert_eq!(try_out(&harness, act(), true).await, Err(TenantRefusal::NameTaken));
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
            let external_id = external_id.map(str::to_owned);
            let query = TenantQuery { after, external_id, limit: 2 };
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
        assert_eq!(events.expect("the store answers").events.len(), 2);
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
