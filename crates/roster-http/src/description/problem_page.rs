//! One page for each problem code: what it means, what to do, what it looks like.
//!
//! The same facts as JSON for programs and as a page for people, both from the registry. The
//! `type` of every problem leads here.

use std::fmt::Write as _;

use bytes::Bytes;
use roster_core::Json;

use super::{
    base_path,
    html::{Page, code_block, escape, inline},
    json,
    tree::{object, set, string},
};
use crate::problem::{
    registry::{self, PROBLEMS, ProblemKind},
    violations::{self, Place, VIOLATIONS, ViolationKind},
};

/// The request id of all examples.
const REQUEST_ID: &str = "4682e01253407550-29";

/// The explanation of a problem or violation code as JSON; `None` for an unknown code.
pub fn problem(code: &str, base_url: &str) -> Option<Bytes> {
    let problem = registry::find(code).map(|kind| explanation(kind, base_url));
    let explained = problem
        .or_else(|| violations::find(code).map(|kind| violation_explanation(kind, base_url)))?;
    Some(json(&explained))
}

/// Every code with its explanation as JSON.
pub fn problem_list(base_url: &str) -> Bytes {
    let problems = PROBLEMS.iter().map(|kind| explanation(kind, base_url)).collect();
    let violations = VIOLATIONS.iter().map(|kind| violation_explanation(kind, base_url)).collect();
    json(&object([("problems", Json::Array(problems)), ("violations", Json::Array(violations))]))
}

/// The explanation of a problem or violation code as a page; `None` for an unknown code.
pub fn problem_page(code: &str, base_url: &str) -> Option<Bytes> {
    if let Some(kind) = registry::find(code) {
        let about = format!("Status <b>{}</b>, code", kind.status);
        let example = example(kind, base_url);
        return Some(page(
            base_url,
            kind.code,
            kind.title,
            &about,
            [kind.meaning, kind.remedy],
            &example,
        ));
    }
    let kind = violations::find(code)?;
    let about = "A single fault in <code>errors</code>, code";
    let example = violation_example(kind, base_url);
    Some(page(base_url, kind.code, kind.title, about, [kind.meaning, kind.remedy], &example))
}

/// Every code as a page.
pub fn problem_list_page(base_url: &str) -> Bytes {
    let base = base_path(base_url);
    let mut body = String::from(
        "<h1>Problem codes</h1>\
         <p>Every error has a stable code. A program can branch on it; a person can read here what \
         it means and what to do.</p><h2>Problems</h2>",
    );
    body.push_str(&problem_table(base));
    body.push_str(
        "<h2>Faults in <code>errors</code></h2>\
         <p>A problem lists the faults that were found, each with its place and one of these \
         codes: 32 of them at most. <code>more</code> counts the others.</p>",
    );
    body.push_str(&violation_table(base));
    Page { title: "Problem codes", base_path: base, contents: None, body: &body }.render()
}

/// The table of problem codes, also for the reference page.
pub(super) fn problem_table(base_path: &str) -> String {
    let rows = PROBLEMS.iter().fold(String::new(), |mut rows, kind| {
        let (code, status, title) = (kind.code, kind.status, escape(kind.title));
        push(&mut rows, format_args!(
            "<tr><th scope=\"row\"><a href=\"{base_path}/problems/{code}\"><code>{code}</code></a>\
             </th><td>{status}</td><td>{title}</td></tr>",
        ));
        rows
    });
    format!(
        "<table class=\"codes\"><thead><tr><th scope=\"col\">Code</th><th scope=\"col\">Status</th>\
         <th scope=\"col\">What happened</th></tr></thead><tbody>{rows}</tbody></table>"
    )
}

fn violation_table(base_path: &str) -> String {
    let rows = VIOLATIONS.iter().fold(String::new(), |mut rows, kind| {
        let (code, title) = (kind.code, escape(kind.title));
        push(&mut rows, format_args!(
            "<tr><th scope=\"row\"><a href=\"{base_path}/problems/{code}\"><code>{code}</code></a>\
             </th><td>{title}</td></tr>",
        ));
        rows
    });
    format!(
        "<table class=\"codes\"><thead><tr><th scope=\"col\">Code</th>\
         <th scope=\"col\">What is wrong</th></tr></thead><tbody>{rows}</tbody></table>"
    )
}

/// Appends formatted text. Writing to memory cannot fail.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    if out.write_fmt(text).is_err() {
        debug_assert!(false, "a string takes all text");
    }
}

fn page(
    base_url: &str,
    code: &str,
    title: &str,
    about: &str,
    [meaning, remedy]: [&str; 2],
    example: &Json,
) -> Bytes {
    let base = base_path(base_url);
    let body = format!(
        "<p class=\"trail\"><a href=\"{base}/problems\">Problem codes</a></p><h1>{}</h1>\
         <p class=\"about\">{about} <code>{code}</code></p>\
         <h2>What it means</h2><p>{}</p><h2>What to do</h2><p>{}</p>\
         <h2>An answer with this code</h2>{}",
        escape(title),
        inline(meaning),
        inline(remedy),
        code_block(example, "Example of the answer"),
    );
    Page { title, base_path: base, contents: None, body: &body }.render()
}

/// The explanation of a problem as a tree.
pub(super) fn explanation(kind: &ProblemKind, base_url: &str) -> Json {
    let mut explained = described(kind.code, kind.title, kind.meaning, kind.remedy, base_url);
    set(&mut explained, "status", Json::Int(kind.status.into()));
    set(&mut explained, "example", example(kind, base_url));
    explained
}

fn violation_explanation(kind: &ViolationKind, base_url: &str) -> Json {
    let mut explained = described(kind.code, kind.title, kind.meaning, kind.remedy, base_url);
    set(&mut explained, "example", violation_example(kind, base_url));
    explained
}

fn described(code: &str, title: &str, meaning: &str, remedy: &str, base_url: &str) -> Json {
    object([
        ("type", string(format!("{base_url}/problems/{code}"))),
        ("code", string(code)),
        ("title", string(title)),
        ("meaning", string(meaning)),
        ("remedy", string(remedy)),
    ])
}

/// An answer with this code, as the service gives it.
pub(super) fn example(kind: &ProblemKind, base_url: &str) -> Json {
    let of_violation = |code: &str| violations::find(code).map(Fault::from);
    let taken = |pointer: &'static str| {
        Some(Fault { place: Place::Pointer(pointer), code: kind.code, detail: kind.detail })
    };
    let fault = match kind.code {
        "invalid-user" => of_violation("invalid-email"),
        "invalid-query" => of_violation("unknown-parameter"),
        "username-taken" => taken("/username"),
        "email-taken" => taken("/email"),
        "external-id-taken" => taken("/external_id"),
        _ => None,
    };
    answer(kind, fault, base_url)
}

fn violation_example(kind: &ViolationKind, base_url: &str) -> Json {
    let code = match kind.place {
        Place::Pointer(_) => "invalid-user",
        Place::Parameter(_) => "invalid-query",
    };
    registry::find(code)
        .map_or(Json::Null, |problem| answer(problem, Some(Fault::from(kind)), base_url))
}

/// One entry of `errors` in an example.
struct Fault {
    place: Place,
    code: &'static str,
    detail: &'static str,
}

impl From<&ViolationKind> for Fault {
    fn from(kind: &ViolationKind) -> Self {
        Self { place: kind.place, code: kind.code, detail: kind.detail }
    }
}

fn answer(kind: &ProblemKind, fault: Option<Fault>, base_url: &str) -> Json {
    let mut answer = object([
        ("type", string(format!("{base_url}/problems/{}", kind.code))),
        ("title", string(kind.title)),
        ("status", Json::Int(kind.status.into())),
        ("code", string(kind.code)),
        ("detail", string(kind.detail)),
        ("request_id", string(REQUEST_ID)),
    ]);
    if let Some(fault) = fault {
        let (name, place) = match fault.place {
            Place::Pointer(pointer) => ("pointer", pointer),
            Place::Parameter(parameter) => ("parameter", parameter),
        };
        let fault = object([
            (name, string(place)),
            ("code", string(fault.code)),
            ("detail", string(fault.detail)),
        ]);
        set(&mut answer, "errors", Json::Array(vec![fault]));
    }
    answer
}
