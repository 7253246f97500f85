//! Filters of groups: the values that they test, and their names in the REST interface.
//!
//! A test of members never reads the member list. A filter can test whether there are any, and for
//! one member by its id, combined with other conditions by `and`, which becomes a condition of the
//! query.

use super::Group;
use crate::{
    json::Json,
    read::filter::{
        Compared, Comparison, Expression, FilterFault, Found, Names, Operand, Operator, Test,
        check_operator, compares, holds, operand, parse,
    },
    text::nearest,
};

/// The number of bytes of a group's record that a test reads in the time of one comparison.
const TEXT_BYTES_PER_COMPARISON: usize = 64;

/// The value that a test of a group reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPath {
    /// The id.
    Id,
    /// The version.
    Version,
    /// The name.
    DisplayName,
    /// The client's id.
    ExternalId,
    /// The time of creation.
    CreatedAt,
    /// The time of the last change.
    UpdatedAt,
    /// A direct member.
    Member,
}

impl Compared for GroupPath {
    fn comparison(&self) -> Comparison {
        match self {
            Self::ExternalId => Comparison::Exact,
            Self::Version => Comparison::Integer,
            Self::Id | Self::Member | Self::DisplayName => Comparison::Folded,
            Self::CreatedAt | Self::UpdatedAt => Comparison::Time,
        }
    }
}

/// Conditions on groups that no index covers. All must be true.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupFilter(pub(super) Vec<Expression<GroupPath>>);

impl GroupFilter {
    /// No condition.
    pub const NONE: Self = Self(Vec::new());

    /// Whether there is no condition.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a condition tests for a member.
    pub fn names_member(&self) -> bool {
        self.0.iter().any(names_member)
    }

    pub(super) fn matches(&self, group: &Group, has_members: bool) -> bool {
        let test = |test: &Test<GroupPath>| {
            let is_any = test.path == GroupPath::Member && has_members;
            compares(test, &if is_any { Found::Something } else { found(test.path, group) })
        };
        self.0.iter().all(|one| holds(one, &test, &|_, _| false))
    }

    /// An upper bound of the comparisons that testing a group takes, whose record has this size.
    pub(super) fn comparisons(&self, record_bytes: usize) -> usize {
        let tests: usize = self.0.iter().map(tests).sum();
        // Each test may normalize the texts of the group.
        (1 + tests).saturating_mul(1 + record_bytes / TEXT_BYTES_PER_COMPARISON)
    }
}

fn found(path: GroupPath, group: &Group) -> Found<'_> {
    match path {
        GroupPath::Id => Found::Text(group.id.to_string().into()),
        GroupPath::Version => Found::Integer(group.version),
        GroupPath::DisplayName => Found::Text(group.display_name.as_str().into()),
        GroupPath::ExternalId => {
            group.external_id.as_deref().map_or(Found::Null, |text| Found::Text(text.into()))
        }
        GroupPath::CreatedAt => Found::Time(group.id.created_at()),
        GroupPath::UpdatedAt => Found::Time(group.updated_at),
        GroupPath::Member => Found::Null,
    }
}

/// The number of tests of an expression.
fn tests(expression: &Expression<GroupPath>) -> usize {
    match expression {
        Expression::And(all) | Expression::Or(all) => all.iter().map(tests).sum(),
        Expression::Not(inner) | Expression::Entry(_, inner) => tests(inner),
        Expression::Test(_) => 1,
    }
}

fn names_member(expression: &Expression<GroupPath>) -> bool {
    match expression {
        Expression::And(all) | Expression::Or(all) => all.iter().any(names_member),
        Expression::Not(inner) => names_member(inner),
        Expression::Test(test) => {
            test.path == GroupPath::Member && test.operator != Operator::Present
        }
        Expression::Entry(..) => true,
    }
}

/// Parses a filter in the language of the REST interface.
pub(super) fn parse_filter(text: &str) -> Result<Expression<GroupPath>, FilterFault> {
    parse(text, &GroupNames)
}

/// The members of a group in the REST interface.
const NAMES: [(&str, GroupPath); 6] = [
    ("id", GroupPath::Id),
    ("version", GroupPath::Version),
    ("display_name", GroupPath::DisplayName),
    ("external_id", GroupPath::ExternalId),
    ("created_at", GroupPath::CreatedAt),
    ("updated_at", GroupPath::UpdatedAt),
];

struct GroupNames;

impl Names for GroupNames {
    type Name = GroupPath;
    type Path = GroupPath;

    fn resolve(&self, word: &str, _within: Option<&GroupPath>) -> Result<GroupPath, String> {
        let known = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map(|(_, path)| *path).ok_or_else(|| {
            let names = NAMES.map(|(name, _)| name);
            match nearest(word, names.into_iter()) {
                Some(near) => format!("a group has no member {word}; did you mean {near}?"),
                None => format!("a filter of groups has {}, and not {word}", names.join(", ")),
            }
        })
    }

    fn expected(&self, _within: Option<&GroupPath>) -> String {
        "the name of a member was expected".to_owned()
    }

    fn takes_brackets(&self, _name: &GroupPath) -> Result<(), String> {
        Err("a group has no list".to_owned())
    }

    fn takes(&self, name: &GroupPath, operator: Operator) -> Result<(), String> {
        check_operator(name.comparison(), operator)
    }

    fn test(
        &self,
        name: &GroupPath,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression<GroupPath>, String> {
        let operand = match literal {
            Some(literal) => operand(name.comparison(), operator, literal)?,
            None => Operand::None,
        };
        Ok(Expression::Test(Test { path: *name, operator, operand }))
    }

    fn entry(
        &self,
        name: &GroupPath,
        _condition: Expression<GroupPath>,
    ) -> Result<Expression<GroupPath>, String> {
        self.takes_brackets(name).map(|()| Expression::Or(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group::GroupQuery, id::UserId, timestamp::Timestamp};

    const ID: &str = "0190d1c2-8000-7000-8000-00000000000a";

    fn group() -> Group {
        Group {
            id: UserId::parse(ID).expect("an id"),
            version: 3,
            display_name: "Core Team".to_owned(),
            external_id: Some("E".to_owned()),
            member_count: 2,
            updated_at: Timestamp::parse("2026-02-01T00:00:00Z").expect("a time"),
        }
    }

    fn filtered(text: &str) -> GroupQuery {
        GroupQuery::first(1).with_filter(text).expect(text)
    }

    #[test]
    fn equalities_become_conditions_of_the_query() {
        let query = filtered(&format!(
            r#"DISPLAY_NAME eq "core" and external_id eq "E" and id eq "{ID}" and version eq 3"#
        ));
        assert_eq!(query.name_key.as_deref(), Some("core"));
        assert_eq!(query.external_id.as_deref(), Some("E"));
        assert_eq!(query.ids, Some(vec![group().id]));
        assert_eq!(query.filter.0.len(), 1);
        assert_eq!(filtered(r#"id eq "nobody""#).ids, Some(vec![]));
        let twice = filtered(r#"external_id eq "E" and external_id eq "F""#);
        assert!(!twice.tests(&group(), false), "the second one is tested");
    }

    #[test]
    fn every_member_is_compared_by_its_type() {
        for (text, wanted) in [
            (r#"display_name sw "core""#, true),
            (r#"display_name ew "TEAM" and not (external_id co "e")"#, true),
            (r#"display_name eq "x" or external_id eq "E""#, true),
            ("version gt 2 and version le 3", true),
            ("version gt 3", false),
            (r#"created_at lt "2026-01-01T00:00:00Z""#, true),
            (r#"updated_at ge "2026-02-02T00:00:00Z""#, false),
            (r#"id sw "0190""#, true),
            ("external_id pr", true),
            ("external_id eq null", false),
        ] {
            assert_eq!(filtered(text).tests(&group(), false), wanted, "{text}");
        }
    }

    #[test]
    fn an_unknown_member_or_a_wrong_operator_is_an_error() {
        for (text, detail) in [
            (r#"displayname eq "x""#, "did you mean display_name?"),
            (r#"colour eq "x""#, "a filter of groups has id, version"),
            (r#"version co "x""#, "a number takes"),
            (r#"display_name[value eq "x"]"#, "a group has no list"),
            ("version", "an operator"),
        ] {
            let fault = GroupQuery::first(1).with_filter(text).expect_err(text);
            assert!(fault.detail.contains(detail), "{text}: {}", fault.detail);
        }
    }
}
