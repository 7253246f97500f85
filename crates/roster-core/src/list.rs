//! A list of users: its order, its conditions, its pages.
//!
//! Pages are keyset pages: the next one begins after the last row's sort key and id, so that the
//! last page of a million costs what the first costs. There is no offset.

use std::sync::Arc;

use crate::{
    filter::{Expression, Filter},
    id::UserId,
    limits,
    timestamp::Timestamp,
    user::{Deleted, Stored},
};

/// What the users are ordered by; ties break by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// The id: creation order.
    Id,
    /// The moment of the last change.
    UpdatedAt,
    /// The key of the user name.
    Username,
    /// The key of the primary e-mail address.
    Email,
    /// The folded family name.
    FamilyName,
    /// The folded full name.
    Name,
}

impl SortBy {
    /// Every order.
    pub const ALL: &[Self] =
        &[Self::Id, Self::UpdatedAt, Self::Username, Self::Email, Self::FamilyName, Self::Name];

    /// The name that callers use; cursors contain it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::UpdatedAt => "updated_at",
            Self::Username => "username",
            Self::Email => "email",
            Self::FamilyName => "family_name",
            Self::Name => "name",
        }
    }
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first, absent values last.
    Ascending,
    /// Largest first, absent values first.
    Descending,
}

/// An order of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sort {
    /// By what.
    pub by: SortBy,
    /// Which way.
    pub direction: Direction,
}

/// The value of a row that its order compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// The id alone.
    Id,
    /// A moment.
    Time(Timestamp),
    /// A text key; `None` is an absent value, larger than all others.
    Text(Option<String>),
}

/// The place between two rows of an ordered list: after the row of this key and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The row's sort key.
    pub key: SortKey,
    /// The row's id.
    pub id: UserId,
}

/// A question for one page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageQuery {
    /// The order.
    pub sort: Sort,
    /// Where the page begins; `None` at the start.
    pub after: Option<PageKey>,
    /// Most users on the page; 0 asks for the head and the total alone.
    pub limit: usize,
    /// The condition; `None` if every user meets it.
    pub filter: Option<Arc<Filter>>,
    /// Words that must all begin some word of the user, as [`crate::words`] makes them; sorted,
    /// none twice. Empty where nothing is searched for.
    pub words: Vec<String>,
    /// Whether to count all users that meet the conditions.
    pub count: bool,
    /// The page ends early once its records hold this many bytes.
    pub bytes_max: usize,
    /// The page ends early once this many rows were looked at.
    pub examined_max: usize,
}

impl PageQuery {
    /// The first page in creation order.
    pub fn first(limit: usize) -> Self {
        Self {
            sort: Sort { by: SortBy::Id, direction: Direction::Ascending },
            after: None,
            limit,
            filter: None,
            words: Vec::new(),
            count: false,
            bytes_max: limits::PAGE_BYTES_MAX,
            examined_max: limits::PAGE_EXAMINED_MAX,
        }
    }
}

impl PageQuery {
    /// Adds a condition, which must hold too.
    #[must_use]
    pub fn with(mut self, condition: Expression) -> Self {
        if !condition.is_always() {
            let before = self.filter.take().map(|filter| filter.expression().clone());
            let all = before.into_iter().fold(condition, |condition, before| before.and(condition));
            self.filter = Some(Arc::new(Filter::new(all)));
        }
        self
    }

    /// Whether every live user meets the conditions.
    pub fn is_unconditional(&self) -> bool {
        self.filter.is_none() && self.words.is_empty()
    }
}

/// How many users meet the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// So many.
    Exactly(u64),
    /// So many or more; counting stopped there.
    AtLeast(u64),
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The users.
    pub items: Vec<Stored>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<PageKey>,
    /// The log position that the page reflects.
    pub position: i64,
    /// The count, if it was asked for.
    pub total: Option<Total>,
    /// How many rows were looked at, if that is what ended the page.
    pub examined: Option<usize>,
}

/// The place after a deleted user, in the order of their leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedKey {
    /// When it left.
    pub at: Timestamp,
    /// Which user.
    pub id: UserId,
}

/// A question for one page of the deleted users; ties of the moment break by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedQuery {
    /// Which way by the moment of leaving.
    pub direction: Direction,
    /// Where the page begins; `None` at the start.
    pub after: Option<DeletedKey>,
    /// Most users on the page.
    pub limit: usize,
    /// Users that left before this moment alone.
    pub before: Option<Timestamp>,
    /// The page ends early once its records hold this many bytes.
    pub bytes_max: usize,
}

impl DeletedQuery {
    /// The first page, the last to leave first.
    pub fn first(limit: usize) -> Self {
        Self {
            direction: Direction::Descending,
            after: None,
            limit,
            before: None,
            bytes_max: limits::PAGE_BYTES_MAX,
        }
    }

    /// The bounds that a statement needs: `after` and `before`. In descending order both bound the
    /// same end, so only the nearer one is needed. Only `after` separates users that were deleted
    /// in one millisecond.
    pub fn bounds(&self) -> (Option<DeletedKey>, Option<Timestamp>) {
        let descending = self.direction == Direction::Descending;
        let is_nearer = |before: &Timestamp| self.after.is_none_or(|after| after.at >= *before);
        let before = self.before.filter(|before| !descending || is_nearer(before));
        (self.after.filter(|_| !descending || before.is_none()), before)
    }
}

/// One page of the deleted users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedPage {
    /// The users.
    pub items: Vec<Deleted>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<DeletedKey>,
    /// The log position that the page reflects.
    pub position: i64,
    /// How many deleted users are kept.
    pub total: u64,
}
