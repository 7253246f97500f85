//! Filters of groups: conditions that an index covers, and conditions tested on each group.
//!
//! Core evaluates them. A test of members never reads the member list. A filter can test for one
//! member by its id, combined with other conditions by `and`.

use roster_core::{
    Json,
    filter::{
        Compared as _, Comparison, Dialect, Expression, Found, Names, Operand, Operator, Test,
        check_operator, compares, operand, parse,
    },
    group::{GroupPath, GroupQuery},
};

use super::{dialect, last_segment, refused};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{GROUP, GROUP_URN},
};

/// The number of bytes of a group's record that a test reads in the time of one comparison.
const TEXT_BYTES_PER_COMPARISON: usize = 64;

/// A filter of groups. All conditions must be true.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupFilter {
    /// One of these ids. An empty list matches no group.
    pub ids: Option<Vec<UserId>>,
    /// The key of the name.
    pub name_key: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
    /// A direct member.
    pub member: Option<UserId>,
    /// Conditions to test on each group.
    rest: Vec<Expression<GroupPath>>,
}

/// The values of a group that filters test.
#[derive(Clone, Copy, Debug)]
pub struct GroupFacts<'g> {
    /// Its id.
    pub id: &'g str,
    /// Its name.
    pub display_name: &'g str,
    /// The id that the client gave it.
    pub external_id: Option<&'g str>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub last_modified: Timestamp,
}

impl GroupFilter {
    /// Parses a filter of groups.
    pub fn parse(text: &str, strictness: Strictness) -> Result<Self, ScimError> {
        let parsed = parse(text, &GroupNames(strictness)).map_err(|fault| refused(&fault))?;
        let mut filter = Self::default();
        let conjuncts = match parsed {
            Expression::And(all) => all,
            one @ (Expression::Or(_)
            | Expression::Not(_)
            | Expression::Test(_)
            | Expression::Entry(..)) => vec![one],
        };
        for conjunct in conjuncts {
            if let Some(conjunct) = filter.take(conjunct) {
                if names_member(&conjunct) {
                    let detail = "filter by one member: members[value eq \"...\"], joined to \
                                  other conditions by and";
                    return Err(ScimError::new(ScimType::InvalidFilter, detail));
                }
                filter.rest.push(conjunct);
            }
        }
        Ok(filter)
    }

    /// Whether indexes cover all conditions.
    pub const fn is_indexed(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether a group matches the conditions that no index covers.
    pub fn matches(&self, group: &GroupFacts<'_>) -> bool {
        let test = |test: &Test<GroupPath>| compares(test, &found(test.path, group));
        self.rest.iter().all(|one| holds(one, &test, &|_, _| false))
    }

    /// An upper bound of the comparisons that testing a group takes, whose record has this size.
    pub fn comparisons(&self, record_bytes: usize) -> usize {
        let tests: usize = self.rest.iter().map(tests).sum();
        // Each test may normalize the texts of the group.
        (1 + tests).saturating_mul(1 + record_bytes / TEXT_BYTES_PER_COMPARISON)
    }

    /// Moves a condition that an index covers into its field. Returns any other condition.
    fn take(&mut self, conjunct: Expression<GroupPath>) -> Option<Expression<GroupPath>> {
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
            GroupPath::DisplayName
            | GroupPath::ExternalId
            | GroupPath::Id
            | GroupPath::Member
            | GroupPath::Created
            | GroupPath::LastModified => return Some(conjunct),
        }
        None
    }
}

/// The value that a test reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupPath {
    Id,
    DisplayName,
    ExternalId,
    Created,
    LastModified,
    Member,
}

impl Compared for GroupPath {
    fn comparison(&self) -> Comparison {
        match self {
            Self::ExternalId => Comparison::Exact,
            Self::Id | Self::Member | Self::DisplayName => Comparison::Folded,
            Self::Created | Self::LastModified => Comparison::Time,
        }
    }
}

fn found<'g>(path: GroupPath, group: &GroupFacts<'g>) -> Found<'g> {
    match path {
        GroupPath::Id => Found::Text(group.id.into()),
        GroupPath::DisplayName => Found::Text(group.display_name.into()),
        GroupPath::ExternalId => {
            group.external_id.map_or(Found::Null, |text| Found::Text(text.into()))
        }
        GroupPath::Created => Found::Time(group.created),
        GroupPath::LastModified => Found::Time(group.last_modified),
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

/// Whether an expression tests members.
fn names_member(expression: &Expression<GroupPath>) -> bool {
    match expression {
        Expression::And(all) | Expression::Or(all) => all.iter().any(names_member),
        Expression::Not(inner) => names_member(inner),
        Expression::Test(test) => test.path == GroupPath::Member,
        Expression::Entry(..) => true,
    }
    Ok(query)
}

#[derive(Clone, Copy, Debug)]
struct GroupNames(Strictness);

#[derive(Clone, Copy, Debug)]
enum Named {
    Value(GroupPath),
    Members,
    /// `members.$ref`: a URL that ends with the id of a member.
    MemberRef,
    Text(&'static str),
}

/// The attributes that filters of groups can test.
const FILTERABLE: &str = "id, externalId, displayName, members.value, members.$ref, schemas, \
                          meta.resourceType, meta.created, meta.lastModified";

impl Names for GroupNames {
    type Name = Named;
    type Path = GroupPath;

    fn dialect(&self) -> Dialect {
        dialect(self.0)
    }

    fn resolve(&self, word: &str, within: Option<&Named>) -> Result<Named, String> {
        let path = match within {
            Some(_) => format!("members.{word}"),
            None => word.to_owned(),
        };
        let known = GROUP.find(&path).and_then(|found| {
            let part = found.sub_attribute.map(|part| part.name);
            Some(match (found.attribute.name, part) {
                ("id", None) => Named::Value(GroupPath::Id),
                ("externalId", None) => Named::Value(GroupPath::ExternalId),
                ("displayName", None) => Named::Value(GroupPath::DisplayName),
                ("members", None) => Named::Members,
                ("members", Some("value")) => Named::Value(GroupPath::Member),
                ("members", Some("$ref")) => Named::MemberRef,
                ("schemas", None) => Named::Text(GROUP_URN),
                ("meta", Some("resourceType")) => Named::Text(GROUP.name),
                ("meta", Some("created")) => Named::Value(GroupPath::CreatedAt),
                ("meta", Some("lastModified")) => Named::Value(GroupPath::UpdatedAt),
                _ => return None,
            })
        });
        known.ok_or_else(|| format!("groups cannot be filtered by {path}, but by {FILTERABLE}"))
    }

    fn expected(&self, within: Option<&Named>) -> String {
        match within {
            Some(_) => "value was expected".to_owned(),
            None => format!("the name of an attribute was expected: {FILTERABLE}"),
        }
    }

    fn takes_brackets(&self, name: &Named) -> Result<(), String> {
        match name {
            Named::Members => Ok(()),
            Named::Value(_) | Named::Text(_) | Named::MemberRef => {
                Err("only members takes brackets".to_owned())
            }
        }
    }

    fn takes(&self, name: &Named, operator: Operator) -> Result<(), String> {
        match name {
            Named::Members | Named::MemberRef | Named::Value(GroupPath::Member)
                if operator != Operator::Equal =>
            {
                Err("members can be compared only by eq".to_owned())
            }
            Named::Members | Named::MemberRef => Ok(()),
            Named::Value(path) => check_operator(path.comparison(), operator),
            Named::Text(_) => check_operator(Comparison::Exact, operator),
        }
    }

    fn test(
        &self,
        name: &Named,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression<GroupPath>, String> {
        let path = match name {
            Named::Value(path) => *path,
            Named::Members | Named::MemberRef => GroupPath::Member,
            Named::Text(text) => return constant(text, operator, literal),
        };
        let operand = match (name, literal) {
            (Named::MemberRef, Some(Json::Text(url))) => {
                operand(path.comparison(), operator, Json::Text(last_segment(&url)))?
            }
            (_, Some(literal)) => operand(path.comparison(), operator, literal)?,
            (_, None) => Operand::None,
        };
        Ok(Expression::Test(Test { path, operator, operand }))
    }

    fn entry(
        &self,
        _list: &Named,
        condition: Expression<GroupPath>,
    ) -> Result<Expression<GroupPath>, String> {
        match condition {
            Expression::Test(_) => Ok(condition),
            Expression::And(_) | Expression::Or(_) | Expression::Not(_) | Expression::Entry(..) => {
                Err("filter by one member: members[value eq \"...\"]".to_owned())
            }
        }
    }
}

/// Compares a string that every group has.
fn constant(
    text: &'static str,
    operator: Operator,
    literal: Option<Json>,
) -> Result<Expression<GroupPath>, String> {
    // A path whose values are compared exactly.
    let path = GroupPath::ExternalId;
    let operand = match literal {
        Some(literal) => operand(Comparison::Exact, operator, literal)?,
        None => Operand::None,
    };
    let asked = Test { path, operator, operand };
    // An empty conjunction is always true, an empty disjunction never.
    Ok(if compares(&asked, &Found::Text(text.into())) {
        Expression::And(Vec::new())
    } else {
        Expression::Or(Vec::new())
    })
}
