//! What of a filter an index can answer.
//!
//! Only what must hold for every match may drive: a conjunct of the whole, or something in each
//! branch of an `or`. The rows so found are more than the matches, never fewer: the filter is
//! tested again on each.

use std::ops::Bound;

use super::{Lookup, Range, RangeKey};
use crate::{
    attribute::Attribute,
    filter::{Expression, Operand, Operator, Path, Test},
    id::UserId,
    list::SortBy,
    part::Part,
    timestamp::Timestamp,
    user::Status,
};

/// Most keys that are looked up for one page.
const LOOKUPS_MAX: usize = 16;

/// The keys of which every match has one; `None` where there are none, or too many.
pub(super) fn lookups(expression: &Expression) -> Option<Vec<Lookup>> {
    match expression {
        Expression::Test(test) => lookup(test),
        Expression::And(all) => all.iter().filter_map(lookups).min_by_key(Vec::len),
        Expression::Or(any) => {
            let branches: Vec<Vec<Lookup>> = any.iter().map(lookups).collect::<Option<_>>()?;
            let all: Vec<Lookup> = branches.into_iter().flatten().collect();
            (all.len() <= LOOKUPS_MAX).then_some(all)
        }
        // Some entry meets the condition, so some entry has the key that the condition asks for.
        Expression::Entry(_, inner) => lookups(inner),
        // What all meet is met by nobody who does not.
        Expression::Not(inner) => inner.is_always().then(Vec::new),
    }
}

/// The one key that the filter asks for, where it asks for nothing else.
pub(super) fn alone(expression: &Expression) -> Option<Lookup> {
    match lookups(expression)?.as_slice() {
        [one] if matches!(expression, Expression::Test(_)) => Some(one.clone()),
        _ => None,
    }
}

fn lookup(test: &Test) -> Option<Vec<Lookup>> {
    let Test { path, operator: Operator::Equal, operand: Operand::Text { key, .. } } = test else {
        return None;
    };
    let of: fn(String) -> Lookup = match path {
        Path::Member(Attribute::Id) => {
            // A text that is no id is nobody's.
            let id = key.as_deref().and_then(UserId::parse);
            return Some(id.map(Lookup::Id).into_iter().collect());
        }
        Path::Member(Attribute::Username) => Lookup::Username,
        Path::Member(Attribute::Email) => Lookup::Email,
        Path::Part(Attribute::Emails, Part::Value) => Lookup::AnyEmail,
        Path::Member(Attribute::ExternalId) => Lookup::ExternalId,
        Path::Member(Attribute::PhoneNumber) => Lookup::PhoneNumber,
        Path::Part(Attribute::PhoneNumbers, Part::Value) => Lookup::AnyPhoneNumber,
        Path::Member(_) | Path::Part(..) | Path::Free(_) => return None,
    };
    // A text without a key is nobody's either.
    Some(key.clone().map(of).into_iter().collect())
}

/// A range of which every match is in, and whether being in it is all that the filter asks.
pub(super) fn range(expression: &Expression, sort: SortBy) -> Option<(Range, bool)> {
    let conjuncts = conjuncts(expression);
    let mut best: Option<(Rank, Range)> = None;
    let mut whole = true;
    let mut orders = Vec::new();
    for conjunct in conjuncts {
        let found = test_of(conjunct).and_then(one_range);
        let Some(One { range, rank, exact }) = found else {
            whole = false;
            continue;
        };
        whole &= exact;
        if !orders.contains(&range.by) {
            orders.push(range.by);
        }
        best = Some(match best {
            Some((kept, other)) if other.by == range.by => (kept.max(rank), other.within(range)),
            Some((kept, other)) if kept.of(other.by, sort) >= rank.of(range.by, sort) => {
                (kept, other)
            }
            _ => (rank, range),
        });
    }
    best.map(|(_, range)| (range, whole && orders.len() == 1))
}

/// The status of every match, if the filter asks for one.
pub(super) fn status(expression: &Expression) -> Option<Status> {
    conjuncts(expression).iter().filter_map(test_of).find_map(|test| {
        let Operand::Status(status) = test.operand else { return None };
        (test.operator == Operator::Equal).then_some(status)
    })
}

/// What must all hold.
fn conjuncts(expression: &Expression) -> &[Expression] {
    if let Expression::And(all) = expression { all } else { std::slice::from_ref(expression) }
}

const fn test_of(expression: &Expression) -> Option<&Test> {
    if let Expression::Test(test) = expression { Some(test) } else { None }
}

/// How few rows a range is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    OneSided,
    TwoSided,
    Equal,
}

impl Rank {
    /// Among equals, the one that gives the rows in the wanted order.
    fn of(self, by: SortBy, sort: SortBy) -> (Self, bool) {
        (self, by == sort)
    }
}

struct One {
    range: Range,
    rank: Rank,
    /// Being in the range is all that the test asks.
    exact: bool,
}

fn one_range(test: &Test) -> Option<One> {
    let Test { path: Path::Member(attribute), operator, operand } = test else { return None };
    match (attribute, operand) {
        (Attribute::Id, Operand::Text { key: Some(key), .. }) => {
            let id = UserId::parse(key)?;
            between(SortBy::Id, *operator, RangeKey::Id(id))
        }
        (Attribute::CreatedAt, Operand::Time(moment)) => created(*operator, *moment),
        (Attribute::UpdatedAt, Operand::Time(moment)) => {
            between(SortBy::UpdatedAt, *operator, RangeKey::Time(*moment))
        }
        (Attribute::Username, Operand::Text { key: Some(key), .. }) => {
            text(SortBy::Username, *operator, key)
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
            // A key has no needless quotation marks, which the value that is tested may have.
            if key.starts_with('"') {
                return None;
            }
            // A key has the domain as A-labels: only what is before it is the same in both.
            let local = key.split_once('@').map(|(local, _)| format!("{local}@"));
            let found = text(SortBy::Email, *operator, local.as_ref().unwrap_or(key))?;
            Some(One { exact: false, ..found })
        }
        _ => None,
    }
}

fn text(by: SortBy, operator: Operator, key: &str) -> Option<One> {
    let from = RangeKey::Text(key.to_owned());
    if operator != Operator::StartsWith {
        return between(by, operator, from);
    }
    let to = after_prefix(key).map_or(Bound::Unbounded, |key| Bound::Excluded(RangeKey::Text(key)));
    let range = Range { by, from: Bound::Included(from), to };
    Some(One { range, rank: Rank::TwoSided, exact: true })
}

/// The range of an operator that compares the order of values.
fn between(by: SortBy, operator: Operator, key: RangeKey) -> Option<One> {
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
    Some(One { range: Range { by, from, to }, rank, exact: true })
}

/// The moment of creation is the first part of the id.
fn created(operator: Operator, moment: Timestamp) -> Option<One> {
    use Bound::{Excluded, Included, Unbounded};
    let millis = moment.as_millis();
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
    // Beyond what an id can tell, the filter decides.
    let exact = (0..MOMENT_MAX).contains(&millis);
    Some(One { range: Range { by: SortBy::Id, from, to }, rank, exact })
}

/// The last moment that an id can hold, in milliseconds.
const MOMENT_MAX: i64 = (1 << 48) - 1;

/// No id of that moment or later is smaller.
fn first_id(millis: i64) -> UserId {
    let mut bytes = [0; 16];
    let moment = millis.clamp(0, MOMENT_MAX).to_be_bytes();
    for (to, from) in bytes.iter_mut().zip(moment.into_iter().skip(2)) {
        *to = from;
    }
    UserId::from_bytes(bytes)
}

/// The smallest text that is greater than all that start with this one.
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
    /// What is in both ranges of one order.
    fn within(self, other: Self) -> Self {
        Self { by: self.by, from: later(self.from, other.from), to: earlier(self.to, other.to) }
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
