//! Runs the rows of a file and reports all failing ones together.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use roster_core::{Rules, Sharing};
use roster_testkit::runtime::block_on;
use serde_json::{Deserializer, Value};

use crate::{
    row::{self, Request, Row, URNS},
    service::{Backend, Engine, Service, Setup},
    subset::difference,
};

/// How many rows run at a time.
const AT_ONCE: usize = 2;
const PATCH_URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// The responses that have a name, and the URNs.
type Named = BTreeMap<String, Value>;

/// Runs every row over an engine, and fails with all that do not hold.
pub(crate) fn hold(engine: Engine, file: &str) {
    let failed = failures(engine, file);
    let (number, texts) = (failed.len(), failed.into_values().collect::<Vec<_>>());
    assert!(number == 0, "{number} failures:\n{}", texts.join("\n"));
}

/// Runs every row over an engine, and fails with all that hold: they belong to the other tables.
pub(crate) fn fail(engine: Engine, file: &str) {
    let failed = failures(engine, file);
    let rows = row::read(file).into_iter().filter(|row| !failed.contains_key(&row.place));
    let held: Vec<String> = rows.map(|row| format!("{}: {}", row.place, row.sentence)).collect();
    assert!(held.is_empty(), "these rows hold now; move them:\n{}", held.join("\n"));
}

/// The rows that do not hold, by their places, with their differences.
fn failures(engine: Engine, file: &str) -> BTreeMap<String, String> {
    let profiles = row::read(file).into_iter().flat_map(|row| {
        // What a profile accepts does not depend on the engine, and PostgreSQL takes longest.
        let is_strict_too = row.both_profiles && engine != Engine::Postgres;
        let strict = is_strict_too.then(|| (row.clone(), true));
        [(row, false)].into_iter().chain(strict)
    });
    let runs = profiles.map(|(row, strict)| async move {
        let title = format!("[{}] {}", row.source, row.sentence);
        let place = row.place.clone();
        // A panic, such as that of an undocumented response, fails the row alone.
        let done = tokio::spawn(run(Backend::new(engine), row, strict)).await;
        let faults = done.unwrap_or_else(|panic| vec![format!("it panics: {panic:?}")]);
        let profile = if strict { " (strict)" } else { "" };
        let text = format!("{title}{profile}\n    {}", faults.join("\n    "));
        (!faults.is_empty()).then_some((place, text))
    });
    let mut failed: BTreeMap<String, String> = BTreeMap::new();
    let runs = stream::iter(runs).buffered(AT_ONCE).filter_map(async |fault| fault);
    for (place, text) in block_on(runs.collect::<Vec<_>>()) {
        let texts = failed.entry(place).or_default();
        texts.push_str(&text);
        texts.push('\n');
    }
    failed
}

/// The differences of a row. A request is sent even if one before it differs.
async fn run(backend: Backend, row: Row, strict: bool) -> Vec<String> {
    let mut rules = Rules::default();
    if row.unique_external_ids {
        rules.external_id = Sharing::Unique;
    }
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    if strict {
        service.close().await;
    }
    let urns = URNS.iter().map(|(name, urn)| ((*name).to_owned(), Value::from(*urn)));
    let mut named: Named = urns.collect();
    let mut faults = Vec::new();
    for request in &row.requests {
        match send(&service, request, &named).await {
            Ok(body) => named.extend(request.name.clone().zip(body)),
            Err(fault) => faults.push(format!("{}: {fault}", request.place)),
        }
    }
    faults
}

/// Sends a request and returns the body of the response, which must be as expected.
async fn send(
    service: &Service,
    request: &Request,
    named: &Named,
) -> Result<Option<Value>, String> {
    let target = escaped(&fill(&request.target, named, str::to_owned));
    // SCIM's endpoints begin with a capital letter, or with the dot of `.search`.
    let is_scim = target
        .strip_prefix('/')
        .is_some_and(|endpoint| endpoint.starts_with(|c: char| c.is_ascii_uppercase() || c == '.'));
    let target = if is_scim { format!("/scim/v2{target}") } else { target };
    let mut sending = service.request(&request.method, &target);
    for (name, value) in &request.headers {
        sending = sending.header(&name.to_ascii_lowercase(), &fill(value, named, str::to_owned));
    }
    if let Some(body) = &request.body {
        let body = fill(body, named, in_json);
        let (media, body) = if is_scim { of_scim(&request.method, body) } else { of_rest(body) };
        let is_typed = request.headers.iter().any(|(name, _)| name == "Content-Type");
        sending = if is_typed { sending.bytes(body) } else { sending.body(media, body) };
    }
    // The description has no path for the slashes that clients add, and one name of the media type
    // of lines.
    let path = target.split('?').next().unwrap_or_default();
    let has_other_name = |(name, value): &(String, String)| {
        name == "Content-Type"
            && ["application/jsonl", "application/ndjson"].iter().any(|it| value.starts_with(it))
    };
    let is_described =
        !path.contains("//") && !path.ends_with('/') && !request.headers.iter().any(has_other_name);
    let reply = if is_described { sending.send().await } else { sending.unwitnessed().await };
    let text = reply.text();
    if reply.status() != request.status {
        return Err(format!("expected {}, not {}: {text}", request.status, reply.status()));
    }
    let found = values(text).unwrap_or_default();
    let expected = fill(request.expected.as_deref().unwrap_or_default(), named, in_json);
    for (at, expected) in values(&expected).expect("the expected body is JSON").iter().enumerate() {
        if let Some(fault) = difference(expected, found.get(at), "") {
            return Err(format!("{fault}\n    {text}"));
        }
    }
    Ok(found.into_iter().next())
}

/// The media type and the bytes of a body for SCIM.
fn of_scim(method: &str, body: String) -> (&'static str, String) {
    let media = "application/scim+json";
    if method != "PATCH" || !body.starts_with('[') {
        return (media, body);
    }
    (media, format!("{{\"schemas\":[\"{PATCH_URN}\"],\"Operations\":{body}}}"))
}

/// The media type and the bytes of a body for REST: several values are lines.
fn of_rest(body: String) -> (&'static str, String) {
    match values(&body) {
        Some(values) if values.len() > 1 => {
            let lines: Vec<String> = values.iter().map(Value::to_string).collect();
            ("application/x-ndjson", lines.join("\n"))
        }
        _ => ("application/json", body),
    }
}

/// The JSON values of a text, one after the other.
fn values(text: &str) -> Option<Vec<Value>> {
    Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()
}

/// The text with the names in angle brackets replaced: `<ann>` is the id of `ann`, `<ANN>` the same
/// in capitals, and `<ann.meta.version>` a member of `ann`.
fn fill(text: &str, named: &Named, escape: fn(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let found = after.split_once('>');
        let value = found.and_then(|(path, after)| Some((escape(&look_up(path, named)?), after)));
        let (value, after) = value.unwrap_or_else(|| ("<".to_owned(), after));
        filled.push_str(&value);
        rest = after;
    }
    filled + rest
}

/// The text as the inside of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn look_up(path: &str, named: &Named) -> Option<String> {
    let mut parts = path.split('.');
    let name = parts.next()?;
    let Some(root) = named.get(name) else {
        let id = named.get(&name.to_lowercase())?.get("id")?;
        return Some(id.as_str()?.to_uppercase());
    };
    let found = parts.try_fold(root, |found, part| match part.parse::<usize>() {
        Ok(index) => found.get(index),
        Err(_) => found.get(part),
    })?;
    let found = if found.is_object() { found.get("id")? } else { found };
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

/// A target with the characters escaped that a URI cannot have. `%` stays, so a row may escape
/// further ones.
fn escaped(target: &str) -> String {
    let mut out = String::new();
    for byte in target.bytes() {
        match byte {
            b'"' | b'#' | b'<' | b'>' | b'[' | b']' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => {
                out.push_str(&format!("%{byte:02X}"));
            }
            _ if byte.is_ascii_graphic() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
