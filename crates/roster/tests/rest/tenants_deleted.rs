//! Deleting, restoring and purging tenants.

use roster_core::{Guard, Rules};
use serde_json::{Value, json};

use crate::service::{Backend, Service, Setup};

const ACME: &str = "/tenants/acme";
const DELETED: &str = "/deleted-tenants/acme";

/// A service whose requests have a key for all tenants, with the tenant `acme`, a user of it and a
/// key of it.
async fn with_acme(backend: &Backend) -> (Service, String) {
    let service = backend.open().await;
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme", "external_id": "cus_7"})).await;
    let scopes = ["users:read", "users:write", "keys:admin", "scim", "events:read"];
    let key = json!({"name": "of acme", "scopes": scopes});
    let key = service.request("POST", "/tenants/acme/keys").json(&key).send().await.expect(201);
    let user = json!({"username": "ada"});
    service.request("POST", "/tenants/acme/users").json(&user).send().await.expect(201);
    (service, key.json()["key"].as_str().expect("a key").to_owned())
}

pub(crate) async fn a_deleted_tenant_is_out_of_reach_until_it_is_restored(backend: Backend) {
    let (service, token) = with_acme(&backend).await;
    let before = service.get("/tenants/acme/users").await.expect(200).json();
    service.clock.step(1000);
    let deleted = service.delete(ACME).await.expect(204);
    assert_eq!((deleted.text(), deleted.find("etag")), ("", None));
    for target in [ACME, "/tenants/acme/users", "/tenants/acme/scim/v2/Users", "/tenants/acme/"] {
        service.get(target).await.expect(404);
        let own = service.request("GET", target).bearer(&token).send().await;
        assert_eq!(own.status(), if target == ACME { 403 } else { 404 }, "{target}");
    }
    let user = json!({"username": "grace"});
    let create = service.request("POST", "/tenants/acme/users").json(&user).send().await;
    create.refused(404, "tenant-not-found");
    service.delete(ACME).await.refused(404, "tenant-not-found");
    let again = service.request("POST", "/tenants").json(&json!({"name": "acme"})).send().await;
    let again = again.refused(409, "tenant-name-taken").json();
    assert_eq!(again["detail"], "a deleted tenant has this name; restore or purge it");
    let list = service.get("/tenants").await.expect(200).json();
    assert_eq!(list["items"], json!([]));
    let list = service.get("/tenants?external_id=cus_7").await.expect(200).json();
    assert_eq!(list["items"], json!([]));

    let kept = service.get(DELETED).await.expect(200);
    assert_eq!((kept.header("etag"), kept.header("cache-control")), ("\"2\"", "no-store"));
    let kept = kept.json();
    assert_eq!((&kept["users"], &kept["status"]), (&json!(1), &json!("active")));
    assert_eq!(kept["deleted_at"], "2026-01-01T00:00:01.000Z");
    assert_eq!(kept["purge_at"], "2026-01-31T00:00:01.000Z");
    let list = service.get("/deleted-tenants").await.expect(200).json();
    assert_eq!(list, json!({"items": [kept], "next_cursor": null}));

    let restore = service.request("POST", "/deleted-tenants/acme/restore");
    let restored = restore.send().await.expect(200);
    assert_eq!((restored.header("etag"), restored.header("content-location")), ("\"3\"", ACME));
    let restored = restored.json();
    assert_eq!((restored.get("deleted_at"), restored.get("purge_at")), (None, None));
    assert_eq!(service.get("/tenants/acme/users").await.expect(200).json(), before);
    let own = service.request("GET", "/tenants/acme/users").bearer(&token).send().await;
    own.expect(200);
    for (method, target) in [("GET", DELETED), ("DELETE", DELETED)] {
        let gone = service.request(method, target).send().await.refused(404, "tenant-not-found");
        assert_eq!(gone.json()["detail"], "no deleted tenant has this name");
    }
}

pub(crate) async fn a_purged_tenant_is_gone_and_its_name_is_free(backend: Backend) {
    let (service, token) = with_acme(&backend).await;
    service.delete(DELETED).await.refused(404, "tenant-not-found");
    service.delete(ACME).await.expect(204);
    service.delete(DELETED).await.expect(204);
    for target in [ACME, DELETED, "/tenants/acme/users"] {
        service.get(target).await.refused(404, "tenant-not-found");
    }
    let restore = service.request("POST", "/deleted-tenants/acme/restore").send().await;
    restore.refused(404, "tenant-not-found");
    for (target, detail) in
        [("/tenants/ACME", "no tenant"), ("/deleted-tenants/ACME", "no deleted tenant")]
    {
        let refused = service.get(target).await.refused(404, "tenant-not-found").json();
        assert_eq!(refused["detail"], format!("{detail} has this name"));
    }
    for target in ["/users", "/tenants/acme/users"] {
        let own = service.request("GET", target).bearer(&token).send().await;
        own.refused(401, "unauthenticated");
    }
    // A new tenant of the name is another one: the key of the old one does not reach it.
    let again = service.tenant(json!({"name": "acme"})).await;
    assert_eq!((&again["version"], again.get("external_id")), (&json!(1), None));
    let users = service.get("/tenants/acme/users").await.expect(200).json();
    assert_eq!(users["items"], json!([]));
    let own = service.request("GET", "/tenants/acme/users").bearer(&token).send().await;
    own.refused(401, "unauthenticated");
}

pub(crate) async fn nothing_of_a_purged_tenant_fits_another_of_its_name(backend: Backend) {
    let (service, _) = with_acme(&backend).await;
    let create = async |name: &str| {
        let user = json!({"username": name});
        service.request("POST", "/tenants/acme/users").json(&user).send().await.expect(201);
    };
    create("grace").await;
    let list = "/tenants/acme/users?limit=1&sort=username";
    let page = service.get(list).await.expect(200);
    let cursor = page.json()["next_cursor"].as_str().expect("more").to_owned();
    for target in [ACME, DELETED] {
        service.delete(target).await.expect(204);
    }
    service.tenant(json!({"name": "acme"})).await;
    let tag = page.header("etag").to_owned();
    let again = service.request("GET", list).header("if-none-match", &tag).send().await;
    assert_eq!(again.expect(200).json()["items"], json!([]));
    create("edith").await;
    let moved = service.get(&format!("{list}&cursor={cursor}")).await;
    moved.refused(400, "invalid-cursor");
}

pub(crate) async fn a_deletion_of_a_tenant_checks_its_version(backend: Backend) {
    let (service, _) = with_acme(&backend).await;
    let send = async |method: &str, target: &str, tags: &str| {
        service.request(method, target).header("if-match", tags).send().await
    };
    send("DELETE", ACME, "\"7\"").await.refused(412, "version-mismatch");
    send("DELETE", ACME, "\"1\"").await.expect(204);
    send("DELETE", DELETED, "\"1\"").await.refused(412, "version-mismatch");
    let restore = "/deleted-tenants/acme/restore";
    send("POST", restore, "\"1\"").await.refused(412, "version-mismatch");
    for (method, target) in [("DELETE", DELETED), ("POST", restore)] {
        let request = service.request(method, target).header("idempotency-key", "one");
        request.send().await.refused(400, "invalid-idempotency-key");
    }
    send("POST", restore, "\"2\"").await.expect(200);
    send("DELETE", ACME, "\"3\"").await.expect(204);
    send("DELETE", DELETED, "\"4\"").await.expect(204);
}

pub(crate) async fn deleted_tenants_are_paged_by_name(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    for name in ["b", "a", "c"] {
        service.deleted_tenant(name).await;
        service.tenant(json!({"name": format!("{name}-live")})).await;
    }
    let (mut target, mut names) = ("/deleted-tenants?limit=2".to_owned(), Vec::new());
    loop {
        let page = service.get(&target).await.expect(200).json();
        let items = page["items"].as_array().expect("items").iter();
        names.extend(items.map(|one| one["name"].as_str().expect("a name").to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let other = service.get(&format!("/tenants?cursor={cursor}")).await;
        other.refused(400, "invalid-cursor");
        target = format!("/deleted-tenants?limit=2&cursor={cursor}");
    }
    assert_eq!(names, ["a", "b", "c"]);
    let unknown = service.get("/deleted-tenants?external_id=7").await;
    unknown.refused(400, "invalid-query");
}

pub(crate) async fn a_dry_run_deletes_no_tenant(backend: Backend) {
    let (service, _) = with_acme(&backend).await;
    let dry = async |method: &str, target: &str| {
        let request = service.request(method, &format!("{target}?dry_run=true"));
        let reply = request.send().await.expect(200);
        assert_eq!((reply.header("dry-run"), reply.find("etag")), ("true", None));
        reply.json()
    };
    let would: Value = dry("DELETE", ACME).await;
    assert_eq!((&would["version"], &would["name"]), (&json!(2), &json!("acme")));
    assert!(would["deleted_at"].is_string());
    service.get("/tenants/acme/users").await.expect(200);
    service.delete(ACME).await.expect(204);
    let restored = dry("POST", "/deleted-tenants/acme/restore").await;
    assert_eq!((&restored["version"], restored.get("deleted_at")), (&json!(3), None));
    let purged = dry("DELETE", DELETED).await;
    let mut stored = service.get(DELETED).await.expect(200).json();
    for counter in ["users", "deleted_users", "groups"] {
        stored.as_object_mut().expect("an object").remove(counter);
    }
    assert_eq!(purged, stored);
    assert_eq!(service.get(DELETED).await.expect(200).json()["version"], 2);
}

pub(crate) async fn guards_cover_tenants(backend: Backend) {
    let rules = Rules { put: Guard::On, delete: Guard::On, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme", "display_name": "Acme"})).await;
    let send = async |method: &str, target: &str, tag: Option<&str>| {
        let request = service.request(method, target);
        let request = tag.into_iter().fold(request, |one, tag| one.header("if-match", tag));
        let has_body = method == "PUT";
        let request = if has_body { request.json(&json!({"users_max": 5})) } else { request };
        request.send().await
    };
    for (method, target, tag, status) in [
        ("PUT", ACME, "\"1\"", 200),
        ("DELETE", ACME, "\"2\"", 204),
        ("DELETE", DELETED, "\"3\"", 204),
    ] {
        send(method, target, None).await.refused(428, "precondition-required");
        send(method, target, Some(tag)).await.expect(status);
    }
}
