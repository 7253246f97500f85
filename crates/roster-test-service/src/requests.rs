//! The requests that most cases send, and the check of each response.

use std::sync::{PoisonError, atomic::Ordering};

use roster_core::{Store as _, access::Scope};
use roster_http::problem::registry;
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request, faults},
    service::{Service, member_path, path},
};

impl Service {
    pub fn request(&self, method: &str, target: &str) -> Request<'_> {
        Request::new(self, method, target)
    }

    pub async fn get(&self, target: &str) -> Reply {
        self.request("GET", target).send().await
    }

    pub async fn delete(&self, target: &str) -> Reply {
        self.request("DELETE", target).send().await
    }

    pub async fn post(&self, body: Value) -> Reply {
        self.request("POST", "/users").json(&body).send().await
    }

    pub async fn put(&self, user: &Value, body: Value) -> Reply {
        self.request("PUT", &path(user)).json(&body).send().await
    }

    pub async fn patch(&self, user: &Value, body: Value) -> Reply {
        self.request("PATCH", &path(user)).json(&body).send().await
    }

    /// Creates a key with these scopes, and returns the response body.
    pub async fn new_key(&self, scopes: &[&str]) -> Value {
        let body = json!({"name": "of the suite", "scopes": scopes});
        self.request("POST", "/keys").json(&body).send().await.expect(201).json()
    }

    /// Creates a key for all tenants with these scopes, and returns the response body.
    pub async fn new_operator_key(&self, scopes: &[&str]) -> Value {
        let body = json!({"name": "of the operator", "scopes": scopes, "tenants": "all"});
        self.request("POST", "/keys").json(&body).send().await.expect(201).json()
    }

    /// Closes the service: creates a key with all scopes, which later requests use.
    pub async fn close(&self) -> Value {
        self.use_key(self.new_key(&all_scopes()).await)
    }

    /// The same with a key for all tenants.
    pub async fn close_as_operator(&self) -> Value {
        self.use_key(self.new_operator_key(&all_scopes()).await)
    }

    fn use_key(&self, key: Value) -> Value {
        let text = key["key"].as_str().expect("a key").to_owned();
        *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        key
    }

    /// Creates a tenant, which must succeed.
    pub async fn tenant(&self, body: Value) -> Value {
        self.request("POST", "/tenants").json(&body).send().await.expect(201).json()
    }

    /// Creates a webhook, and returns the response body.
    pub async fn webhook(&self, body: Value) -> Value {
        self.request("POST", "/webhooks").json(&body).send().await.expect(201).json()
    }

    /// Creates and deletes a tenant.
    pub async fn deleted_tenant(&self, name: &str) {
        self.tenant(serde_json::json!({"name": name})).await;
        self.delete(&format!("/tenants/{name}")).await.expect(204);
    }

    /// Creates a user, which must succeed.
    pub async fn user(&self, body: Value) -> Value {
        self.post(body).await.expect(201).json()
    }

    /// Creates and deletes a user, and returns it.
    pub async fn left(&self, body: Value) -> Value {
        let user = self.user(body).await;
        self.delete(&path(&user)).await.expect(204);
        user
    }

    /// Creates a group with this name, which must succeed.
    pub async fn group(&self, name: &str) -> Value {
        let request = self.request("POST", "/groups").json(&json!({"display_name": name}));
        request.send().await.expect(201).json()
    }

    /// Adds a member to a group.
    pub async fn join(&self, group: &Value, member: &Value) -> Reply {
        self.request("PUT", &member_path(group, member)).send().await
    }

    /// The current user.
    pub async fn now(&self, user: &Value) -> Value {
        self.get(&path(user)).await.expect(200).json()
    }

    /// Sets whether the disk has free space.
    pub fn set_room(&self, room: bool) {
        self.room.store(room, Ordering::Relaxed);
    }

    /// The position of the change log, and the counters.
    pub async fn head(&self) -> roster_core::Head {
        self.store.head().await.expect("the store answers")
    }

    /// Checks an exchange against the description, and a problem against the registry.
    pub fn witness(&self, reply: &Reply) {
        let observed = self.description.check(&reply.exchange);
        let observed = observed.unwrap_or_else(|fault| {
            panic!("{fault}\n{:?}\n{}", reply.exchange.response_headers, reply.text())
        });
        self.seen.ledger.record(observed);
        let bare = reply.exchange.response_body.is_empty();
        if !bare {
            assert_eq!(reply.find("x-content-type-options"), Some("nosniff"), "{}", reply.text());
        }
        if !bare && reply.find("content-type") == Some("application/x-ndjson") {
            self.witness_lines(reply.text());
        }
        let by_scim = reply.exchange.path.contains("/scim/v2");
        if reply.status() < 400 || bare || by_scim {
            return;
        }
        let body = reply.json();
        let code = body["code"].as_str().expect("a code");
        let kind = registry::find(code).unwrap_or_else(|| panic!("{code} is registered"));
        assert_eq!(reply.status(), kind.status);
        assert_eq!(body["title"], kind.title);
        assert_eq!(body["type"], format!("{}/problems/{code}", self.base_url));
        assert_eq!(reply.header("cache-control"), "no-store");
        let mut codes = self.seen.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.insert(code.to_owned());
        codes.extend(reply.faults().into_iter().map(|(_, code)| code));
    }

    /// Records the codes of the results of lines.
    fn witness_lines(&self, lines: &str) {
        let mut codes = self.seen.codes.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.lines().filter(|line| line.contains("\"problem\":")) {
            let line: Value = serde_json::from_str(line).expect("a line is JSON");
            let problem = &line["problem"];
            let Some(code) = problem["code"].as_str() else { continue };
            let kind = registry::find(code).unwrap_or_else(|| panic!("{code} is registered"));
            assert_eq!(line["status"], kind.status);
            codes.insert(code.to_owned());
            codes.extend(faults(problem).into_iter().map(|(_, code)| code));
        }
    }
}

fn all_scopes() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.as_str()).collect()
}
