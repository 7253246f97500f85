//! Queries for groups, their members, and the groups of users.
//!
//! All pages are keyset pages. Groups are in the order of ids or of names, members in that of ids.

use super::{Group, GroupFilter, GroupId, Member};
use crate::{
    id::UserId,
    limits,
    list::{Direction, PageKey, Sort, SortBy, Total},
    user::Stored,
    words::{comparisons_of_text, matches_words, words_of_text},
};

/// A query for one page of groups. All conditions must be true.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupQuery {
    /// The order: by [`SortBy::Name`], or else by id.
    pub sort: Sort,
    /// Only groups after this one.
    pub after: Option<PageKey>,
    /// The maximum number of groups on the page; 0 for the total only.
    pub limit: usize,
    /// Only these ids; sorted, without duplicates.
    pub ids: Option<Vec<GroupId>>,
    /// Only the group with this key of its name.
    pub name_key: Option<String>,
    /// Only groups with this external id.
    pub external_id: Option<String>,
    /// Only groups with this direct member.
    pub member: Option<UserId>,
    /// Conditions that are tested on each group.
    pub filter: GroupFilter,
    /// Words that must each be a prefix of a word of the name, as [`crate::words`] computes them;
    /// none without a search.
    pub words: Vec<String>,
    /// Whether to count all groups that match the conditions.
    pub count: bool,
    /// The page ends early once its records have this many bytes.
    pub bytes_max: usize,
    /// If groups are tested, the page ends early once this many were examined.
    pub examined_max: usize,
    /// If groups are tested, the page ends early once they needed this many comparisons. Counting
    /// the matches may take [`limits::COUNT_FACTOR`] times as many.
    pub comparisons_max: u64,
}

impl GroupQuery {
    /// The first page.
    pub const fn first(limit: usize) -> Self {
        Self {
            sort: Sort { by: SortBy::Id, direction: Direction::Ascending },
            after: None,
            limit,
            ids: None,
            name_key: None,
            external_id: None,
            member: None,
            filter: GroupFilter::NONE,
            words: Vec::new(),
            count: false,
            bytes_max: limits::PAGE_BYTES_MAX,
            examined_max: limits::PAGE_EXAMINED_MAX,
            comparisons_max: limits::PAGE_COMPARISONS_MAX,
        }
    }

    /// Whether every group matches the conditions.
    pub const fn is_unconditional(&self) -> bool {
        self.ids.is_none()
            && self.name_key.is_none()
            && self.external_id.is_none()
            && self.member.is_none()
            && !self.has_tests()
    }

    /// Whether conditions are tested on each group, because no index covers them.
    pub const fn has_tests(&self) -> bool {
        !self.filter.is_empty() || !self.words.is_empty()
    }

    /// Whether a group matches these conditions.
    pub fn tests(&self, group: &Group, has_members: bool) -> bool {
        self.filter.matches(group, has_members)
            && (self.words.is_empty()
                || matches_words(&self.words, &words_of_text(&group.display_name)))
    }

    /// An upper bound of the comparisons that testing a group takes, whose record has this size.
    pub fn comparisons(&self, group: &Group, record_bytes: usize) -> usize {
        let is_searched = !self.words.is_empty();
        let words = if is_searched { comparisons_of_text(&group.display_name) } else { 0 };
        self.filter.comparisons(record_bytes) + words
    }
}

/// One page of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPage {
    /// The groups.
    pub items: Vec<Stored>,
    /// The last item, if there are further ones; `None` at the end.
    pub next: Option<PageKey>,
    /// The log position of the page's snapshot.
    pub position: i64,
    /// The total, if requested.
    pub total: Option<Total>,
    /// The number of examined groups, if it ended the page.
    pub examined: Option<usize>,
}

/// A query for one page of the direct members of a group, in the order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersQuery {
    /// The group's id.
    pub group: GroupId,
    /// Only members after this one.
    pub after: Option<UserId>,
    /// The maximum number of members on the page; 0 for the group only.
    pub limit: usize,
}

/// One page of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembersPage {
    /// The group in the same snapshot.
    pub group: Stored,
    /// The number of its members.
    pub total: u64,
    /// The members.
    pub items: Vec<Member>,
    /// The last item, if there are further ones; `None` at the end.
    pub next: Option<UserId>,
    /// The log position of the page's snapshot.
    pub position: i64,
}
