//! The plan of a page: along one index, or through ids that indexes find first.
//!
//! The plan is the same for all engines; an engine prints its steps as SQL. The result does not
//! depend on the plan, only the number of examined rows does.

mod conjuncts;
mod range;
#[cfg(test)]
mod tests;

use std::ops::Bound;

use crate::{
    group::GroupId,
    id::UserId,
    read::{
        filter::Filter,
        list::{Direction, PageKey, PageQuery, Sort, SortBy, SortKey},
    },
    schema::UserSchema,
    store::Counter,
    timestamp::Timestamp,
    user::Status,
};
use conjuncts::Conjuncts;

/// The maximum number of rows that are sorted after indexes found them.
pub const SORTED_ROWS_MAX: usize = 1000;

/// The maximum number of comparisons, by an upper bound or as counted, of a page that is read on
/// the thread of the request: a few milliseconds.
pub const LIGHT_COMPARISONS_MAX: usize = 20_000;

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The source of its rows.
    pub source: Source,
    /// The status that rows must have, tested on its column.
    pub status: Option<Status>,
    /// The conditions that are tested on the records. The words of the query are tested too, unless
    /// the source finds only users that have all of them.
    pub residual: Option<Filter>,
}

/// The source of the rows of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The rows of a range, in the order of the page.
    Along(Range),
    /// The users with these keys, which are then sorted.
    Keys(Vec<Lookup>),
    /// The users of a range of an index with another order, which are then sorted.
    Range(Range),
    /// The users that have all words of the query, which are then sorted.
    Words,
}

/// A key that is looked up in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The id.
    Id(UserId),
    /// The key of the username.
    Username(String),
    /// The key of the primary e-mail address.
    Email(String),
    /// The key of any e-mail address.
    AnyEmail(String),
    /// The external id.
    ExternalId(String),
    /// The key of the primary telephone number.
    PhoneNumber(String),
    /// The key of any telephone number.
    AnyPhoneNumber(String),
    /// A group that the user is a direct member of.
    Member(GroupId),
    /// A key in the index with this number, which the schema names.
    Indexed {
        /// The number.
        kind: i16,
        /// The key.
        key: String,
        /// Whether at most one user has it.
        unique: bool,
    },
}

/// An index of users. Rows with equal keys are in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The index of an order.
    Sort(SortBy),
    /// External ids.
    ExternalId,
    /// Primary telephone numbers.
    PhoneNumber,
    /// The status.
    Status,
    /// The members of groups.
    Member,
}

impl Index {
    /// Its first column, with the same name in every engine.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Sort(SortBy::Id) => "id",
            Self::Sort(SortBy::UpdatedAt) => "updated_at",
            Self::Sort(SortBy::Username) => "username_key",
            Self::Sort(SortBy::Email) => "email_key",
            Self::Sort(SortBy::FamilyName) => "family_name_key",
            Self::Sort(SortBy::Name) => "name_key",
            Self::Sort(SortBy::ExpiresAt) => "expires_at_key",
            Self::ExternalId => "external_id",
            Self::PhoneNumber => "phone_number_key",
            Self::Status => "status",
            Self::Member => "group_id",
            Self::Sort(SortBy::Indexed(_)) => "key",
        }
    }

    /// The number of an index that the schema names.
    pub const fn kind(self) -> Option<i16> {
        match self {
            Self::Sort(SortBy::Indexed(kind)) => Some(kind),
            Self::Sort(_) | Self::ExternalId | Self::PhoneNumber | Self::Status | Self::Member => {
                None
            }
        }
    }
}

/// A range of an index. Users without the key are only in a range without bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The index.
    pub index: Index,
    /// Its start.
    pub from: Bound<RangeKey>,
    /// Its end.
    pub to: Bound<RangeKey>,
}

/// A bound of a range, of the index's type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RangeKey {
    /// An id.
    Id(UserId),
    /// A time.
    Time(Timestamp),
    /// A text key.
    Text(String),
    /// A status.
    Status(Status),
}

impl Plan {
    /// The plan for a query, by its most selective condition.
    pub fn of(query: &PageQuery) -> Self {
        Self::with(query, &query.schema)
    }

    /// The plan for a query whose conditions use no index that the schema names.
    pub fn without_schema(query: &PageQuery) -> Self {
        Self::with(query, &UserSchema::default())
    }

    fn with(query: &PageQuery, schema: &UserSchema) -> Self {
        let conjuncts = Conjuncts::of(query, schema);
        let sort = query.sort.by;
        if let Some((index, lookups)) = conjuncts.lookups() {
            let source = match lookups.as_slice() {
                [one] => Range::of_key(one, sort).map(Source::Along),
                _ => None,
            };
            return conjuncts.plan(source.unwrap_or(Source::Keys(lookups)), &[index]);
        }
        if !query.words.is_empty() {
            return conjuncts.plan(Source::Words, &[]);
        }
        if let Some((range, covered)) = conjuncts.range(sort) {
            let is_in_order = range.index == Index::Sort(sort);
            let source = if is_in_order { Source::Along(range) } else { Source::Range(range) };
            return conjuncts.plan(source, &covered);
        }
        if let Some(status) = conjuncts.status {
            let range = Range::of_status(status);
            let is_in_order = sort == SortBy::Id;
            let source = if is_in_order { Source::Along(range) } else { Source::Range(range) };
            return Self { status: None, ..conjuncts.plan(source, &[]) };
        }
        Self::in_order(query)
    }

    /// The plan that examines all rows in the order of the page.
    pub fn in_order(query: &PageQuery) -> Self {
        let all = Range::whole(Index::Sort(query.sort.by));
        Conjuncts::of(query, &query.schema).plan(Source::Along(all), &[])
    }

    /// The numbers of the indexes that the schema names and whose keys select the rows.
    pub fn selecting(&self) -> Vec<i16> {
        let of_lookup = |lookup: &Lookup| match lookup {
            Lookup::Indexed { kind, .. } => Some(*kind),
            Lookup::Id(_)
            | Lookup::Username(_)
            | Lookup::Email(_)
            | Lookup::AnyEmail(_)
            | Lookup::ExternalId(_)
            | Lookup::PhoneNumber(_)
            | Lookup::AnyPhoneNumber(_)
            | Lookup::Member(_) => None,
        };
        let mut kinds: Vec<i16> = match &self.source {
            Source::Keys(lookups) => lookups.iter().filter_map(of_lookup).collect(),
            Source::Along(range) | Source::Range(range) if range.is_whole() => Vec::new(),
            Source::Along(range) | Source::Range(range) => range.index.kind().into_iter().collect(),
            Source::Words => Vec::new(),
        };
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether the source contains exactly the users of the query, in its order.
    pub fn is_direct(&self, query: &PageQuery) -> bool {
        matches!(self.source, Source::Along(_))
            && self.status.is_none()
            && self.residual.is_none()
            && query.words.is_empty()
    }

    /// Whether a page is little work: the number of examined rows is bounded by the page or by
    /// the keys of the query, and conditions are tested on rows only if they need few comparisons
    /// in any case. Such a page is a short list, and is read on the thread of the request.
    pub fn is_bounded(&self, query: &PageQuery) -> bool {
        let users = |lookup: &Lookup| match lookup {
            Lookup::Id(_) | Lookup::Username(_) | Lookup::Indexed { unique: true, .. } => Some(1),
            // Many users may share an address. More are not sorted.
            Lookup::Email(_) => Some(SORTED_ROWS_MAX),
            Lookup::AnyEmail(_)
            | Lookup::ExternalId(_)
            | Lookup::PhoneNumber(_)
            | Lookup::AnyPhoneNumber(_)
            | Lookup::Indexed { unique: false, .. }
            | Lookup::Member(_) => None,
        };
        let rows = match &self.source {
            Source::Keys(lookups) => lookups.iter().map(users).sum(),
            Source::Along(range) if range.has_one_user() => Some(1),
            Source::Along(_) => return self.is_direct(query),
            Source::Range(_) | Source::Words => None,
        };
        let of_row = self.residual.as_ref().map_or(0, Filter::comparisons_max);
        let all = rows.map(|rows: usize| rows.saturating_mul(of_row));
        query.words.is_empty() && all.is_some_and(|all| all <= LIGHT_COMPARISONS_MAX)
    }

    /// The stored counter with the total of the query, if there is one.
    pub fn counter(&self, query: &PageQuery) -> Option<Counter> {
        let range = match &self.source {
            Source::Along(range) | Source::Range(range) => range,
            Source::Keys(_) | Source::Words => return None,
        };
        let is_alone = self.status.is_none() && self.residual.is_none() && query.words.is_empty();
        let counter = if range.is_whole() { Some(Counter::Live) } else { range.counter() };
        counter.filter(|_| is_alone)
    }

    /// Whether indexes may find few users before any row is read.
    pub fn may_find_few(&self) -> bool {
        match &self.source {
            Source::Keys(_) | Source::Words => true,
            Source::Along(range) => range.key().is_some(),
            Source::Range(_) => false,
        }
    }
}

impl Range {
    /// All rows of an index.
    pub const fn whole(index: Index) -> Self {
        Self { index, from: Bound::Unbounded, to: Bound::Unbounded }
    }

    fn of_one(index: Index, key: RangeKey) -> Self {
        Self { index, from: Bound::Included(key.clone()), to: Bound::Included(key) }
    }

    fn of_status(status: Status) -> Self {
        Self::of_one(Index::Status, RangeKey::Status(status))
    }

    /// The rows of one key, if an index has them in this order.
    fn of_key(lookup: &Lookup, sort: SortBy) -> Option<Self> {
        let (index, key) = match lookup {
            Lookup::Id(id) => (Index::Sort(SortBy::Id), RangeKey::Id(*id)),
            Lookup::Username(key) => (Index::Sort(SortBy::Username), RangeKey::Text(key.clone())),
            Lookup::Email(key) => (Index::Sort(SortBy::Email), RangeKey::Text(key.clone())),
            Lookup::ExternalId(key) => (Index::ExternalId, RangeKey::Text(key.clone())),
            Lookup::PhoneNumber(key) => (Index::PhoneNumber, RangeKey::Text(key.clone())),
            Lookup::Member(group) => (Index::Member, RangeKey::Id(*group)),
            Lookup::Indexed { kind, key, .. } => {
                (Index::Sort(SortBy::Indexed(*kind)), RangeKey::Text(key.clone()))
            }
            // Such a key is in two indexes.
            Lookup::AnyEmail(_) | Lookup::AnyPhoneNumber(_) => return None,
        };
        let is_in_order = sort == SortBy::Id || index == Index::Sort(sort);
        is_in_order.then(|| Self::of_one(index, key))
    }

    /// The key, if the range is a single key.
    pub fn key(&self) -> Option<&RangeKey> {
        match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => Some(from),
            _ => None,
        }
    }

    /// Whether it is the whole index.
    pub fn is_whole(&self) -> bool {
        self.from == Bound::Unbounded && self.to == Bound::Unbounded
    }

    /// Whether the range has at most one user: ids and usernames are unique.
    fn has_one_user(&self) -> bool {
        let is_unique = matches!(self.index, Index::Sort(SortBy::Id | SortBy::Username));
        is_unique && self.key().is_some()
    }

    /// The stored counter of the range's rows, if it is the range of a status.
    pub fn counter(&self) -> Option<Counter> {
        match self.key() {
            Some(RangeKey::Status(status)) => Some(Counter::Status(*status)),
            _ => None,
        }
    }

    /// Whether a page after this row begins within the range: the row then replaces the bound at
    /// which a walk in this direction starts.
    pub fn begins_after(&self, row: &PageKey, sort: Sort) -> bool {
        let bound = match sort.direction {
            Direction::Ascending => &self.from,
            Direction::Descending => &self.to,
        };
        let is_excluded = matches!(bound, Bound::Excluded(_));
        let (Bound::Included(bound) | Bound::Excluded(bound)) = bound else {
            // In descending order, rows without the key come first. Only a range without bounds has
            // them.
            let is_first = sort.direction == Direction::Descending;
            return !is_first || self.is_whole() || row.key != SortKey::Text(None);
        };
        let row = match &row.key {
            SortKey::Id => RangeKey::Id(row.id),
            SortKey::Time(time) => RangeKey::Time(*time),
            SortKey::Text(Some(text)) => RangeKey::Text(text.clone()),
            SortKey::Text(None) => return sort.direction == Direction::Ascending,
        };
        // Other rows with an excluded key may follow this one, and are not in the range.
        match sort.direction {
            _ if row == *bound => !is_excluded,
            Direction::Ascending => row > *bound,
            Direction::Descending => row < *bound,
        }
    }
}
