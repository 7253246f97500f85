//! Filters of groups: conditions that an index covers, and conditions tested on each group.
//!
//! Core evaluates them. A test of members never reads the member list. A filter can test whether
//! there are any, and for one member by its id, combined with other conditions by `and`.

use roster_core::{
    Json, UserId, UserSchema,
    filter::{
        Compared as _, Comparison, Dialect, Expression, Found, Names, Operand, Operator, Test,
        check_operator, compares, operand, parse,
    },
    group::{GroupPath, GroupQuery},
};

use super::{UserNames, as_words, dialect, last_segment, refused, spanning::Spanning};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{GROUP, GROUP_URN},
};

/// Adds a filter of groups to a query. In a list of all types it may name attributes of users,
/// whose declared ones are in `users`.
pub fn filter_groups(
    query: GroupQuery,
    text: &str,
    strictness: Strictness,
    users: Option<&UserSchema>,
) -> Result<GroupQuery, ScimError> {
    let own = GroupNames(strictness);
    let has = |word: &str| GROUP.find(word).is_some();
    let parsed = match users.map(|schema| UserNames::new(strictness, schema)) {
        Some(other) => parse(text, &Spanning { own, other, has, constant: always_or_never }),
        None => parse(text, &own),
    };
    let query = query.with(simplified(parsed.map_err(|fault| refused(&fault))?));
    if query.filter.names_member() {
        let detail = "filter by one member: members[value eq \"...\"], joined to other conditions \
                      by and";
        return Err(ScimError::new(ScimType::InvalidFilter, detail));
    }
    Ok(query)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GroupNames(pub(super) Strictness);

#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
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
                if !matches!(
                    operator,
                    Operator::Equal | Operator::Contains | Operator::Present
                ) =>
            {
                Err("members can be compared only by eq, co and pr".to_owned())
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
        // Some clients search for the whole id with co.
        let is_co = path == GroupPath::Member && operator == Operator::Contains;
        let operator = if is_co { Operator::Equal } else { operator };
        let operand = match (name, literal) {
            (Named::MemberRef, Some(Json::Text(url))) => {
                operand(path.comparison(), operator, Json::Text(last_segment(&url)))?
            }
            (_, Some(literal)) => {
                let comparison = path.comparison();
                operand(comparison, operator, as_words(comparison, literal, false, self.0))?
            }
            (_, None) => Operand::None,
        };
        // Part of an id would find no group, as if the members had no such ids.
        if is_co && !is_whole_id(&operand) {
            return Err("members take co only with a whole id".to_owned());
        }
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

fn is_whole_id(operand: &Operand) -> bool {
    matches!(operand, Operand::Text { key: Some(id), .. } if UserId::parse(id).is_some())
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
    Ok(always_or_never(compares(&asked, &Found::Text(text.into()))))
}

/// The expression without the conditions of an `or` that are never true. A test of one member that
/// is left alone is then joined by no `or`, which it may not be.
fn simplified(expression: Expression<GroupPath>) -> Expression<GroupPath> {
    match expression {
        Expression::And(all) => Expression::And(all.into_iter().map(simplified).collect()),
        Expression::Or(all) => {
            let never = always_or_never(false);
            let all = all.into_iter().map(simplified).filter(|one| *one != never);
            let mut all: Vec<_> = all.collect();
            if all.len() == 1 { all.remove(0) } else { Expression::Or(all) }
        }
        Expression::Not(_) | Expression::Entry(..) | Expression::Test(_) => expression,
    }
}

/// An empty conjunction is always true, an empty disjunction never.
fn always_or_never(truth: bool) -> Expression<GroupPath> {
    if truth { Expression::And(Vec::new()) } else { Expression::Or(Vec::new()) }
}
