//! Queries for groups, their members, and the groups of users.
//!
//! All pages are keyset pages. Groups are in the order of ids or of names, members in that of ids.

use super::{
    Group, GroupFilter, GroupId, Member,
    filter::{GroupPath, parse_filter},
};
use crate::{
    id::UserId,
    limits,
    read::{
        filter::{Expression, FilterFault, Operand, Operator, Test},
        list::{Direction, PageKey, Sort, SortBy, Total},
        words::{comparisons_of_text, matches_words, words_of_text},
    },
    user::Stored,
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

    /// Adds a filter in the language of the REST interface.
    pub fn with_filter(self, text: &str) -> Result<Self, FilterFault> {
        Ok(self.with(parse_filter(text)?))
    }

    /// Adds a condition, which must also be true. The parts of it that an index covers become
    /// conditions of the query.
    #[must_use]
    pub fn with(mut self, condition: Expression<GroupPath>) -> Self {
        let conjuncts = match condition {
            Expression::And(all) => all,
            one @ (Expression::Or(_)
            | Expression::Not(_)
            | Expression::Test(_)
            | Expression::Entry(..)) => vec![one],
        };
        for conjunct in conjuncts {
            let rest = self.take(conjunct);
            self.filter.0.extend(rest);
        }
        self
    }

    /// Moves a condition that an index covers, or that is always or never true, into its field.
    /// Returns any other condition.
    fn take(&mut self, conjunct: Expression<GroupPath>) -> Option<Expression<GroupPath>> {
        if matches!(&conjunct, Expression::And(all) if all.is_empty()) {
            return None;
        }
        if matches!(&conjunct, Expression::Or(all) if all.is_empty()) {
            self.ids = Some(Vec::new());
            return None;
        }
        let Expression::Test(Test {
            path,
            operator: Operator::Equal,
            operand: Operand::Text { key: Some(key), .. },
        }) = &conjunct
        else {
            return Some(conjunct);
        };
        match path {
            GroupPath::DisplayName if self.name_key.is_none() => self.name_key = Some(key.clone()),
            GroupPath::ExternalId if self.external_id.is_none() => {
                self.external_id = Some(key.clone());
            }
            GroupPath::Id if self.ids.is_none() => {
                self.ids = Some(UserId::parse(key).into_iter().collect());
            }
            GroupPath::Member if self.member.is_none() => match UserId::parse(key) {
                Some(id) => self.member = Some(id),
                // No group or user has an invalid id.
                None => self.ids = Some(Vec::new()),
            },
            GroupPath::Id
            | GroupPath::Version
            | GroupPath::DisplayName
            | GroupPath::ExternalId
            | GroupPath::CreatedAt
            | GroupPath::UpdatedAt
            | GroupPath::Member => return Some(conjunct),
        }
        None
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
