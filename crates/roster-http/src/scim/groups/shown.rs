//! Groups with their members, as far as these are shown.

use roster_core::{
    Group, GroupId, Member, Stored,
    access::{Permit, ReadUsers},
    group::MembersQuery,
    limits::GROUP_MEMBERS_MAX,
};
use roster_scim::{
    Projection,
    group::{GroupWriter, shows_members},
};

use crate::{
    admission::SHORT_PAGE_MAX,
    problem::{Problem, ProblemCode},
    scim::{ScimProblem, respond::base},
    state::AppState,
};

/// What a member takes in an answer, about.
const MEMBER_BYTES: usize = 160;

/// A group with its members, as far as they are shown.
pub(super) struct Shown {
    pub(super) stored: Stored,
    pub(super) members: Vec<Member>,
}

/// The group of that id as it is to be shown; `None` where there is none. With members it is one
/// snapshot: few come with the first question, many with one that asks for all.
pub(super) async fn shown(
    app: &AppState,
    may: Permit<ReadUsers>,
    id: GroupId,
    projection: &Projection,
) -> Result<Option<Shown>, ScimProblem> {
    let desk = app.directory.groups();
    if !shows_members(projection) {
        let stored = desk.get(may, id).await?;
        return Ok(stored.map(|stored| Shown { stored, members: Vec::new() }));
    }
    let query = MembersQuery { group: id, after: None, limit: SHORT_PAGE_MAX };
    let Some(mut page) = desk.members(may, query).await? else { return Ok(None) };
    if page.next.is_some() {
        let limit = usize::try_from(GROUP_MEMBERS_MAX).unwrap_or(usize::MAX);
        let whole = desk.members(may, MembersQuery { limit, ..query }).await?;
        let Some(whole) = whole else { return Ok(None) };
        page = whole;
    }
    Ok(Some(Shown { stored: page.group, members: page.items }))
}

/// The group of a record.
pub(super) fn group_of(stored: &Stored) -> Result<Group, Problem> {
    Group::from_record(&stored.record).map_err(|_| Problem::new(ProblemCode::Internal))
}

impl Shown {
    /// The JSON of the group.
    pub(super) fn json(&self, app: &AppState, projection: &Projection) -> Result<Vec<u8>, Problem> {
        let base = base(app);
        let mut out = Vec::with_capacity(640 + self.members.len() * MEMBER_BYTES);
        let writer = GroupWriter { base: &base, projection };
        writer.write(&group_of(&self.stored)?, &self.members, &mut out);
        Ok(out)
    }
}
