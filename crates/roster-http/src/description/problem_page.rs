//! The explanation of each problem code: its meaning, its remedy and an example.
//!
//! Each explanation is available as JSON for programs and as a page for people. Both are made from
//! the registries. The `type` of every problem is the URL of its explanation.

use bytes::Bytes;
use roster_core::Json;

use super::{
    json,
    page::render,
    tree::{object, set, string},
};
use crate::problem::{
    Fault, Problem, ProblemCode,
    violations::{self, Place, VIOLATIONS, ViolationKind},
};

/// The request id of all examples.
const REQUEST_ID: &str = "4682e01253407550-29";

/// The explanation of a problem or violation code as JSON; `None` for an unknown code.
pub fn problem(code: &str, base_url: &str) -> Option<Bytes> {
    explanation(code, base_url).map(|explained| json(&explained))
}

/// Every code with its explanation as JSON.
pub fn problem_list(base_url: &str) -> Bytes {
    json(&explanations(base_url))
}

/// The explanation of a problem or violation code as a page; `None` for an unknown code.
pub fn problem_page(code: &str, base_url: &str) -> Option<Bytes> {
    explanation(code, base_url).map(|explained| render("problem.html", base_url, &explained))
}

/// Every code as a page.
pub fn problem_list_page(base_url: &str) -> Bytes {
    render("problems.html", base_url, &explanations(base_url))
}

/// The explanation of a code as a tree.
pub(super) fn explanation(code: &str, base_url: &str) -> Option<Json> {
    let problem = ProblemCode::parse(code).map(|code| of_problem(code, base_url));
    problem.or_else(|| violations::find(code).map(|kind| of_violation(kind, base_url)))
}

/// The explanations of all codes as a tree.
pub(super) fn explanations(base_url: &str) -> Json {
    let problems = ProblemCode::ALL.iter().map(|code| of_problem(*code, base_url)).collect();
    let violations = VIOLATIONS.iter().map(|kind| of_violation(kind, base_url)).collect();
    object([("problems", Json::Array(problems)), ("violations", Json::Array(violations))])
}

fn of_problem(code: ProblemCode, base_url: &str) -> Json {
    let kind = code.kind();
    let mut explained = described(kind.code, [kind.title, kind.meaning, kind.remedy], base_url);
    set(&mut explained, "status", Json::Int(kind.status.into()));
    set(&mut explained, "example", example(code, base_url));
    explained
}

fn of_violation(kind: &ViolationKind, base_url: &str) -> Json {
    let code = match kind.place {
        Place::Pointer(_) | Place::Cell(..) => ProblemCode::InvalidUser,
        Place::Column(_) if kind.code.ends_with("-cell") => ProblemCode::MalformedCsv,
        Place::Column(_) => ProblemCode::InvalidColumns,
        Place::Parameter(_) => ProblemCode::InvalidQuery,
    };
    let mut explained = described(kind.code, [kind.title, kind.meaning, kind.remedy], base_url);
    set(&mut explained, "example", answer(code, Some(kind.into()), base_url));
    explained
}

fn described(code: &str, [title, meaning, remedy]: [&str; 3], base_url: &str) -> Json {
    object([
        ("type", string(format!("{base_url}/problems/{code}"))),
        ("code", string(code)),
        ("title", string(title)),
        ("meaning", string(meaning)),
        ("remedy", string(remedy)),
    ])
}

/// An example of a response with this code.
pub(super) fn example(code: ProblemCode, base_url: &str) -> Json {
    let kind = code.kind();
    let of_violation = |code| violations::find(code).map(Fault::from);
    let taken = |pointer: &str| Some(Fault::at(pointer, kind.code, kind.detail));
    let fault = match kind.code {
        "invalid-user" => of_violation("invalid-email"),
        "invalid-query" => of_violation("unknown-parameter"),
        "username-taken" => taken("/username"),
        "email-taken" => taken("/email"),
        "external-id-taken" => taken("/external_id"),
        "attribute-taken" => taken("/attributes/badge"),
        "id-taken" => taken("/id"),
        _ => None,
    };
    answer(code, fault, base_url)
}

fn answer(code: ProblemCode, fault: Option<Fault>, base_url: &str) -> Json {
    let problem = Problem::new(code).with_faults(fault.into_iter().collect());
    Json::Object(problem.into_members(base_url, Some(REQUEST_ID)))
}

impl From<&ViolationKind> for Fault {
    fn from(kind: &ViolationKind) -> Self {
        match kind.place {
            Place::Pointer(pointer) => Self::at(pointer, kind.code, kind.detail),
            Place::Parameter(name) => Self::of_parameter(name, kind.code, kind.detail),
            Place::Cell(pointer, header) => {
                Self::at(pointer, kind.code, kind.detail).with_column(header.to_owned())
            }
            Place::Column(header) => Self::in_column(header.to_owned(), kind.code, kind.detail),
        }
    }
}
