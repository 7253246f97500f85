//! Lists of users: order, conditions and pages.
//!
//! Pages are keyset pages: the next page starts after the sort key and the id of the last row, so
//! the last page of a million users costs as much as the first. There is no offset.

use std::{borrow::Cow, sync::Arc};

use crate::{
    id::UserId,
    limits,
    read::filter::{Expression, Filter},
    schema::UserSchema,
    timestamp::Timestamp,
    user::{Deleted, Stored},
};

/// The key by which users are ordered; ties are ordered by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// The id, which is the order of creation.
    Id,
    /// The time of the last change.
    UpdatedAt,
    /// The key of the username.
    Username,
    /// The key of the primary e-mail address.
    Email,
    /// The case-folded family name.
    FamilyName,
    /// The case-folded full name.
    Name,
    /// When the user expires.
    ExpiresAt,
    /// The keys of the index with this number, which the schema names.
    Indexed(i16),
}

impl SortBy {
    /// The orders that every tenant has.
    pub const ALL: &[Self] = &[
        Self::Id,
        Self::UpdatedAt,
        Self::Username,
        Self::Email,
        Self::FamilyName,
        Self::Name,
        Self::ExpiresAt,
    ];

    /// The name in requests; cursors contain it. An index of the schema has only its number here.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Id => "id",
            Self::UpdatedAt => "updated_at",
            Self::Username => "username",
            Self::Email => "email",
            Self::FamilyName => "family_name",
            Self::Name => "name",
            Self::ExpiresAt => "expires_at",
            Self::Indexed(kind) => return Cow::Owned(format!("index {kind}")),
        })
    }
}

/// The direction.
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
    /// The key.
    pub by: SortBy,
    /// The direction.
    pub direction: Direction,
}

/// The sort key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// None: the order is by id.
    Id,
    /// A time.
    Time(Timestamp),
    /// A text key; `None` is an absent value, larger than all others.
    Text(Option<String>),
}

/// The position after a row of an ordered list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// The row's sort key.
    pub key: SortKey,
    /// The row's id.
    pub id: UserId,
}

/// A query for one page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageQuery {
    /// The order.
    pub sort: Sort,
    /// The position where the page starts; `None` for the first page.
    pub after: Option<PageKey>,
    /// The maximum number of users on the page; 0 for the position and the total only.
    pub limit: usize,
    /// The condition; `None` if every user matches.
    pub filter: Option<Arc<Filter>>,
    /// Words that must each be a prefix of a word of the user, as [`crate::words`] computes them;
    /// sorted, without duplicates. Empty without a search.
    pub words: Vec<String>,
    /// Whether to count all users that match the conditions.
    pub count: bool,
    /// The page ends early once its records have this many bytes.
    pub bytes_max: usize,
    /// The page ends early once this many rows were examined.
    pub examined_max: usize,
    /// The page ends early once its rows needed this many comparisons. Counting the matches may
    /// take [`limits::COUNT_FACTOR`] times as many.
    pub comparisons_max: u64,
    /// The schema under which the filter and the order were read. Its indexes may be used.
    pub schema: Arc<UserSchema>,
}

impl PageQuery {
    /// The first page in the order of creation.
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
            comparisons_max: limits::PAGE_COMPARISONS_MAX,
            schema: Arc::default(),
        }
    }
}

impl PageQuery {
    /// Adds a condition, which must also be true.
    #[must_use]
    pub fn with(mut self, condition: Expression) -> Self {
        if !condition.is_always() {
            let before = self.filter.take().map(|filter| filter.expression().clone());
            let all = before.into_iter().fold(condition, |condition, before| before.and(condition));
            self.filter = Some(Arc::new(Filter::new(all)));
        }
        self
    }

    /// Whether every live user matches the conditions.
    pub fn is_unconditional(&self) -> bool {
        self.filter.is_none() && self.words.is_empty()
    }
}

/// The number of users that match the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Exactly this number.
    Exactly(u64),
    /// This number or more; counting stopped there.
    AtLeast(u64),
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The users.
    pub items: Vec<Stored>,
    /// The position where the next page starts; `None` at the end.
    pub next: Option<PageKey>,
    /// The log position of the page's snapshot.
    pub position: i64,
    /// The total, if requested.
    pub total: Option<Total>,
    /// The number of examined rows, if it ended the page.
    pub examined: Option<usize>,
}

/// The position after a deleted user, in the order of deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedKey {
    /// The time of the deletion.
    pub at: Timestamp,
    /// The user's id.
    pub id: UserId,
}

/// A query for one page of deleted users; ties of the time are ordered by id.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletedQuery {
    /// The direction of the order by time of deletion.
    pub direction: Direction,
    /// The position where the page starts; `None` for the first page.
    pub after: Option<DeletedKey>,
    /// The maximum number of users on the page.
    pub limit: usize,
    /// Only users that were deleted before this time.
    pub before: Option<Timestamp>,
    /// The condition, which is tested on each record; `None` if every deleted user matches. Deleted
    /// users are in no group.
    pub filter: Option<Arc<Filter>>,
    /// Words that must each be a prefix of a word of the record; none without a search.
    pub words: Vec<String>,
    /// The page ends early once its records have this many bytes.
    pub bytes_max: usize,
    /// If rows are tested, the page ends early once this many were examined.
    pub examined_max: usize,
    /// If rows are tested, the page ends early once they needed this many comparisons.
    pub comparisons_max: u64,
}

impl DeletedQuery {
    /// The first page, latest deletions first.
    pub fn first(limit: usize) -> Self {
        Self {
            direction: Direction::Descending,
            after: None,
            limit,
            before: None,
            filter: None,
            words: Vec::new(),
            bytes_max: limits::PAGE_BYTES_MAX,
            examined_max: limits::PAGE_EXAMINED_MAX,
            comparisons_max: limits::PAGE_COMPARISONS_MAX,
        }
    }

    /// Whether conditions are tested on each row.
    pub const fn has_tests(&self) -> bool {
        self.filter.is_some() || !self.words.is_empty()
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

/// One page of deleted users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedPage {
    /// The users.
    pub items: Vec<Deleted>,
    /// The position where the next page starts; `None` at the end.
    pub next: Option<DeletedKey>,
    /// The log position of the page's snapshot.
    pub position: i64,
    /// The number of deleted users that are kept, whether or not they match.
    pub total: u64,
    /// The number of examined rows, if it ended the page.
    pub examined: Option<usize>,
}
