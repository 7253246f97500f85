//! Reads the rows of a file. `scim.txt` starts with their form.

use std::{fs, mem};

use serde_json::{Map, Value, json};

/// The URNs that rows name as `<User>` and so on.
pub(crate) const URNS: [(&str, &str); 5] = [
    ("User", "urn:ietf:params:scim:schemas:core:2.0:User"),
    ("Group", "urn:ietf:params:scim:schemas:core:2.0:Group"),
    ("Enterprise", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"),
    ("Roster", "urn:ietf:params:scim:schemas:extension:roster:2.0:User"),
    ("Acme", "urn:ietf:params:scim:schemas:extension:acme:2.0:User"),
];

/// One report.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) source: String,
    pub(crate) sentence: String,
    /// The file and the line.
    pub(crate) place: String,
    /// Whether it also runs for a caller whose requests are parsed strictly.
    pub(crate) both_profiles: bool,
    /// Whether the service has the rule that external ids are unique.
    pub(crate) unique_external_ids: bool,
    pub(crate) requests: Vec<Request>,
}

/// A request with its expected response. The texts may contain names in angle brackets.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) place: String,
    /// The name of the response.
    pub(crate) name: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Option<String>,
    pub(crate) status: u16,
    pub(crate) expected: Option<String>,
}

/// The rows of a file in this directory.
pub(crate) fn read(file: &str) -> Vec<Row> {
    let path = format!("tests/reports/{file}");
    let text = fs::read_to_string(&path).expect("the file is in the directory of the package");
    let mut rows: Vec<Row> = Vec::new();
    let mut headers = Vec::new();
    for (at, line) in (1..).zip(text.lines().map(str::trim)) {
        let place = format!("{path}:{at}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            let (source, sentence) = split(title, "] ", &place);
            let (source, sentence) = (source.to_owned(), sentence.to_owned());
            let (both_profiles, unique_external_ids) = (false, false);
            let requests = Vec::new();
            rows.push(Row {
                source,
                sentence,
                place,
                both_profiles,
                unique_external_ids,
                requests,
            });
            continue;
        }
        let row = rows.last_mut().unwrap_or_else(|| panic!("{place}: a row starts with [source]"));
        let (word, rest) = split(line, " ", &place);
        match (word, rest) {
            ("both", "profiles") => row.both_profiles = true,
            ("unique", "external ids") => row.unique_external_ids = true,
            ("with", header) => {
                let (name, value) = split(header, ": ", &place);
                headers.push((name.to_owned(), value.to_owned()));
            }
            ("User" | "user" | "Group" | "group" | "schema", given) => {
                row.requests.extend(setup(word, given, &place));
            }
            _ => row.requests.push(request(line, mem::take(&mut headers), &place)),
        }
    }
    rows
}

fn split<'t>(text: &'t str, at: &str, place: &str) -> (&'t str, &'t str) {
    text.split_once(at).unwrap_or_else(|| panic!("{place}: {at:?} is missing"))
}

fn request(line: &str, headers: Vec<(String, String)>, place: &str) -> Request {
    let (sent, expected) =
        line.rsplit_once(" -> ").unwrap_or_else(|| panic!("{place}: no expected response"));
    let (status, expected) = match expected.split_once(' ') {
        Some((status, expected)) => (status, Some(expected.to_owned())),
        None => (expected, None),
    };
    let (name, sent) = match sent.split_once(" = ") {
        Some((name, sent)) if !name.contains(' ') => (Some(name.to_owned()), sent),
        _ => (None, sent),
    };
    let (method, sent) = split(sent, " ", place);
    let body = [sent.find(" {"), sent.find(" [")].into_iter().flatten().min();
    let (target, body) = match body {
        Some(at) => (&sent[..at], Some(sent[at + 1..].to_owned())),
        None => (sent, None),
    };
    Request {
        place: place.to_owned(),
        name,
        headers,
        method: method.to_owned(),
        target: target.to_owned(),
        body,
        status: status.parse().unwrap_or_else(|_| panic!("{place}: {status:?} is no status")),
        expected,
    }
}

/// The requests of a line that creates what a row needs.
fn setup(word: &str, given: &str, place: &str) -> Vec<Request> {
    let (name, rest) = given.split_once(' ').unwrap_or((given, ""));
    let sent = |line: String| request(&line, Vec::new(), place);
    let create = |target: &str, body: &Value| format!("{name} = POST {target} {body} -> 201");
    let urn = |wanted: &str| URNS.iter().find(|(known, _)| *known == wanted).map(|(_, urn)| *urn);
    match word {
        "schema" => vec![sent(format!("PUT /schema {{\"attributes\":{given}}} -> 200"))],
        "User" | "user" => {
            let members = if rest.is_empty() { "{}" } else { rest };
            let members: Map<String, Value> = serde_json::from_str(members)
                .unwrap_or_else(|fault| panic!("{place}: {fault}: {members}"));
            let scim = word == "User";
            let mut body = json!({if scim { "userName" } else { "username" }: name});
            if scim {
                let extensions = members.keys().filter_map(|key| urn(key.trim_matches(['<', '>'])));
                body["schemas"] = urn("User").into_iter().chain(extensions).collect();
            }
            body.as_object_mut().expect("an object").extend(members);
            vec![sent(create(if scim { "/Users" } else { "/users" }, &body))]
        }
        "Group" => {
            let members = rest.split_whitespace().map(|member| json!({"value": bracketed(member)}));
            let members: Vec<Value> = members.collect();
            let body = json!({"schemas": [urn(word)], "displayName": name, "members": members});
            vec![sent(create("/Groups", &body))]
        }
        _ => {
            let group = sent(create("/groups", &json!({"display_name": name})));
            let joins = rest.split_whitespace().map(|member| {
                let (group, member) = (bracketed(name), bracketed(member));
                sent(format!("PUT /groups/{group}/members/{member} -> 200"))
            });
            [group].into_iter().chain(joins).collect()
        }
    }
}

fn bracketed(name: &str) -> String {
    format!("<{name}>")
}
