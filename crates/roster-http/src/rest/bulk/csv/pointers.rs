//! The columns of the faults of a row.

use std::{borrow::Cow, cell::OnceCell, collections::BTreeSet};

use roster_core::Attribute;

use super::{
    columns::{Column, Columns},
    names::Target,
};

/// Finds the columns that pointers into the record of a row lead to.
pub(in super::super) struct Pointers<'c> {
    columns: &'c Columns,
    row: &'c [u8],
    /// The columns with a value in the row, found for the first pointer into a list.
    filled: OnceCell<Vec<&'c Column>>,
}

impl<'c> Pointers<'c> {
    pub(in super::super) const fn new(columns: &'c Columns, row: &'c [u8]) -> Self {
        Self { columns, row, filled: OnceCell::new() }
    }

    /// The header of the column that has the member at a pointer, or a member around or in it.
    pub(in super::super) fn column(&self, pointer: &str) -> Option<&'c str> {
        if pointer.is_empty() {
            return None;
        }
        let pointer = &*self.in_columns(pointer);
        let place = |column: &&Column| {
            let own = column.pointer.as_str();
            let is_around = |outer: &str, inner: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if own.is_empty() {
                None
            } else if is_around(own, pointer) {
                // The longest one is the nearest.
                Some(own.len() * 2 + 1)
            } else if is_around(pointer, own) {
                Some(0)
            } else {
                None
            }
        };
        let found = self.columns.all.iter().filter_map(|column| Some((place(&column)?, column)));
        // Of several, the first.
        let found = found.fold(None, |best: Option<(usize, &Column)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        });
        found.map(|(_, column)| column.header.as_str())
    }

    /// A pointer into a list of the record, with the index that the columns have. The list has no
    /// entry for columns whose cells are empty.
    fn in_columns<'p>(&self, pointer: &'p str) -> Cow<'p, str> {
        let mut segments = pointer.split('/').skip(1);
        let list = segments.next().and_then(Attribute::from_name);
        let place = segments.next().and_then(|place| place.parse::<usize>().ok());
        let (Some(list), Some(place)) = (list, place) else { return pointer.into() };
        let (mut indexes, mut has_short_form) = (BTreeSet::new(), false);
        for column in self.filled() {
            match column.target {
                Some(Target::Entry { list: own, index, .. }) if own == list => {
                    indexes.insert(index);
                }
                Some(Target::Member(own)) => has_short_form |= list.short_form() == Some(own),
                _ => {}
            }
        }
        let makes_entry = has_short_form && !indexes.is_empty() && indexes.insert(0);
        let Some(index) = indexes.into_iter().nth(place) else { return pointer.into() };
        match list.short_form() {
            Some(short) if makes_entry && index == 0 => format!("/{}", short.name()).into(),
            _ => {
                let rest = segments.map(|segment| format!("/{segment}"));
                format!("/{}/{index}{}", list.name(), rest.collect::<String>()).into()
            }
        }
    }

    fn filled(&self) -> &[&'c Column] {
        self.filled.get_or_init(|| {
            let cells = self.columns.cells.read(self.row);
            let filled = self.columns.all.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            filled.map(|(column, _)| column).collect()
        })
    }
}
