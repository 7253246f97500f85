//! The query of a list of groups.

use roster_core::{
    UserId,
    group::{GroupQuery, group_name_key},
    list::{Direction, PageKey, Sort, SortBy, SortKey},
    words::Search,
};

use crate::{
    cursor::{List, ListCursors},
    extract::{Fields, ParameterFault, invalid, text, unknown},
    problem::Problem,
    request::Call,
    rest::list::{ListQuery, unparsed},
    state::AppState,
};

/// The parsed query of a list of groups.
pub(in crate::rest) struct GroupListQuery<'a> {
    pub(in crate::rest) page: GroupQuery,
    /// The members to show.
    pub(in crate::rest) fields: Fields,
    pub(in crate::rest) query: ListQuery<'a>,
    pub(in crate::rest) cursors: ListCursors<'a>,
}

impl<'a> GroupListQuery<'a> {
    /// Reads a query, and opens its cursor.
    pub(in crate::rest) fn read(app: &'a AppState, call: &'a Call) -> Result<Self, Problem> {
        let (mut name_key, mut external_id, mut member) = (None, None, None);
        let (mut sort, mut fields) = (GroupQuery::first(0).sort, Fields::of_groups());
        let (mut filter, mut search) = (None, None);
        let mut query = ListQuery::read(call.parts.uri.query(), |parameter| {
            let value = parameter.value();
            match parameter.name.as_ref() {
                "display_name" => name_key = Some(group_name_key(&text(&value)?)),
                "external_id" => external_id = Some(text(&value)?),
                "sort" => sort = group_sort(&value)?,
                "fields" => fields.add(&value)?,
                "filter" => filter = Some(value.into_owned()),
                "q" => search = Search::parse(&value),
                "member_id" => {
                    let id = UserId::parse(&value);
                    let detail = "give the id of a user or of a group";
                    member = Some(id.ok_or_else(|| invalid(detail))?);
                }
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        let cursors = app.cursors_of(List::Groups, call.authority().actor());
        let cursors = cursors.with("display_name", &name_key).with("external_id", &external_id);
        let cursors = cursors.with("member_id", member).with("filter", &filter);
        let words = query.search(search);
        let cursors = cursors.with("q", &words);
        let is_by_name = sort.by == SortBy::Name;
        let is_default = sort == GroupQuery::first(0).sort;
        let cursors = cursors.with("sort", (!is_default).then(|| format!("{sort:?}")));
        let first =
            GroupQuery { sort, words, count: query.count, ..GroupQuery::first(query.limit) };
        let mut page = GroupQuery { name_key, external_id, member, ..first };
        if let Some(filter) = filter {
            page = page.with_filter(&filter).map_err(unparsed)?;
        }
        let is_of_order = |after: &PageKey| matches!(after.key, SortKey::Text(_)) == is_by_name;
        page.after = query.after(&cursors, |after| is_of_order(after).then(|| after.clone()))?;
        Ok(Self { page, fields, query, cursors })
    }
}

/// The order of a list of groups.
fn group_sort(text: &str) -> Result<Sort, ParameterFault> {
    let (name, direction) = match text.strip_prefix('-') {
        Some(name) => (name, Direction::Descending),
        None => (text, Direction::Ascending),
    };
    let by = match name {
        "id" | "created_at" => SortBy::Id,
        "display_name" => SortBy::Name,
        _ => return Err(invalid("give id, created_at or display_name, with - for descending")),
    };
    Ok(Sort { by, direction })
}
