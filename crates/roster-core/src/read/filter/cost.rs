//! An upper bound of the comparisons that a filter needs for one record.

use super::{
    RECORD_COMPARISONS_MAX,
    evaluate::FORM_COMPARISONS_PER_BYTE,
    expression::{Comparison, Expression, Path, Test},
};
use crate::{
    limits::{ATTRIBUTES_BYTES_MAX, ENTRIES_MAX, TEXT_LENGTH_MAX, USER_BYTES_MAX},
    user::attribute::Kind,
    work::BYTES_PER_COMPARISON,
};

/// The comparisons of a test with one value.
const ONE: usize = of_text(4 * TEXT_LENGTH_MAX);

/// The comparisons of a test with every value of a list: its texts are a record at most.
const LIST: usize = ENTRIES_MAX + of_text(USER_BYTES_MAX);

const fn of_text(bytes: usize) -> usize {
    1 + bytes / BYTES_PER_COMPARISON + bytes * FORM_COMPARISONS_PER_BYTE
}

/// An upper bound of the comparisons that the filter needs for one record. Groups are not in the
/// record, so a filter that reads them has no bound.
pub(super) fn comparisons_max(expression: &Expression) -> usize {
    RECORD_COMPARISONS_MAX.saturating_add(of(expression))
}

fn of(expression: &Expression) -> usize {
    match expression {
        Expression::And(all) | Expression::Or(all) => {
            all.iter().map(of).fold(0, usize::saturating_add)
        }
        Expression::Not(inner) => of(inner),
        Expression::Test(test) => of_test(test),
        // The paths inside the brackets are parts of a list too.
        Expression::Entry(list, inner) => {
            if list.attribute().is_some() {
                of(inner)
            } else {
                usize::MAX
            }
        }
    }
}

const fn of_test(test: &Test) -> usize {
    match &test.path {
        Path::Groups | Path::Group(_) => usize::MAX,
        Path::Free(path) if matches!(path.comparison, Comparison::FoldedJson) => {
            ATTRIBUTES_BYTES_MAX / 2 + of_text(ATTRIBUTES_BYTES_MAX)
        }
        Path::Free(_) => ATTRIBUTES_BYTES_MAX / 2,
        Path::Part(attribute, _) if matches!(attribute.kind(), Kind::Many(_)) => LIST,
        Path::Part(..) | Path::Member(_) => ONE,
    }
}
