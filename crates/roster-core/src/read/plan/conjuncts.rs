//! The conditions of a query that must all be true, and which of them indexes cover.

use super::{Lookup, Plan, Range, Source, range};
use crate::{
    group::GroupId,
    id::UserId,
    read::{
        filter::{Expression, Filter, GroupPart, Operand, Operator, Path, Test},
        list::{PageQuery, SortBy},
    },
    schema::{IndexStatus, UserSchema},
    user::{Status, attribute::Attribute, part::Part},
};

/// The maximum number of keys of an `or` that are looked up for one page.
const LOOKUPS_MAX: usize = 16;

/// The conditions that must all be true.
pub(super) struct Conjuncts<'q> {
    /// The required status.
    pub(super) status: Option<Status>,
    others: Vec<&'q Expression>,
    schema: &'q UserSchema,
}

impl<'q> Conjuncts<'q> {
    pub(super) fn of(query: &'q PageQuery, schema: &'q UserSchema) -> Self {
        let filter = query.filter.as_ref().map(|filter| filter.expression());
        let all = match filter {
            None => &[],
            Some(Expression::And(all)) => all.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut conjuncts = Self { status: None, others: Vec::new(), schema };
        for one in all {
            match status_of(one) {
                Some(status) if conjuncts.status.is_none() => conjuncts.status = Some(status),
                _ => conjuncts.others.push(one),
            }
        }
        conjuncts
    }

    /// The plan of a source that covers the conditions at these indexes, if they are tests.
    pub(super) fn plan(&self, source: Source, covered: &[usize]) -> Plan {
        let is_left = |(index, condition): (usize, &&'q Expression)| {
            let is_test = matches!(condition, Expression::Test(_));
            (!covered.contains(&index) || !is_test).then(|| (**condition).clone())
        };
        let left = self.others.iter().enumerate().filter_map(is_left).reduce(Expression::and);
        Plan { source, status: self.status, residual: left.map(Filter::new) }
    }

    /// The condition whose keys find the fewest users: its index, and keys such that every match
    /// has one of them.
    pub(super) fn lookups(&self) -> Option<(usize, Vec<Lookup>)> {
        let found = self.others.iter().enumerate();
        let found = found.filter_map(|(index, one)| Some((index, lookups(one, self.schema)?)));
        // At most one user has an id or a username. Any number may have another key, and groups
        // have the most.
        let rank = |lookup: &Lookup| match lookup {
            Lookup::Id(_) | Lookup::Username(_) | Lookup::Indexed { unique: true, .. } => 0,
            Lookup::Member(_) => 2,
            Lookup::Email(_)
            | Lookup::AnyEmail(_)
            | Lookup::ExternalId(_)
            | Lookup::PhoneNumber(_)
            | Lookup::AnyPhoneNumber(_)
            | Lookup::Indexed { unique: false, .. } => 1,
        };
        found.min_by_key(|(_, keys)| (keys.iter().map(rank).max(), keys.len()))
    }

    /// The best range, and the indexes of the conditions that it covers.
    pub(super) fn range(&self, sort: SortBy) -> Option<(Range, Vec<usize>)> {
        range::best(&self.others, sort, self.schema)
    }
}

fn status_of(expression: &Expression) -> Option<Status> {
    let Expression::Test(Test { operator: Operator::Equal, operand, .. }) = expression else {
        return None;
    };
    if let Operand::Status(status) = operand { Some(*status) } else { None }
}

/// Keys such that every match has one of them; `None` if there are none, or too many.
fn lookups(expression: &Expression, schema: &UserSchema) -> Option<Vec<Lookup>> {
    match expression {
        Expression::Test(test) => lookup(test, schema),
        Expression::And(all) => {
            all.iter().filter_map(|one| lookups(one, schema)).min_by_key(Vec::len)
        }
        Expression::Or(any) => {
            let branches: Vec<Vec<Lookup>> =
                any.iter().map(|one| lookups(one, schema)).collect::<Option<_>>()?;
            let all: Vec<Lookup> = branches.into_iter().flatten().collect();
            (all.len() <= LOOKUPS_MAX).then_some(all)
        }
        // If an entry matches the condition, it has the key that the condition requires.
        Expression::Entry(_, inner) => lookups(inner, schema),
        // The negation of a condition that is true for every user matches no user.
        Expression::Not(inner) => inner.is_always().then(Vec::new),
    }
}

fn lookup(Test { path, operator, operand }: &Test, schema: &UserSchema) -> Option<Vec<Lookup>> {
    if *operator != Operator::Equal {
        return None;
    }
    if let Some(index) = schema.index_of(path) {
        // Users may share a value while the index is compared.
        let unique = index.unique && index.status == IndexStatus::Ready;
        let key = index.key_of(operand)?;
        return Some(vec![Lookup::Indexed { kind: index.kind, key, unique }]);
    }
    if let Operand::Ids(ids) = operand {
        return Some(ids.iter().copied().map(Lookup::Id).collect());
    }
    let Operand::Text { key, .. } = operand else { return None };
    let of: fn(String) -> Lookup = match path {
        Path::Member(Attribute::Id) => {
            // A text that is not an id matches no user.
            let id = key.as_deref().and_then(UserId::parse);
            return Some(id.map(Lookup::Id).into_iter().collect());
        }
        Path::Group(GroupPart::Value) => {
            // A text that is not an id names no group.
            let id = key.as_deref().and_then(GroupId::parse);
            return Some(id.map(Lookup::Member).into_iter().collect());
        }
        Path::Member(Attribute::Username) => Lookup::Username,
        Path::Member(Attribute::Email) => Lookup::Email,
        Path::Part(Attribute::Emails, Part::Value) => Lookup::AnyEmail,
        Path::Member(Attribute::ExternalId) => Lookup::ExternalId,
        Path::Member(Attribute::PhoneNumber) => Lookup::PhoneNumber,
        Path::Part(Attribute::PhoneNumbers, Part::Value) => Lookup::AnyPhoneNumber,
        Path::Member(_) | Path::Part(..) | Path::Free(_) | Path::Groups | Path::Group(_) => {
            return None;
        }
    };
    // A text without a key matches no user.
    Some(key.clone().map(of).into_iter().collect())
}
