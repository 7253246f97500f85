//! Ranges of indexes that contain the matches of a filter.
//!
//! A range contains every match. If its keys differ from the tested values, as for e-mail
//! addresses, it also has rows that do not match; the condition is then tested on the records too.

use std::ops::Bound;

use super::{Index, Range, RangeKey};
use crate::{
    id::UserId,
    read::{
        filter::{Expression, Operand, Operator, Path, Test},
        list::SortBy,
    },
    schema::{MemberIndex, NONE, OTHER, UserSchema, VALUE, ValueType},
    timestamp::Timestamp,
    user::attribute::Attribute,
};

/// The most selective range that contains every match, and the indexes of the conditions that it
/// covers exactly.
pub(super) fn best(
    conjuncts: &[&Expression],
    sort: SortBy,
    schema: &UserSchema,
) -> Option<(Range, Vec<usize>)> {
    let mut best: Option<(Rank, Range, Vec<usize>)> = None;
    for (index, conjunct) in conjuncts.iter().enumerate() {
        let Expression::Test(test) = conjunct else { continue };
        let Some(Candidate { range, rank, exact }) = candidate(test, schema) else {
            continue;
        };
        let covered: Vec<usize> = exact.then_some(index).into_iter().collect();
        best = Some(match best {
            Some((kept, other, all)) if other.index == range.index => {
                (kept.max(rank), other.within(range), [all, covered].concat())
            }
            Some((kept, other, all))
                if kept.of(other.index, sort) >= rank.of(range.index, sort) =>
            {
                (kept, other, all)
            }
            _ => (rank, range, covered),
        });
    }
    best.map(|(_, range, covered)| (range, covered))
}

/// How selective a range is; fewer rows are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    OneSided,
    TwoSided,
    Equal,
}

impl Rank {
    /// Between equal ranks, a range in the order of the page is better.
    fn of(self, index: Index, sort: SortBy) -> (Self, bool) {
        (self, index == Index::Sort(sort))
    }
}

struct Candidate {
    range: Range,
    rank: Rank,
    /// Whether the range contains only rows that match the test.
    exact: bool,
}

fn candidate(test: &Test, schema: &UserSchema) -> Option<Candidate> {
    if let Some(index) = schema.index_of(&test.path).filter(|index| !index.multi_valued) {
        return indexed(index, test);
    }
    let Test { path: Path::Member(attribute), operator, operand } = test else { return None };
    match (attribute, operand) {
        (Attribute::Id, Operand::Text { key: Some(key), .. }) => {
            let id = UserId::parse(key)?;
            between(SortBy::Id, *operator, RangeKey::Id(id))
        }
        (Attribute::CreatedAt, Operand::Time(time)) => created(*operator, *time),
        (Attribute::UpdatedAt, Operand::Time(time)) => {
            between(SortBy::UpdatedAt, *operator, RangeKey::Time(*time))
        }
        (Attribute::ExpiresAt, operand) => expiring(*operator, operand),
        (Attribute::Username, Operand::Text { key: Some(key), .. }) => {
            let found = text(SortBy::Username, *operator, key)?;
            // A key may end with a space that the username does not have.
            let exact = *operator != Operator::StartsWith || !key.ends_with(' ');
            Some(Candidate { exact: found.exact && exact, ..found })
        }
        (Attribute::FamilyName, Operand::Text { key: Some(key), .. }) => {
            text(SortBy::FamilyName, *operator, key)
        }
        (Attribute::Name, Operand::Text { key: Some(key), .. }) => {
            text(SortBy::Name, *operator, key)
        }
        (Attribute::Email, Operand::Text { key: Some(key), .. })
            if *operator == Operator::StartsWith =>
        {
            // A key has no unnecessary quotation marks, but the tested value may have them.
            if key.starts_with('"') {
                return None;
            }
            // A key has the domain as A-labels, so only the part before the domain equals the
            // tested value.
            let local = key.split_once('@').map(|(local, _)| format!("{local}@"));
            let found = text(SortBy::Email, *operator, local.as_ref().unwrap_or(key))?;
            Some(Candidate { exact: false, ..found })
        }
        _ => None,
    }
}

/// The range of an index that the schema names. Users without a value are after its values.
fn indexed(index: &MemberIndex, test: &Test) -> Option<Candidate> {
    use Bound::{Excluded, Included, Unbounded};
    let by = SortBy::Indexed(index.kind);
    let bound = |text: &str| RangeKey::Text(text.to_owned());
    if test.operator == Operator::Present {
        let (from, to) = (Included(bound(OTHER)), Excluded(bound(NONE)));
        let range = Range { index: Index::Sort(by), from, to };
        return Some(Candidate { range, rank: Rank::OneSided, exact: true });
    }
    if index.value_type == ValueType::Boolean {
        return None;
    }
    let key = index.key_of(&test.operand)?;
    let mut found = text(by, test.operator, &key)?;
    if let Some(beginning) = MemberIndex::beginning(&key)
        && found.rank != Rank::Equal
    {
        let alike = text(by, Operator::StartsWith, beginning)?;
        if found.range.from != Unbounded {
            found.range.from = alike.range.from;
        }
        if found.range.to != Unbounded {
            found.range.to = alike.range.to;
        }
        found.exact = false;
    }
    let Range { from, to, .. } = &mut found.range;
    if *from == Unbounded {
        *from = Included(bound(VALUE));
    }
    if *to == Unbounded {
        *to = Excluded(bound(NONE));
    }
    Some(found)
}

fn text(by: SortBy, operator: Operator, key: &str) -> Option<Candidate> {
    let from = RangeKey::Text(key.to_owned());
    if operator != Operator::StartsWith {
        return between(by, operator, from);
    }
    let to = after_prefix(key).map_or(Bound::Unbounded, |key| Bound::Excluded(RangeKey::Text(key)));
    let range = Range { index: Index::Sort(by), from: Bound::Included(from), to };
    Some(Candidate { range, rank: Rank::TwoSided, exact: true })
}

/// The range of an operator that compares by order.
fn between(by: SortBy, operator: Operator, key: RangeKey) -> Option<Candidate> {
    use Bound::{Excluded, Included, Unbounded};
    let (from, to, rank) = match operator {
        Operator::Equal => (Included(key.clone()), Included(key), Rank::Equal),
        Operator::Greater => (Excluded(key), Unbounded, Rank::OneSided),
        Operator::GreaterOrEqual => (Included(key), Unbounded, Rank::OneSided),
        Operator::Less => (Unbounded, Excluded(key), Rank::OneSided),
        Operator::LessOrEqual => (Unbounded, Included(key), Rank::OneSided),
        Operator::NotEqual
        | Operator::Contains
        | Operator::StartsWith
        | Operator::EndsWith
        | Operator::Present => return None,
    };
    Some(Candidate { range: Range { index: Index::Sort(by), from, to }, rank, exact: true })
}

/// The range of the times at which users expire.
fn expiring(operator: Operator, operand: &Operand) -> Option<Candidate> {
    let by = SortBy::ExpiresAt;
    if let Operand::Time(time) = operand {
        // No user expires at a time without a stored form; the filter decides.
        return between(by, operator, RangeKey::Text(time.stored_form()?));
    }
    if operator != Operator::Present {
        return None;
    }
    // Every value is at or after the empty text.
    between(by, Operator::GreaterOrEqual, RangeKey::Text(String::new()))
}

/// The range of ids for a time of creation, which is the first part of an id.
fn created(operator: Operator, time: Timestamp) -> Option<Candidate> {
    use Bound::{Excluded, Included, Unbounded};
    let millis = time.as_millis();
    let first = |millis| RangeKey::Id(first_id(millis));
    let (at, next) = (first(millis), first(millis.saturating_add(1)));
    let (from, to, rank) = match operator {
        Operator::Equal => (Included(at), Excluded(next), Rank::Equal),
        Operator::Greater => (Included(next), Unbounded, Rank::OneSided),
        Operator::GreaterOrEqual => (Included(at), Unbounded, Rank::OneSided),
        Operator::Less => (Unbounded, Excluded(at), Rank::OneSided),
        Operator::LessOrEqual => (Unbounded, Excluded(next), Rank::OneSided),
        Operator::NotEqual
        | Operator::Contains
        | Operator::StartsWith
        | Operator::EndsWith
        | Operator::Present => return None,
    };
    // For times that an id cannot hold, the filter decides.
    let exact = (0..TIME_MAX).contains(&millis);
    Some(Candidate { range: Range { index: Index::Sort(SortBy::Id), from, to }, rank, exact })
}

/// The last time that an id can hold, in milliseconds.
const TIME_MAX: i64 = (1 << 48) - 1;

/// The smallest id with this or a later time.
fn first_id(millis: i64) -> UserId {
    let mut bytes = [0; 16];
    let time = millis.clamp(0, TIME_MAX).to_be_bytes();
    for (to, from) in bytes.iter_mut().zip(time.into_iter().skip(2)) {
        *to = from;
    }
    UserId::from_bytes(bytes)
}

/// The smallest text that is greater than all texts with this prefix.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut kept: Vec<char> = prefix.chars().collect();
    while let Some(last) = kept.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            kept.push(next);
            return Some(kept.into_iter().collect());
        }
    }
    None
}

impl Range {
    /// The intersection of two ranges of one index.
    fn within(self, other: Self) -> Self {
        Self {
            index: self.index,
            from: later(self.from, other.from),
            to: earlier(self.to, other.to),
        }
    }
}

fn later(one: Bound<RangeKey>, other: Bound<RangeKey>) -> Bound<RangeKey> {
    match (&one, &other) {
        (Bound::Unbounded, _) => other,
        (_, Bound::Unbounded) => one,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            let other_is_tighter = b > a || (b == a && matches!(other, Bound::Excluded(_)));
            if other_is_tighter { other } else { one }
        }
    }
}

fn earlier(one: Bound<RangeKey>, other: Bound<RangeKey>) -> Bound<RangeKey> {
    match (&one, &other) {
        (Bound::Unbounded, _) => other,
        (_, Bound::Unbounded) => one,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            let other_is_tighter = b < a || (b == a && matches!(other, Bound::Excluded(_)));
            if other_is_tighter { other } else { one }
        }
    }
}
