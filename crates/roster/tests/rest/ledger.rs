//! The ledger: some case must get each documented response and each code.

use roster_core::UserSchema;
use std::{collections::BTreeSet, sync::PoisonError};

use roster_http::problem::{registry::PROBLEMS, violations::VIOLATIONS};
use roster_test_service::cases::run_all;
use roster_testkit::openapi::Description;

/// Documented responses that no case can get, each with its reason.
const EXEMPT: &[(&str, u16, &str)] = &[];

#[test]
fn every_documented_answer_and_every_code_was_seen() {
    let backend = run_all(crate::all_cases());
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
