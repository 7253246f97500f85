//! Discovery: it lists exactly what works.

use serde_json::{Value, json};

use crate::{
    service::Backend,
    support::{ENTERPRISE_URN, ROSTER_URN, USER_URN, ask, get, read, refused},
};

pub(crate) async fn the_configuration_tells_what_works(backend: Backend) {
    let service = backend.open().await;
    let config = read(&service, "/ServiceProviderConfig").await;
    assert_eq!(
        config["schemas"],
        json!(["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"])
    );
    assert_eq!(config["filter"], json!({"supported": true, "maxResults": 1000}));
    for (ability, supported) in
        [("changePassword", false), ("sort", true), ("etag", true), ("patch", true)]
    {
        assert_eq!(config[ability]["supported"], supported, "{ability}");
    }
    assert_eq!(config["authenticationSchemes"][0]["type"], "oauthbearertoken");
    assert_eq!(config.get("securityEvents"), None);
    let place = "http://roster.test/scim/v2/ServiceProviderConfig";
    assert_eq!(config["meta"]["location"], place);
}

pub(crate) async fn resource_types_and_schemas_are_single_and_listed(backend: Backend) {
    let service = backend.open().await;
    let types = read(&service, "/ResourceTypes").await;
    let listed = types["Resources"].as_array().expect("types");
    assert_eq!(types["totalResults"], listed.len());
    for one in listed {
        let name = one["name"].as_str().expect("a name");
        assert_eq!(one["id"], name);
        assert_eq!(read(&service, &format!("/ResourceTypes/{name}")).await, *one);
        get(&service, one["endpoint"].as_str().expect("an endpoint")).await.expect(200);
    }
    assert_eq!(listed[0]["schema"], USER_URN);
    let extensions = json!([{"schema": ENTERPRISE_URN, "required": false},
        {"schema": ROSTER_URN, "required": false}]);
    assert_eq!(listed[0]["schemaExtensions"], extensions);

    let schemas = read(&service, "/Schemas").await;
    for one in schemas["Resources"].as_array().expect("schemas") {
        let urn = one["id"].as_str().expect("a URN");
        assert_eq!(read(&service, &format!("/Schemas/{urn}")).await, *one);
        let escaped = urn.replace(':', "%3A");
        assert_eq!(read(&service, &format!("/Schemas/{escaped}")).await, *one);
        for attribute in one["attributes"].as_array().expect("attributes") {
            for member in [
                "name",
                "type",
                "multiValued",
                "required",
                "caseExact",
                "mutability",
                "returned",
                "uniqueness",
            ] {
                assert!(attribute.get(member).is_some(), "{urn} {attribute} {member}");
            }
        }
    }
    refused(get(&service, "/Schemas/urn:x").await, 404, None);
    refused(get(&service, "/ResourceTypes/Device").await, 404, None);
}

pub(crate) async fn discovery_cannot_be_filtered_or_changed(backend: Backend) {
    let service = backend.open().await;
    for target in ["/ServiceProviderConfig", "/ResourceTypes", "/Schemas"] {
        let filtered = format!("{target}?filter=id%20pr");
        refused(get(&service, &filtered).await, 403, None);
        // Parameters of paging and sorting are ignored.
        let paged = format!("{target}?startIndex=2&count=1&sortBy=id");
        let paged = ask(&service, "GET", &paged).unwitnessed().await.expect(200).json();
        assert_eq!(paged, read(&service, target).await);
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let reply = refused(ask(&service, method, target).send().await, 405, None);
            assert_eq!(reply.header("allow"), "GET, HEAD, OPTIONS");
        }
    }
    let options = ask(&service, "OPTIONS", "/Users").send().await.expect(204);
    assert_eq!(options.header("allow"), "GET, HEAD, POST, OPTIONS");
}

pub(crate) async fn me_is_not_implemented(backend: Backend) {
    let service = backend.open().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let reply = ask(&service, method, "/Me").body("application/scim+json", "{}").send().await;
        refused(reply, 501, None);
    }
    let types = read(&service, "/ResourceTypes").await;
    assert!(
        types["Resources"].as_array().expect("types").iter().all(|one| one["name"] != Value::Null)
    );
}

pub(crate) async fn the_service_document_tells_the_same_limits(backend: Backend) {
    let service = backend.open().await;
    let config = read(&service, "/ServiceProviderConfig").await;
    let limits = service.get("/").await.expect(200).json()["limits"].clone();
    let pages = &config["pagination"];
    for (told, name) in [
        (&config["bulk"]["maxOperations"], "bulk_operations_max"),
        (&config["bulk"]["maxPayloadSize"], "bulk_bytes_max"),
        (&config["filter"]["maxResults"], "scim_page_size_max"),
        (&pages["maxPageSize"], "scim_page_size_max"),
        (&pages["defaultPageSize"], "scim_page_size_default"),
        (&pages["cursorTimeout"], "scim_cursor_keep_seconds"),
    ] {
        assert!(told.is_u64(), "{name}");
        assert_eq!(told, &limits[name], "{name}");
    }
    let names: Vec<String> = (0..=limits["scim_names_max"].as_u64().expect("a number"))
        .map(|n| format!("x{n}"))
        .collect();
    let most = format!("/Users?attributes={}", names[1..].join(","));
    get(&service, &most).await.expect(200);
    let more = format!("/Users?attributes={}", names.join(","));
    refused(get(&service, &more).await, 400, Some("invalidValue"));
    assert_eq!(limits["scim_skip_max"], 20_000);
}
