//! Audit events of commands and starts, over both engines.

use roster_testkit::process::{Engine, Place, Process};
use serde_json::{Value, json};

use super::{ask::roster, policy::printed};

fn serve(place: &Place, words: &[&str]) -> Process {
    Process::start(place.serve(env!("CARGO_BIN_EXE_roster")).args(words))
}

/// A list of the type, the request id and the data of each audit event.
fn audited(service: &Process) -> Value {
    let page = service.ask("GET", "/events?type=key.*,policy.*,settings.*", "").body;
    let items = page.pointer("/items").and_then(Value::as_array).unwrap();
    let told = |event: &Value| json!(["type", "requestid", "data"].map(|name| event.get(name)));
    items.iter().map(told).collect()
}

#[test]
fn a_start_with_other_settings_and_a_change_of_the_policy_are_events() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let place = Place::new(engine);
        serve(&place, &[]).stop();
        // Another port is not another setting.
        let service = serve(&place, &[]);
        assert_eq!(audited(&service), json!([]));
        service.create(r#"{"username":"ada"}"#);
        service.stop();
        serve(&place, &["--put-guard", "--rate-limit-per-s", "70"]).stop();
        let service = serve(&place, &["--put-guard", "--rate-limit-per-s", "70"]);
        let mut set = roster(place.path(), &["policy", "set", "unique-external-id", "true"]);
        if let Some(database) = place.database() {
            set.args(["--database", &database.url()]);
        }
        printed(set);
        let grace = service.ask("POST", "/users", r#"{"username":"grace"}"#);
        assert_eq!(grace.status, 201);
        let settings = json!({"settings": ["put_guard", "rate_limit_per_s"]});
        let policy = json!({"policy": {"email_uniqueness": "primary", "unique_external_id": true}});
        let expected =
            json!(
                [["settings.changed", "start", settings], ["policy.changed", "command", policy],]
            );
        assert_eq!(audited(&service), expected);
        assert!(grace.head.contains("-4\r\n"), "{}", grace.head);
        service.stop();
    }
}
