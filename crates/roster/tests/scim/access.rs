//! Access: one scope allows the whole SCIM interface.

use roster_core::access::Scope;
use roster_http::operation::Operation;

use crate::{
    service::Backend,
    support::{ask, named, refused},
};

/// Every method and target of the interface.
fn targets() -> Vec<(String, String)> {
    let filled = |path: &str| {
        path.replace("/scim/v2", "")
            .replace("{id}", "01a1f84a-963b-7c3e-9a41-5d2e8f604b17")
            .replace("{name}", "User")
            .replace("{urn}", "urn:ietf:params:scim:schemas:core:2.0:User")
    };
    let operations = Operation::ALL.iter().filter(|operation| operation.is_scim());
    operations.map(|operation| (operation.method().to_string(), filled(operation.path()))).collect()
}

pub(crate) async fn the_scim_scope_allows_scim_and_nothing_else(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    for scope in Scope::ALL {
        let key = service.new_key(&[scope.as_str()]).await;
        let token = key["key"].as_str().expect("a key");
        for (method, target) in targets() {
            let request = ask(&service, &method, &target).bearer(token);
            let request = match method.as_str() {
                "POST" | "PUT" | "PATCH" => {
                    request.body("application/scim+json", named("grace").to_string())
                }
                _ => request,
            };
            let reply = request.send().await;
            if *scope == Scope::Scim {
                assert!(![401, 403].contains(&reply.status()), "{method} {target}");
            } else {
                let reply = refused(reply, 403, None);
                assert!(reply.header("www-authenticate").contains("scope=\"scim\""));
            }
        }
        if *scope == Scope::Scim {
            let rest = service.request("GET", "/users").bearer(token).send().await;
            rest.refused(403, "insufficient-scope");
        }
    }
}

pub(crate) async fn a_request_without_a_credential_is_401(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    for (method, target) in targets() {
        let reply = ask(&service, &method, &target).without("authorization").send().await;
        let reply = refused(reply, 401, None);
        assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"roster\"");
    }
}
