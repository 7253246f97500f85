//! Tenants as a resource: creating, listing, getting, replacing and patching them, and who may.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
};

const ACME: &str = "/tenants/acme";

async fn send(service: &Service, method: &str, target: &str, body: &Value) -> Reply {
    service.request(method, target).json(body).send().await
}

/// A service whose requests have a key for all tenants, with the tenant `acme`.
async fn with_acme(backend: &Backend) -> Service {
    let service = backend.open().await;
    service.close_as_operator().await;
    let body = json!({"name": "acme", "display_name": "Acme", "external_id": "cus_7"});
    service.tenant(body).await;
    service
}

pub(crate) async fn a_tenant_is_created_read_and_changed(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let body = json!({"name": "acme", "display_name": " Acme ", "users_max": 5, "status": null});
    let made = send(&service, "POST", "/tenants", &body).await.expect(201);
    assert_eq!((made.header("location"), made.header("etag")), (ACME, "\"1\""));
    assert_eq!(made.header("cache-control"), "no-store");
    let mut expected = json!({
        "name": "acme", "version": 1, "status": "active", "display_name": "Acme", "users_max": 5,
        "base_url": "http://roster.test/tenants/acme",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
    });
    assert_eq!(made.json(), expected);

    let read = service.get(ACME).await.expect(200);
    assert_eq!((read.header("etag"), read.header("cache-control")), ("\"1\"", "no-store"));
    for counter in ["users", "deleted_users", "groups"] {
        expected[counter] = json!(0);
    }
    assert_eq!(read.json(), expected);

    service.clock.step(1000);
    // The response to a GET is a valid body: only what the service sets is ignored.
    let mut body = read.json();
    body["external_id"] = json!("cus_7");
    body["users"] = json!(700);
    let replaced = send(&service, "PUT", ACME, &body).await.expect(200);
    assert_eq!((replaced.header("etag"), &replaced.json()["version"]), ("\"2\"", &json!(2)));
    assert_eq!(replaced.json()["updated_at"], "2026-01-01T00:00:01.000Z");
    let merge = r#"{"status":"suspended","users_max":null}"#;
    let patch = service.request("PATCH", ACME).body("application/merge-patch+json", merge);
    let patched = patch.send().await.expect(200).json();
    assert_eq!((&patched["status"], patched.get("users_max")), (&json!("suspended"), None));
    assert_eq!((&patched["external_id"], &patched["version"]), (&json!("cus_7"), &json!(3)));

    // A replacement clears what it omits, and keeps the name and the status.
    let replaced = send(&service, "PUT", ACME, &json!({"external_id": ""})).await.expect(200);
    let replaced = replaced.json();
    assert_eq!((&replaced["name"], &replaced["status"]), (&json!("acme"), &json!("suspended")));
    assert_eq!((replaced.get("display_name"), replaced.get("external_id")), (None, None));
    let same = send(&service, "PATCH", ACME, &json!({})).await.expect(200);
    assert_eq!(same.json()["version"], 4);
}

pub(crate) async fn tenants_are_paged_by_name_and_found_by_external_id(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    for (name, external_id) in [("b", "one"), ("a-2", "two"), ("c", "one"), ("a", "one")] {
        service.tenant(json!({"name": name, "external_id": external_id})).await;
    }
    let names_of = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("items").iter();
        items.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    for (conditions, expected) in
        [("", vec!["a", "a-2", "b", "c"]), ("&external_id=one", vec!["a", "b", "c"])]
    {
        for limit in [1, 2, 4, 1000] {
            let first = format!("/tenants?limit={limit}{conditions}");
            let (mut target, mut all) = (first.clone(), Vec::new());
            loop {
                let page = service.get(&target).await.expect(200);
                all.extend(names_of(&page.json()));
                assert_eq!(page.json()["items"][0]["users"], 0);
                let Some(cursor) = page.json()["next_cursor"].as_str().map(str::to_owned) else {
                    assert_eq!(page.find("link"), None);
                    break;
                };
                assert!(page.header("link").contains(&cursor), "{}", page.header("link"));
                target = format!("{first}&cursor={cursor}");
            }
            assert_eq!(all, expected, "{first}");
        }
    }
    // PostgreSQL takes no NUL.
    let none = service.get("/tenants?external_id=o%00e").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    let nobody = service.get("/tenants?external_id=One").await.expect(200).json();
    assert_eq!(nobody, json!({"items": [], "next_cursor": null}));

    let page = service.get("/tenants?limit=1").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("more");
    // A cursor belongs to its list and conditions.
    for target in ["/tenants?limit=1&external_id=one", "/users?limit=1", "/keys?limit=1"] {
        service.get(&format!("{target}&cursor={cursor}")).await.refused(400, "invalid-cursor");
    }
    service.get("/tenants?cursor=x").await.refused(400, "invalid-cursor");
    for query in ["limit=0", "limit=1001", "external_id=a&external_id=b"] {
        service.get(&format!("/tenants?{query}")).await.refused(400, "invalid-query");
    }
    let refused = service.get("/tenants?count=true&sort=name").await.refused(400, "invalid-query");
    let unknown = |name: &str| (name.to_owned(), "unknown-parameter".to_owned());
    assert_eq!(refused.faults(), [unknown("count"), unknown("sort")]);
}

pub(crate) async fn a_write_of_a_tenant_checks_its_version(backend: Backend) {
    let service = with_acme(&backend).await;
    for method in ["PUT", "PATCH"] {
        for (header, tags) in
            [("if-match", "\"7\""), ("if-match", "W/\"1\""), ("if-none-match", "\"1\"")]
        {
            let request = service.request(method, ACME).header(header, tags);
            let refused = request.json(&json!({"display_name": "x"})).send().await;
            let refused = refused.refused(412, "version-mismatch").json();
            let detail = refused["detail"].as_str().expect("a detail");
            assert!(detail.contains("version 1"), "{method} {header} {tags}: {detail}");
        }
        let stale = send(&service, method, ACME, &json!({"version": 7})).await;
        stale.refused(412, "version-mismatch");
        let malformed = service.request(method, ACME).header("if-match", "1").json(&json!({}));
        malformed.send().await.refused(400, "invalid-request");
    }
    let current = service.request("PUT", ACME).header("if-match", "\"1\"");
    current.json(&json!({"display_name": "Acme Ltd"})).send().await.expect(200);
    let next = send(&service, "PATCH", ACME, &json!({"version": 2, "external_id": "8"})).await;
    assert_eq!(next.expect(200).header("etag"), "\"3\"");
}

pub(crate) async fn all_errors_of_an_invalid_tenant_are_listed(backend: Backend) {
    let service = with_acme(&backend).await;
    let long = "x".repeat(257);
    let body = json!({
        "name": "Acme", "display_name": long, "external_id": "a\u{200b}b", "users_max": -1,
        "status": "gone", "colour": "red",
    });
    let refused = send(&service, "POST", "/tenants", &body).await.refused(422, "invalid-tenant");
    let mut faults = refused.faults();
    faults.sort();
    let expected = [
        ("/colour", "unknown-member"),
        ("/display_name", "too-long"),
        ("/external_id", "control-character"),
        ("/name", "invalid-value"),
        ("/status", "invalid-value"),
        ("/users_max", "invalid-value"),
    ];
    let expected = expected.map(|(place, code)| (place.to_owned(), code.to_owned()));
    assert_eq!(faults, expected);
    for method in ["PUT", "PATCH"] {
        for body in [
            json!({"name": "globex"}),
            json!({"name": null}),
            json!({"colour": null}),
            json!({"": null}),
            json!({"users_max": "5"}),
            json!({"version": 1.0}),
            json!({"display_name": "  "}),
            json!({"status": 1}),
            json!([]),
        ] {
            let refused = send(&service, method, ACME, &body).await;
            refused.refused(422, "invalid-tenant");
        }
    }
    // `all` stands for all tenants.
    let long = json!({"name": "x".repeat(64)});
    for body in [json!({}), json!({"name": ""}), json!({"name": "all"}), long, json!("acme")] {
        send(&service, "POST", "/tenants", &body).await.refused(422, "invalid-tenant");
    }
    assert_eq!(service.get(ACME).await.expect(200).json()["version"], 1);
}

pub(crate) async fn no_two_tenants_have_one_name(backend: Backend) {
    let service = with_acme(&backend).await;
    let again = send(&service, "POST", "/tenants", &json!({"name": "acme"})).await;
    again.refused(409, "tenant-name-taken");
    // External ids may be shared.
    service.tenant(json!({"name": "globex", "external_id": "cus_7"})).await;
}

pub(crate) async fn a_tenant_that_does_not_exist_is_not_found(backend: Backend) {
    let service = with_acme(&backend).await;
    for name in ["globex", "ACME", "%61cme", "a.b", &"x".repeat(64)] {
        let target = format!("/tenants/{name}");
        service.get(&target).await.refused(404, "tenant-not-found");
        for method in ["PUT", "PATCH"] {
            let write = send(&service, method, &target, &json!({"display_name": "x"})).await;
            write.refused(404, "tenant-not-found");
        }
    }
    let list = service.get("/tenants").await.expect(200).json();
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "a PUT creates no tenant");
}

pub(crate) async fn only_a_key_for_all_tenants_reads_and_changes_tenants(backend: Backend) {
    let requests = [
        ("GET", "/tenants"),
        ("POST", "/tenants"),
        ("GET", ACME),
        ("PUT", ACME),
        ("PATCH", ACME),
        ("GET", "/tenants/nobody"),
    ];
    let service = backend.open().await;
    for (method, target) in requests {
        let open = send(&service, method, target, &json!({"name": "acme"})).await;
        open.refused(403, "operator-key-required");
    }
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    let others = [
        (service.new_key(&["tenants:admin", "keys:admin"]).await, "operator-key-required"),
        (service.new_operator_key(&["users:write", "keys:admin"]).await, "insufficient-scope"),
    ];
    for (key, code) in &others {
        let token = key["key"].as_str().expect("a key");
        for (method, target) in requests {
            let request = service.request(method, target).bearer(token);
            request.json(&json!({"name": "acme"})).send().await.refused(403, code);
        }
    }
    // Only such a key creates another one, or sees it.
    let body = json!({"name": "mine", "scopes": ["scim"], "tenants": "all"});
    let [(default, _), (operator, _)] = &others;
    let create = |key: &Value| {
        let token = key["key"].as_str().expect("a key");
        service.request("POST", "/keys").bearer(token).json(&body).send()
    };
    create(default).await.refused(403, "operator-key-required");
    assert_eq!(create(operator).await.expect(201).json()["tenants"], "all");
    let target = format!("/keys/{}", operator["id"].as_str().expect("an id"));
    let token = default["key"].as_str().expect("a key");
    service.request("GET", &target).bearer(token).send().await.refused(404, "key-not-found");
    assert_eq!(service.get(&target).await.expect(200).json()["tenants"], "all");
    let wrong = json!({"name": "mine", "scopes": ["scim"], "tenants": "acme"});
    let wrong = send(&service, "POST", "/keys", &wrong).await.refused(422, "invalid-key");
    assert_eq!(wrong.faults(), [("/tenants".to_owned(), "invalid-value".to_owned())]);
}

pub(crate) async fn a_dry_run_of_a_tenant_stores_nothing(backend: Backend) {
    let service = with_acme(&backend).await;
    let create = json!({"name": "globex", "users_max": 3});
    let dry = send(&service, "POST", "/tenants?dry_run=true", &create).await.expect(200);
    assert_eq!((dry.header("dry-run"), dry.find("etag")), ("true", None));
    assert_eq!((dry.find("location"), &dry.json()["name"]), (None, &json!("globex")));
    service.get("/tenants/globex").await.refused(404, "tenant-not-found");
    let dry_acme = format!("{ACME}?dry_run=true");
    for method in ["PUT", "PATCH"] {
        let dry = send(&service, method, &dry_acme, &json!({"status": "suspended"})).await;
        let dry = dry.expect(200);
        assert_eq!((dry.header("dry-run"), dry.find("etag")), ("true", None));
        assert_eq!(
            (&dry.json()["status"], &dry.json()["version"]),
            (&json!("suspended"), &json!(2))
        );
        let refused = send(&service, method, &dry_acme, &json!({"version": 7})).await;
        refused.refused(412, "version-mismatch");
    }
    let taken = send(&service, "POST", "/tenants?dry_run=true", &json!({"name": "acme"})).await;
    taken.refused(409, "tenant-name-taken");
    let stored = service.get(ACME).await.expect(200).json();
    assert_eq!((&stored["version"], &stored["status"]), (&json!(1), &json!("active")));
}

pub(crate) async fn a_change_of_a_tenant_takes_no_idempotency_key(backend: Backend) {
    let service = with_acme(&backend).await;
    for (method, target) in [("POST", "/tenants"), ("PUT", ACME), ("PATCH", ACME)] {
        let request = service.request(method, target).header("idempotency-key", "one");
        let request = request.json(&json!({"name": "acme", "display_name": "x"}));
        request.send().await.refused(400, "invalid-idempotency-key");
    }
    assert_eq!(service.get(ACME).await.expect(200).json()["version"], 1);
}

pub(crate) async fn there_are_only_so_many_tenants(backend: Backend) {
    let service = with_acme(&backend).await;
    // A hundred thousand take too long for a test.
    service.store.fill_tenants(true);
    let refused = send(&service, "POST", "/tenants", &json!({"name": "globex"})).await;
    let refused = refused.refused(409, "too-many-tenants").json();
    assert_eq!(refused["detail"], "there can be 100000 tenants");
}

pub(crate) async fn a_key_of_a_tenant_works_below_its_base_url_alone(backend: Backend) {
    let service = with_acme(&backend).await;
    service.tenant(json!({"name": "globex"})).await;
    let body = json!({"name": "of acme", "scopes": ["users:read", "users:write", "keys:admin"]});
    let key = send(&service, "POST", "/tenants/acme/keys", &body).await.expect(201);
    assert!(key.header("location").starts_with("/tenants/acme/keys/"), "{}", key.text());
    let key = key.json();
    let token = key["key"].as_str().expect("a key");
    let get = |target: &str| service.request("GET", target).bearer(token).send();
    get("/tenants/acme/users").await.expect(200);
    get("/tenants/globex/users").await.refused(404, "tenant-not-found");
    get("/tenants/nobody/users").await.refused(404, "tenant-not-found");
    for target in ["/users", "/caller", "/schema"] {
        get(target).await.refused(403, "wrong-tenant");
    }
    let caller = get("/tenants/acme/caller").await.expect(200).json();
    assert_eq!((&caller["tenant"], caller.get("tenants")), (&json!("acme"), None));
    let operator = service.get("/tenants/acme/caller").await.expect(200).json();
    assert_eq!((&operator["tenant"], &operator["tenants"]), (&json!("acme"), &json!("all")));

    let post = |name: &str| {
        let request = service.request("POST", "/tenants/acme/users").bearer(token);
        request.json(&json!({"username": name})).send()
    };
    post("ada").await.expect(201);
    send(&service, "PATCH", ACME, &json!({"users_max": 1})).await.expect(200);
    post("grace").await.refused(403, "quota-exceeded");
    assert_eq!(service.get(ACME).await.expect(200).json()["users"], 1);
    let events = service.get("/tenants/acme/events").await.expect(200).json();
    assert_eq!(events["items"][0]["tenant"], "acme");
    assert_eq!(events["items"][0]["source"], "http://roster.test/tenants/acme");

    send(&service, "PATCH", ACME, &json!({"status": "suspended"})).await.expect(200);
    get("/tenants/acme/users").await.refused(403, "tenant-suspended");
    service.get("/tenants/acme/users").await.expect(200);
    send(&service, "PATCH", ACME, &json!({"status": "active"})).await.expect(200);
    get("/tenants/acme/users").await.expect(200);
}

pub(crate) async fn a_tenant_has_a_service_document_and_a_description_of_its_own(backend: Backend) {
    let service = with_acme(&backend).await;
    for (target, code) in [
        ("/tenants/acme/docs", "not-found"),
        ("/tenants/acme/tenants", "not-found"),
        ("/tenants/acme/problems", "not-found"),
        ("/tenants/acme/metrics", "not-found"),
        ("/tenants/nobody/docs", "tenant-not-found"),
    ] {
        service.get(target).await.refused(404, code);
        // Without a credential nobody learns which tenants exist.
        let bare = service.request("GET", target).without("authorization").send().await;
        bare.refused(401, "unauthenticated");
    }
    let document = service.get("/tenants/acme/").await.expect(200).json();
    assert_eq!(document["links"]["users"], "http://roster.test/tenants/acme/users");
    assert_eq!(document["links"].get("tenants"), None);
    for target in ["/tenants/acme/openapi.json", "/tenants/acme/openapi-3.0.json"] {
        let description = service.get(target).await.expect(200).json();
        assert_eq!(description["servers"][0]["url"], "http://roster.test/tenants/acme");
        let paths = description["paths"].as_object().expect("paths");
        assert!(paths.contains_key("/users") && !paths.contains_key("/tenants"), "{target}");
    }
}
