//! `roster webhooks`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, rows};

over_each_engine! {
    a_webhook_is_created_tested_and_changed,
    a_webhook_sends_again_from_a_position,
    webhooks_need_their_scopes,
}

/// A receiver that answers 204, and 500 below `/bad`. Returns its URL, and each request line.
fn receiver() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let count = stream.read(&mut head).unwrap();
            let text = String::from_utf8_lossy(&head[..count]).into_owned();
            let line = text.lines().next().unwrap_or_default().to_owned();
            let status = if line.contains("/bad") { "500 No" } else { "204 Ok" };
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap_or_default();
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    (url, requests)
}

fn serving(engine: Engine) -> Shell {
    Shell::serving(engine, &["--webhook-networks", "127.0.0.0/8"])
}

fn a_webhook_is_created_tested_and_changed(engine: Engine) {
    let shell = serving(engine);
    let (url, _requests) = receiver();
    let create = ["webhooks", "create", "search", &url, "types=user.*"];
    let dry = shell.run(&[&create[..], &["--dry-run"]].concat());
    assert!(dry.err.contains("nothing was created") && !dry.out.contains("whsec_"), "{dry:?}");
    assert!(shell.run(&["webhooks", "list"]).err.contains("no webhooks"));
    // The secret alone goes to stdout.
    let created = shell.run(&create);
    assert!(created.err.contains("(search): sends user.* to http://127.0.0.1:"), "{created:?}");
    assert!(!created.err.contains("whsec_"), "{created:?}");
    let secret = created.succeeded();
    assert!(secret.starts_with("whsec_") && secret.lines().count() == 1, "{secret}");
    shell.run(&["webhooks", "create", "x", "url=ftp://x"]).failed(2, &["url=ftp://x: "]);
    shell.run(&["webhooks", "create", "x", &url, "batch_max=x"]).failed(2, &["write a number"]);
    let listed = shell.ok(&["webhook", "ls", "--columns", "name,status,types,batch_max"]);
    assert_eq!(rows(&listed)[1..], [vec!["search", "active", "user.*", "1"]]);
    let hook = shell.run(&["webhooks", "get", "search", "-o", "json"]).json();
    let id = hook["id"].as_str().unwrap();
    assert_eq!(hook["secret"], json!(null));
    assert_eq!(shell.run(&["webhooks", "show", id, "-o", "json"]).json()["name"], json!("search"));

    let test = shell.ok(&["webhooks", "test", "search"]);
    assert!(test.lines().any(|line| line.split_whitespace().eq(["status", "204"])), "{test}");
    let bad = format!("url={url}/bad");
    let set = shell.ok(&["webhooks", "set", id, &bad, "types=user.*,group.*"]);
    assert!(rows(&set).contains(&vec!["types", "user.*", "user.*,group.*"]), "{set}");
    let failed = shell.run(&["webhooks", "test", "search"]);
    assert_eq!((failed.status, failed.err.contains("it answered 500")), (1, true), "{failed:?}");
    shell.run(&["webhooks", "test", "nobody"]).failed(5, &["no webhook is called nobody"]);

    let dry = shell.run(&["webhooks", "pause", "search", "--dry-run"]);
    assert!(dry.err.contains("nothing was changed"), "{dry:?}");
    let paused = shell.ok(&["webhooks", "pause", "search"]);
    assert!(rows(&paused).contains(&vec!["status", "active", "paused"]), "{paused}");
    let old = ["webhooks", "resume", "search", "--if-version", "1"];
    shell.run(&old).failed(6, &["version 3"]);
    let resumed = shell.ok(&["webhooks", "resume", "search"]);
    assert!(rows(&resumed).contains(&vec!["status", "paused", "active"]), "{resumed}");

    // The others have version 1.
    for name in ["second", "third"] {
        shell.ok(&["webhooks", "create", name, &url]);
    }
    let some = ["webhooks", "pause", "second", "search", "third", "--if-version", "1"];
    let some = shell.run(&some);
    assert!(some.status == 7 && some.err.contains("not tried: third"), "{some:?}");
    shell.ok(&["webhooks", "rm", "second", "third", "--yes"]);

    let rotate = ["webhooks", "rotate", "search"];
    shell.run(&[&rotate[..], &["--if-version", "1"]].concat()).failed(6, &["version 4"]);
    shell.run(&[&rotate[..], &["--overlap", "2592001"]].concat()).failed(2, &["--overlap"]);
    let rotated = shell.run(&[&rotate[..], &["--overlap", "60"]].concat());
    assert!(rotated.err.contains("the old secret signs too until 20"), "{rotated:?}");
    let new = rotated.succeeded();
    assert!(new.starts_with("whsec_") && new != secret, "{new}");
    let record = shell.run(&[&rotate[..], &["--overlap", "0", "-o", "json"]].concat());
    assert!(record.err.contains("signs no more"), "{record:?}");
    assert!(record.json()["secret"].is_string());
    shell.ok(&["webhooks", "rm", "search", "--dry-run"]);
    shell.run(&["webhooks", "rm", "search"]).failed(2, &["Delete the webhook search?", "--yes"]);
    shell.ok(&["webhooks", "rm", "search", "--yes"]);
    assert_eq!(shell.ok(&["webhooks", "list", "-o", "json"]), "[]\n");
    shell.service.stop();
}

fn a_webhook_sends_again_from_a_position(engine: Engine) {
    let shell = serving(engine);
    let (url, requests) = receiver();
    shell.ok(&["webhooks", "create", "search", &url, "types=user.*"]);
    let hook = || shell.run(&["webhooks", "get", "search", "-o", "json"]).json();
    let begin = hook()["position"].as_str().unwrap().to_owned();
    assert!(shell.run(&["webhooks", "deliveries", "search"]).err.contains("no requests"));
    shell.ok(&["users", "create", "username=ada"]);
    let patience = Duration::from_secs(30);
    requests.recv_timeout(patience).unwrap();
    // What was received is written every second.
    let since = Instant::now();
    let deliveries = loop {
        let listed = shell.ok(&["webhooks", "deliveries", "search", "-o", "csv"]);
        if listed.lines().count() == 2 {
            break listed;
        }
        assert!(since.elapsed() < patience, "{listed}");
        thread::sleep(Duration::from_millis(100));
    };
    assert!(deliveries.contains(",204,,1,1,"), "{deliveries}");
    shell.run(&["webhooks", "replay", "search", "--after", "x"]).failed(2, &["--after x: "]);
    let old = ["webhooks", "replay", "search", "--after", &begin, "--if-version", "9"];
    shell.run(&old).failed(6, &["version 1"]);
    let replayed = shell.ok(&["webhooks", "replay", "search", "--after", &begin]);
    assert!(replayed.contains(&format!("-> {begin}, status active")), "{replayed}");
    requests.recv_timeout(patience).unwrap();
    shell.service.stop();
}

fn webhooks_need_their_scopes(engine: Engine) {
    let shell = serving(engine);
    let (url, _requests) = receiver();
    let all = "webhooks:admin,events:read";
    shell.needs(all, &["webhooks", "create", "search", &url]);
    let admin = "webhooks:admin";
    shell.needs(admin, &["webhooks", "list"]);
    shell.needs(admin, &["webhooks", "get", "search"]);
    shell.needs(admin, &["webhooks", "deliveries", "search"]);
    shell.needs(admin, &["webhooks", "pause", "search"]);
    shell.needs(all, &["webhooks", "set", "search", "batch_max=2"]);
    shell.needs(all, &["webhooks", "resume", "search"]);
    let hook = shell.operate(&["webhooks", "get", "search", "-o", "json"]).json();
    let position = hook["position"].as_str().unwrap();
    shell.needs(all, &["webhooks", "replay", "search", "--after", position]);
    shell.needs(all, &["webhooks", "rotate", "search"]);
    shell.needs(admin, &["webhooks", "test", "search"]);
    shell.needs(admin, &["webhooks", "delete", "search", "--yes"]);
    shell.operate(&["tenants", "create", "acme"]).succeeded();
    shell.operate(&["webhooks", "create", "own", &url, "--tenant", "acme"]).succeeded();
    assert_eq!(shell.operate(&["webhooks", "list", "-o", "json"]).succeeded(), "[]\n");
    shell.operate(&["webhooks", "get", "own", "--tenant", "acme"]).succeeded();
    shell.service.stop();
}
