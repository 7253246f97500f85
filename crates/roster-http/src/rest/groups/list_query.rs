//! The query of a list of groups, and the groups that an export reads.

use roster_core::{
    Directory, StoreError, Stored, UserId,
    access::{Permit, ReadUsers},
    group::{GroupPage, GroupQuery, group_name_key},
    limits::PAGE_SIZE_MAX,
    list::{Direction, PageKey, Sort, SortBy, SortKey},
    project::Members,
    words::Search,
};

use crate::{
    cursor::{List, ListCursors},
    extract::{Fields, ParameterFault, invalid, text, unknown},
    problem::Problem,
    request::Call,
    rest::{
        export::{ExportPage, ExportSource},
        list::{ListQuery, unparsed},
        respond::write_record,
    },
    state::AppState,
};

/// The parsed query of a list of groups.
pub(super) struct GroupListQuery<'a> {
    pub(super) page: GroupQuery,
    /// The members to show.
    pub(super) fields: Fields,
    pub(super) query: ListQuery<'a>,
    pub(super) cursors: ListCursors<'a>,
}

impl<'a> GroupListQuery<'a> {
    /// Reads a query, and opens its cursor.
    pub(super) fn read(app: &'a AppState, call: &'a Call) -> Result<Self, Problem> {
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
        let cursors = app.cursors.of(List::Groups, call.authority().actor());
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

/// The groups that an export reads.
pub(super) struct Groups {
    page: GroupQuery,
    members: Option<Members>,
}

impl Groups {
    pub(super) fn new(page: GroupQuery, fields: &Fields) -> Self {
        // A limit above the maximum of a page means for the engine that the read has low priority.
        Self { page: GroupQuery { limit: 2 * PAGE_SIZE_MAX, ..page }, members: fields.members() }
    }
}

impl ExportSource for Groups {
    type Right = ReadUsers;
    type Item = Stored;
    type Key = PageKey;

    async fn read(
        &self,
        directory: &Directory,
        may: Permit<ReadUsers>,
    ) -> Result<ExportPage<Stored, PageKey>, StoreError> {
        let page = directory.list_groups(may, self.page.clone()).await?;
        let GroupPage { items, next, position, .. } = page;
        Ok(ExportPage { items, next, position })
    }

    fn continue_after(&mut self, key: PageKey) {
        self.page.after = Some(key);
    }

    fn write(&self, item: &Stored, out: &mut Vec<u8>) -> Option<()> {
        write_record(item, self.members.as_ref(), out)
    }
}
