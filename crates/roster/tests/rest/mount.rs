//! A base URL with a path: all resources are below it, every link contains it, and health is also
//! served at the root.

use serde_json::json;

use crate::service::{Backend, Service, Setup};

async fn mounted(backend: &Backend) -> Service {
    let base_url = "http://directory.example:8080/v1";
    backend.open_with(Setup { base_url, ..Setup::default() }).await
}

pub(crate) async fn routes_are_below_the_path_of_the_base_url(backend: Backend) {
    let service = mounted(&backend).await;
    for target in ["/v1/users", "/v1/", "/v1", "/v1/docs", "/v1/openapi.json", "/v1/problems"] {
        service.get(target).await.expect(200);
    }
    for target in ["/users", "/", "/docs", "/v1users", "/v2/users", "/v1/v1/users", "/V1/users"] {
        assert_eq!(service.request("GET", target).unwitnessed().await.status(), 404, "{target}");
    }
    let missing = service.get("/v1/people").await.expect(404).json();
    assert_eq!(missing["detail"], "nothing is at this path; the service document is at /v1/");
}

pub(crate) async fn health_is_served_below_the_base_path_and_at_the_root(backend: Backend) {
    let service = mounted(&backend).await;
    for target in ["/livez", "/readyz", "/metrics"] {
        service.get(&format!("/v1{target}")).await.expect(200);
        assert_eq!(service.request("GET", target).unwitnessed().await.status(), 200);
    }
}

pub(crate) async fn every_link_includes_the_base_path(backend: Backend) {
    let service = mounted(&backend).await;
    for name in ["ada", "grace"] {
        let request = service.request("POST", "/v1/users").json(&json!({"username": name}));
        let reply = request.send().await.expect(201);
        let path = format!("/v1/users/{}", reply.json()["id"].as_str().expect("an id"));
        assert_eq!(reply.header("location"), path);
        service.get(&path).await.expect(200);
    }
    let page = service.get("/v1/users?limit=1").await.expect(200);
    let link = page.header("link").to_owned();
    assert!(link.starts_with("</v1/users?limit=1&cursor="), "{link}");
    let target = link.trim_start_matches('<').split('>').next().expect("a target");
    service.get(target).await.expect(200);

    let document = service.get("/v1/").await.expect(200).json();
    for link in document["links"].as_object().expect("links").values() {
        let link = link.as_str().expect("a URL");
        let target = link.strip_prefix("http://directory.example:8080").expect("our host");
        assert!(target.starts_with("/v1/"), "{link}");
        let target = target.split('#').next().expect("a path");
        let reply = service.get(target).await;
        if ["/v1/tenants", "/v1/deleted-tenants"].contains(&target) {
            reply.refused(403, "operator-key-required");
            continue;
        }
        reply.expect(200);
    }
    // The test client checks the type of every problem.
    service.get("/v1/users/ada").await.refused(404, "user-not-found");
}
