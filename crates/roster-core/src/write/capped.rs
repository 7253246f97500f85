//! A list that keeps its first items and counts the rest.
//!
//! A request can contain a million violations. A response lists [`ERRORS_MAX`] of them, and the
//! others must cost neither time nor memory for their texts.

use std::vec;

use crate::limits::ERRORS_MAX;

/// At most [`ERRORS_MAX`] items, and the number of omitted ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped<T> {
    items: Vec<T>,
    omitted: usize,
}

impl<T> Capped<T> {
    /// Adds an item. `item` is called only if it is kept.
    pub fn push(&mut self, item: impl FnOnce() -> T) {
        if self.items.len() < ERRORS_MAX {
            self.items.push(item());
        } else {
            self.omitted += 1;
        }
    }

    /// Counts omitted items.
    pub const fn omit(&mut self, count: usize) {
        self.omitted = self.omitted.saturating_add(count);
    }

    /// The kept items.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The number of omitted items.
    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// The number of items, including omitted ones.
    pub const fn total(&self) -> usize {
        self.items.len().saturating_add(self.omitted)
    }

    /// Whether there is no item, kept or omitted.
    pub const fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Converts each kept item.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Capped<U> {
        Capped { items: self.items.into_iter().map(change).collect(), omitted: self.omitted }
    }
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { items: Vec::new(), omitted: 0 }
    }
}

impl<T> From<T> for Capped<T> {
    fn from(item: T) -> Self {
        Self { items: vec![item], omitted: 0 }
    }
}

impl<T> Extend<T> for Capped<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(|| item));
    }
}

impl<T> FromIterator<T> for Capped<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        list.extend(items);
        list
    }
}

impl<T> IntoIterator for Capped<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_beyond_the_cap_are_counted_and_never_created() {
        let mut list = Capped::default();
        let mut made = 0;
        for number in 0..1000 {
            list.push(|| {
                made += 1;
                number
            });
        }
        assert_eq!((made, list.items().len()), (ERRORS_MAX, ERRORS_MAX));
        assert_eq!((list.omitted(), list.total()), (1000 - ERRORS_MAX, 1000));
        assert_eq!(list.items().last(), Some(&(ERRORS_MAX - 1)));
    }
}
