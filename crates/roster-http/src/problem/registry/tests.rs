//! Tests of the registry: codes, their order and their texts.

use super::*;
use crate::problem::violations::VIOLATIONS;

#[test]
fn codes_are_unique_and_well_formed() {
    let mut codes: Vec<&str> = PROBLEMS.iter().map(|kind| kind.code).collect();
    codes.extend(VIOLATIONS.iter().map(|kind| kind.code));
    for code in &codes {
        assert!(code.len() <= 64, "{code}");
        assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
    }
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), count);
}

#[test]
fn problems_stand_in_the_order_of_their_status() {
    assert!(PROBLEMS.is_sorted_by_key(|kind| kind.status));
    assert!(PROBLEMS.iter().all(|kind| (400..600).contains(&kind.status)));
}

#[test]
fn texts_are_sentences() {
    for kind in PROBLEMS {
        for text in [kind.meaning, kind.remedy] {
            assert!(text.ends_with('.'), "{}: {text}", kind.code);
            assert!(!text.contains("  "), "{}: {text}", kind.code);
            assert_eq!(text.matches('`').count() % 2, 0, "{}: {text}", kind.code);
        }
        for text in [kind.title, kind.detail] {
            assert!(!text.ends_with('.'), "{}: {text}", kind.code);
        }
    }
}

#[test]
fn a_problem_is_found_by_its_code_alone() {
    assert_eq!(find("user-not-found").map(|kind| kind.status), Some(404));
    assert_eq!(find("User-Not-Found"), None);
    assert_eq!(find(""), None);
}
