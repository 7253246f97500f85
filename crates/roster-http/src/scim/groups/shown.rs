//! Groups with the members that a response shows.

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
    limits::admission::SHORT_PAGE_MAX,
    problem::{Problem, ProblemCode},
    scim::{ScimProblem, respond::base},
    state::AppState,
    turns::in_one_piece,
};

/// The approximate size of a member in a response, in bytes.
const MEMBER_BYTES: usize = 160;

/// The number of members that are written while other tasks of the thread wait.
const MEMBERS_AT_ONCE: usize = 1000;

/// A group with the members that a response shows.
pub(super) struct Shown {
    pub(super) stored: Stored,
    pub(super) members: Vec<Member>,
}

/// The group with this id, with its members if they are shown; `None` if it does not exist. The
/// group and its members come from one snapshot: if the first query does not return all members, a
/// second query reads the group with all of them.
pub(super) async fn shown(
    app: &AppState,
    may: Permit<ReadUsers>,
    id: GroupId,
    projection: &Projection,
) -> Result<Option<Shown>, ScimProblem> {
    if !shows_members(projection) {
        let stored = app.directory.get_group(may, id).await?;
        return Ok(stored.map(|stored| Shown { stored, members: Vec::new() }));
    }
    let query = MembersQuery { group: id, after: None, limit: SHORT_PAGE_MAX };
    let Some(mut page) = app.directory.list_members(may, query).await? else { return Ok(None) };
    if page.next.is_some() {
        let limit = usize::try_from(GROUP_MEMBERS_MAX).unwrap_or(usize::MAX);
        let whole = app.directory.list_members(may, MembersQuery { limit, ..query }).await?;
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
        let group = group_of(&self.stored)?;
        if self.members.len() > MEMBERS_AT_ONCE {
            in_one_piece(|| writer.write(&group, &self.members, &mut out));
        } else {
            writer.write(&group, &self.members, &mut out);
        }
        Ok(out)
    }
}
