//! Everything that can be read from a store, to compare two stores.

use std::fmt::Write as _;

use roster_testkit::process::{Answer, Process};
use serde_json::Value;

/// Requests with their responses. Cursors in the requests are those of the first store.
pub(crate) struct View(Vec<(String, Answer)>);

impl View {
    /// Reads everything from a store.
    pub(crate) fn of(service: &Process) -> Self {
        let mut view = Self(Vec::new());
        for sort in ["id", "-updated_at", "username", "-email", "family_name", "-name"] {
            view.walk(service, &format!("/users?limit=7&count=true&sort={sort}"));
        }
        for query in ["q=ada", "q=bare", "filter=emails%20co%20%22b.example%22&limit=9"] {
            view.walk(service, &format!("/users?{query}"));
        }
        for number in ["phone_number=%2B491", "external_id=ff", "status=suspended"] {
            view.walk(service, &format!("/users?{number}"));
        }
        view.walk(service, "/deleted-users?limit=2");
        view.walk(service, "/events?limit=11");
        for user in service.ask("GET", "/users?limit=1000", "").body["items"].as_array().unwrap() {
            let path = format!("/users/{}", user["id"].as_str().unwrap());
            view.ask(service, &path);
            view.walk(service, &format!("{path}/events?limit=2"));
        }
        view
    }

    /// Sends a request, and follows its cursors or positions to the end.
    fn walk(&mut self, service: &Process, path: &str) {
        let mut next = path.to_owned();
        loop {
            let answer = self.ask(service, &next);
            let body = &answer.body;
            assert!(answer.status == 200 && body["items"].is_array(), "{next}: {answer:?}");
            let Some(cursor) = body["next_cursor"].as_str() else { return };
            next = format!("{path}&cursor={cursor}");
        }
    }

    fn ask(&mut self, service: &Process, path: &str) -> Answer {
        let answer = service.ask("GET", path, "");
        self.0.push((path.to_owned(), answer.clone()));
        answer
    }

    /// Sends the same requests to another store: responses, tags and positions must be the same.
    #[track_caller]
    pub(crate) fn must_be_that_of(&self, service: &Process) {
        let mut differences = String::new();
        for (path, expected) in &self.0 {
            let found = service.ask("GET", path, "");
            let same = found.status == expected.status
                && tags(&found) == tags(expected)
                && comparable(&found) == comparable(expected);
            if !same {
                writeln!(differences, "{path}:\n{found:?}\n{expected:?}").unwrap();
            }
            for tag in tags(expected).iter().filter_map(|tag| tag.strip_prefix("etag: ")) {
                let condition = format!("If-None-Match: {tag}\r\n");
                let status = service.ask_with(&condition, "GET", path, "").status;
                assert_eq!(status, 304, "{path} {tag}");
            }
        }
        assert!(differences.is_empty(), "{differences}");
    }

    /// The number of requests.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The headers with the version and the position in the log.
fn tags(answer: &Answer) -> Vec<&str> {
    let names = ["etag: ", "roster-position: "];
    answer.head.lines().filter(|line| names.iter().any(|name| line.starts_with(name))).collect()
}

/// The body without the cursor, whose encryption differs each time.
fn comparable(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    if let Some(members) = body.as_object_mut() {
        let next = members.remove("next_cursor");
        members
            .insert("has_next".to_owned(), Value::Bool(next.is_some_and(|next| !next.is_null())));
    }
    body
}
