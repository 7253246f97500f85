//! The ledger: some case must get each documented response and each code.

use roster_core::UserSchema;
use std::{collections::BTreeSet, pin::Pin, sync::PoisonError};

use roster_http::problem::{registry::PROBLEMS, violations::VIOLATIONS};
use roster_testkit::openapi::Description;

use crate::service::{Backend, Engine};

/// A case, to be run on a backend.
pub(crate) type Case = fn(Backend) -> Pin<Box<dyn Future<Output = ()>>>;

/// Documented responses that no case can get, each with its reason.
const EXEMPT: &[(&str, u16, &str)] = &[];

/// The runtime of a case.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime starts")
}

#[test]
fn every_documented_answer_and_every_code_was_seen() {
    let backend = Backend::new(Engine::Oracle);
    for (name, case) in crate::all_cases() {
        runtime().block_on(case(backend.clone()));
        println!("{name}");
    }
    let document = roster_http::description::openapi("http://roster.test", &UserSchema::default());
    let description = Description::load(&document).expect("the document is read");
    let exempt: Vec<(&str, u16)> = EXEMPT.iter().map(|(id, status, _)| (*id, *status)).collect();
    let unseen: Vec<_> = backend.seen.ledger.unobserved(&description, &exempt);
    // The SCIM interface has its own suite.
    let unseen: Vec<_> =
        unseen.into_iter().filter(|(operation, _)| !operation.starts_with("scim")).collect();
    assert_eq!(unseen, [], "documented, but never given");
    let needless = backend.seen.ledger.needless(&description, &exempt);
    assert_eq!(needless, [], "exempt without need");

    let codes = backend.seen.codes.lock().unwrap_or_else(PoisonError::into_inner);
    let known =
        PROBLEMS.iter().map(|kind| kind.code).chain(VIOLATIONS.iter().map(|kind| kind.code));
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    assert_eq!(*codes, known, "the codes that were given, and those that have a page");
}
