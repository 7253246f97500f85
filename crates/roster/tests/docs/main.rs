//! The documents, compared with the program.
//!
//! Every curl example of each page below `docs/` runs, in the page's order, against the built
//! binary on an empty data directory, and must print what the page shows. Values that differ
//! between runs (ids, times, request ids, positions, cursors, the date, the version) may differ,
//! but each such value of a document must always stand for the same value of the run, also in later
//! commands. For an outdated document, the test writes a corrected one below `target/tmp`, for
//! review.

#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::panic, reason = "a difference fails the test")]

mod answer;
mod examples;
mod service;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roster::config::{SETTINGS, settings_as_markdown};
use roster_core::{Attribute, UserSchema, filter::Operator, limits};
use roster_http::operation::Operation;
use serde_json::Value;

use examples::Examples;
use service::{curl, serve};

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(document: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(document)).unwrap()
}

/// Writes the corrected document, and returns its path.
fn write_corrected(document: &str, text: &str) -> String {
    let name = document.replace('/', "-");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Each document with examples, and their minimum number.
const WITH_EXAMPLES: &[(&str, usize)] = &[
    ("docs/quickstart.md", 10),
    ("docs/interface.md", 11),
    ("docs/api.md", 12),
    ("docs/lists.md", 4),
    ("docs/filter.md", 6),
    ("docs/bulk.md", 4),
    ("docs/bring-your-users.md", 12),
    ("docs/retries.md", 4),
    ("docs/deleted-users.md", 5),
    ("docs/events.md", 4),
    ("docs/schema.md", 4),
    ("docs/groups.md", 6),
    ("docs/tenants.md", 10),
    ("docs/cli.md", 18),
];

/// Runs every example of a document.
fn check_examples(document: &str) {
    let text = read(document);
    let least = WITH_EXAMPLES.iter().find(|(known, _)| *known == document).unwrap().1;
    let (place, service) = serve();
    let outcome = Examples::of(&text).run(&place, &service);
    assert!(outcome.count >= least, "{document} has {} examples", outcome.count);
    if let Some(difference) = outcome.difference {
        let path = write_corrected(document, &outcome.text);
        panic!("{document} is outdated; {path} is the corrected document.\n{difference}");
    }
}

#[test]
fn the_lines_of_the_readme_run_when_pasted() {
    let text = read("README.md");
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let script: String = blocks.filter(|block| block.contains("curl ")).collect();
    let (_place, service) = serve();
    let output = curl(&service, &format!("set -e\n{script}"));
    for part in ["\"name\":\"Ada Lovelace\"", "\"name\":\"Ada King\"", "\"items\":[{"] {
        assert!(output.contains(part), "{output}");
    }
    assert!(!output.contains("/problems/"), "{output}");
}

#[test]
fn the_examples_of_the_quickstart_are_current() {
    check_examples("docs/quickstart.md");
}

#[test]
fn the_examples_of_the_interface_are_current() {
    check_examples("docs/interface.md");
}

#[test]
fn the_examples_of_the_guide_are_current() {
    check_examples("docs/api.md");
}

#[test]
fn the_examples_of_lists_are_current() {
    check_examples("docs/lists.md");
}

#[test]
fn the_examples_of_filters_are_current() {
    check_examples("docs/filter.md");
}

#[test]
fn the_examples_of_bring_your_users_are_current() {
    check_examples("docs/bring-your-users.md");
}

#[test]
fn the_examples_of_the_command_line_are_current() {
    check_examples("docs/cli.md");
}

#[test]
fn the_examples_of_bulk_are_current() {
    check_examples("docs/bulk.md");
}

#[test]
fn the_examples_of_retries_are_current() {
    check_examples("docs/retries.md");
}

#[test]
fn the_examples_of_deleted_users_are_current() {
    check_examples("docs/deleted-users.md");
}

#[test]
fn the_examples_of_groups_are_current() {
    check_examples("docs/groups.md");
}

#[test]
fn the_examples_of_events_are_current() {
    check_examples("docs/events.md");
}

#[test]
fn the_examples_of_the_schema_are_current() {
    check_examples("docs/schema.md");
}

#[test]
fn the_examples_of_tenants_are_current() {
    check_examples("docs/tenants.md");
}

#[test]
fn every_page_with_examples_is_run() {
    let folder = Path::new(ROOT).join("docs");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = format!("docs/{}", path.file_name().unwrap().display());
        let is_listed = WITH_EXAMPLES.iter().any(|(known, _)| *known == page);
        let has_examples = read(&page).contains("```console");
        assert_eq!(is_listed, has_examples, "{page}");
    }
}

#[test]
fn the_page_on_filters_names_every_operator() {
    let page = read("docs/filter.md");
    for operator in Operator::ALL {
        assert!(page.contains(&format!("| `{}` |", operator.as_str())), "{operator:?}");
    }
}

#[test]
fn the_pages_state_the_current_limits() {
    for (page, limits) in [
        (
            "docs/lists.md",
            &[
                limits::PAGE_SIZE_DEFAULT,
                limits::PAGE_SIZE_MAX,
                limits::PAGE_EXAMINED_MAX,
                limits::ID_PARAMETERS_MAX,
                limits::SEARCH_LENGTH_MAX,
                limits::SEARCH_WORDS_MAX,
            ][..],
        ),
        (
            "docs/filter.md",
            &[
                limits::FILTER_LENGTH_MAX,
                limits::FILTER_DEPTH_MAX,
                limits::FILTER_TERMS_MAX,
                limits::PAGE_EXAMINED_MAX,
            ][..],
        ),
        ("docs/retries.md", &[limits::IDEMPOTENCY_KEY_LENGTH_MAX][..]),
    ] {
        let text = read(page).replace(',', "");
        for limit in limits {
            let stated = text.split(|c: char| !c.is_ascii_digit()).any(|n| n == limit.to_string());
            assert!(stated, "{page} does not state {limit}");
        }
    }
}

/// The cells of the rows of a page's tables.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    lines.map(|line| line.split('|').map(str::trim).collect())
}

#[test]
fn tables_state_the_limits_of_the_service_document() {
    // Another test compares this example with a response of the service.
    let description =
        roster_http::description::openapi("http://roster.test", &UserSchema::default());
    let description: Value = serde_json::from_slice(&description).unwrap();
    let limits = &description["components"]["examples"]["ServiceDocument"]["value"]["limits"];
    let limits = limits.as_object().unwrap();
    let mut stated = BTreeSet::new();
    for entry in fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        for cells in rows(&page) {
            let name = cells.get(1).map_or("", |cell| cell.trim_matches('`'));
            let Some(limit) = limits.get(name) else { continue };
            assert_eq!(cells[2].replace(',', ""), limit.to_string(), "{} {name}", path.display());
            stated.insert((path.file_name().unwrap().to_owned(), name.to_owned()));
        }
    }
    let of_limits = |name: &String| stated.contains(&("limits.md".into(), name.clone()));
    let meant = |name: &&String| {
        ["group", "scim_", "bulk_", "patch_"].iter().any(|kind| name.starts_with(kind))
    };
    let missing: Vec<_> = limits.keys().filter(meant).filter(|name| !of_limits(name)).collect();
    assert!(missing.is_empty(), "docs/limits.md does not state {missing:?}");
}

#[test]
fn the_manual_lists_the_current_settings() {
    let document = "docs/configuration.md";
    let text = read(document);
    let (begin, end) = ("<!-- settings: begin -->\n", "<!-- settings: end -->\n");
    let (before, rest) = text.split_once(begin).unwrap();
    let (stated, after) = rest.split_once(end).unwrap();
    let table = settings_as_markdown();
    if stated.trim() != table.trim() {
        let path = write_corrected(document, &format!("{before}{begin}\n{table}\n{end}{after}"));
        panic!("{document} is outdated; {path} is the corrected document.");
    }
}

#[test]
fn flags_and_variables_are_named_after_their_key_as_the_manual_says() {
    for setting in SETTINGS {
        assert_eq!(setting.flag, setting.key.replace('_', "-"));
        assert_eq!(setting.env, format!("ROSTER_{}", setting.key.to_uppercase()));
    }
}

#[test]
fn the_guide_names_every_member_of_a_user() {
    let guide = read("docs/api.md");
    for attribute in Attribute::ALL {
        let name = attribute.name();
        assert!(guide.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_guide_names_every_endpoint_of_users_and_events() {
    let guide = read("docs/api.md");
    let named = ["/users", "/deleted-users", "/bulk/", "/events"];
    for operation in Operation::ALL {
        let (method, path) = (operation.method(), operation.path());
        if named.iter().any(|stem| path.starts_with(stem)) {
            let row = format!("| `{method}` | `{path}` |");
            assert!(guide.contains(&row), "{row}");
        }
    }
}

/// The five endpoints that no version changes.
const ENDPOINTS: [(&str, &str); 5] = [
    ("GET", "/users"),
    ("POST", "/users"),
    ("GET", "/users/{user_id}"),
    ("PUT", "/users/{user_id}"),
    ("DELETE", "/users/{user_id}"),
];

#[test]
fn the_first_table_of_the_readme_names_the_test_of_each_endpoint() {
    let (readme, cases, script) =
        (read("README.md"), read("crates/roster/tests/rest/endpoints.rs"), read("test"));
    let mut table = rows(&readme).skip_while(|cells| cells[0].contains("Endpoint"));
    for (method, path) in ENDPOINTS {
        let cells = table.next().unwrap();
        assert_eq!(cells[0], format!("`{method} {path}`"));
        let test = cells[2].split('`').nth(1).unwrap();
        assert!(cases.contains(&format!("pub(crate) async fn {test}(")), "{test}");
        assert!(script.contains(&format!("sqlite::{test}\n")), "{test}");
    }
    assert_eq!(cases.matches("pub(crate) async fn").count(), ENDPOINTS.len());
}

#[test]
fn the_interface_has_nine_parts_each_with_an_example_and_a_link() {
    let page = read("docs/interface.md");
    let parts: Vec<&str> = page.split("\n## ").skip(1).collect();
    let headings: Vec<&str> = parts.iter().filter_map(|part| part.lines().next()).collect();
    let expected = [
        "1. What the service does",
        "2. Resources and fields",
        "3. States and transitions",
        "4. Endpoints",
        "5. Authentication",
        "6. Events",
        "7. Errors",
        "8. Limits",
        "9. Versioning",
    ];
    assert_eq!(headings, expected);
    for part in parts {
        assert!(
            part.contains("$ curl ") && part.contains("](") && part.contains("More: "),
            "{part}"
        );
    }
    for (method, path) in ENDPOINTS {
        assert!(page.contains(&format!("| `{method} {path}` |")), "{method} {path}");
    }
}

#[test]
fn the_diagram_of_states_is_that_of_the_reference() {
    let page = read("docs/interface.md");
    let reference = read("crates/roster-http/openapi/sections/states.md");
    let diagram = |text: &str| {
        let (_, rest) = text.split_once("```text\n").unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    assert_eq!(diagram(&page), diagram(&reference));
}

#[test]
fn the_manual_names_every_metric_and_no_other() {
    let (_place, service) = serve();
    // A metric with labels appears after its first use.
    curl(&service, "curl http://127.0.0.1:8080/livez");
    let webhook = r#"{"name":"x","url":"https://h.example.com/r"}"#;
    assert_eq!(service.ask("POST", "/webhooks", webhook).status, 201);
    let metrics = || curl(&service, "curl http://127.0.0.1:8080/metrics");
    let mut page = metrics();
    let began = Instant::now();
    while !page.contains("{tenant=\"\",webhook=") {
        assert!(began.elapsed() < Duration::from_secs(30), "the webhook is not served");
        thread::sleep(Duration::from_millis(50));
        page = metrics();
    }
    let measured: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.into() })
        .collect();
    let manual = read("docs/operations.md");
    let stated: BTreeSet<String> = manual
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.starts_with("roster_"))
        .map(|code| code.split('{').next().unwrap().to_owned())
        .collect();
    assert_eq!(stated, measured);
}
