//! The conditions of a query that must all hold, and what indexes answer of them.

use super::{Lookup, Plan, Range, Source, range};
use crate::{
    attribute::Attribute,
    filter::{Expression, Filter, Operand, Operator, Path, Test},
    id::UserId,
    list::{PageQuery, SortBy},
    part::Part,
    user::Status,
};

/// The maximum number of keys of an `or` that are looked up for one page.
const LOOKUPS_MAX: usize = 16;

/// The conditions that must all hold.
pub(super) struct Conjuncts<'q> {
    /// The status that is asked for.
    pub(super) status: Option<Status>,
    others: Vec<&'q Expression>,
}

impl<'q> Conjuncts<'q> {
    pub(super) fn of(query: &'q PageQuery) -> Self {
        let filter = query.filter.as_ref().map(|filter| filter.expression());
        let all = match filter {
            None => &[],
            Some(Expression::And(all)) => all.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut conjuncts = Self { status: None, others: Vec::new() };
        for one in all {
            match status_of(one) {
                Some(status) if conjuncts.status.is_none() => conjuncts.status = Some(status),
                _ => conjuncts.others.push(one),
            }
        }
        conjuncts
    }

    /// The plan of a source that answers the conditions at these places, as far as they are tests.
    pub(super) fn plan(&self, source: Source, answered: &[usize]) -> Plan {
        let is_left = |(place, condition): (usize, &&'q Expression)| {
            let is_test = matches!(condition, Expression::Test(_));
            (!answered.contains(&place) || !is_test).then(|| (**condition).clone())
        };
        let left = self.others.iter().enumerate().filter_map(is_left).reduce(Expression::and);
        Plan { source, status: self.status, residual: left.map(Filter::new) }
    }

    /// The condition whose keys find the fewest users: its place, and the keys of which every match
    /// has one.
    pub(super) fn lookups(&self) -> Option<(usize, Vec<Lookup>)> {
        let found = self.others.iter().enumerate();
        let found = found.filter_map(|(place, one)| Some((place, lookups(one)?)));
        // One user at most has an id or a user name. Any number may have another key.
        let is_shared = |lookup: &Lookup| !matches!(lookup, Lookup::Id(_) | Lookup::Username(_));
        found.min_by_key(|(_, keys)| (keys.iter().any(is_shared), keys.len()))
    }

    /// The best range, and the places of the conditions that it answers.
    pub(super) fn range(&self, sort: SortBy) -> Option<(Range, Vec<usize>)> {
        range::best(&self.others, sort)
    }
}

fn status_of(expression: &Expression) -> Option<Status> {
    let Expression::Test(Test { operator: Operator::Equal, operand, .. }) = expression else {
        return None;
    };
    if let Operand::Status(status) = operand { Some(*status) } else { None }
}

/// The keys of which every match has one; `None` where there are none, or too many.
fn lookups(expression: &Expression) -> Option<Vec<Lookup>> {
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
        // No user meets the opposite of what all users meet.
        Expression::Not(inner) => inner.is_always().then(Vec::new),
    }
}

fn lookup(Test { path, operator, operand }: &Test) -> Option<Vec<Lookup>> {
    if *operator != Operator::Equal {
        return None;
    }
    if let Operand::Ids(ids) = operand {
        return Some(ids.iter().copied().map(Lookup::Id).collect());
    }
    let Operand::Text { key, .. } = operand else { return None };
    let of: fn(String) -> Lookup = match path {
        Path::Member(Attribute::Id) => {
            // No user has a text as its id that is not an id.
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
    // Nor has a user a text without a key.
    Some(key.clone().map(of).into_iter().collect())
}
