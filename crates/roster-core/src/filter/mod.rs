//! Filters of a list.

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter;
