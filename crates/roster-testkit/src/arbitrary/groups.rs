//! Random writes and queries of groups. Names come from a small pool, so that they conflict.
//! Members are indexes into all users and groups that were ever created.

use proptest::{
    arbitrary::any,
    collection::vec,
    option, prop_oneof,
    sample::{Index, select},
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::Json;

use super::preconditions::{Held, held};

const NAMES: &[&str] = &["one", "ONE", "two", "Zwei", "stra\u{df}e", "STRASSE", "%", ""];

const FILTERS: &[&str] = &[
    "display_name eq \"one\"",
    "display_name sw \"s\"",
    "version gt 1",
    "not (external_id eq \"x\")",
    "external_id eq \"x\" and display_name co \"e\"",
    "external_id eq \"y\" or display_name eq \"ZWEI\"",
    "created_at gt \"2020-01-01T00:00:00Z\" and not (external_id pr)",
];

const SEARCHES: &[&str] = &["o", "ONE", "stra", "z tw", "zw", "%"];

/// A write of a group.
#[derive(Clone, Debug)]
pub enum GroupStep {
    /// Create a group with members; or, if one has the name, add the members to it.
    Create(Json, Vec<Index>, bool),
    /// Change a group.
    Change(Index, GroupEdited, MembersEdited, Held),
    /// Delete a group.
    Delete(Index, Held),
}

/// The change of the group's record.
#[derive(Clone, Debug)]
pub enum GroupEdited {
    /// No change.
    Keep,
    /// Replace it.
    Replace(Json),
    /// Patch it.
    Patch(Json),
}

/// The change of the group's members.
#[derive(Clone, Debug)]
pub enum MembersEdited {
    /// No change.
    Keep,
    /// Add the first ones and remove the second ones.
    Delta(Vec<Index>, Vec<Index>),
    /// Replace all members by these.
    All(Vec<Index>),
}

/// The conditions of a list of groups.
#[derive(Clone, Debug)]
pub struct GroupQuestion {
    /// The name of the group.
    pub name: Option<&'static str>,
    /// The external id of the group.
    pub external_id: Option<&'static str>,
    /// A direct member of the group.
    pub member: Option<Index>,
    /// The ids of the groups.
    pub ids: Option<Vec<Index>>,
    /// A filter.
    pub filter: Option<&'static str>,
    /// A text to search.
    pub typed: Option<&'static str>,
    /// The page size.
    pub limit: usize,
}

fn body() -> BoxedStrategy<Json> {
    let name = prop_oneof![12 => select(NAMES).prop_map(text), 1 => Just(Json::Int(7))];
    let external_id = option::of(select(&["x", "y"][..]).prop_map(text));
    (name, external_id)
        .prop_map(|(name, external_id)| {
            let mut members = vec![("display_name".to_owned(), name)];
            members.extend(external_id.map(|id| ("external_id".to_owned(), id)));
            Json::Object(members)
        })
        .boxed()
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

/// A random write of a group.
pub(super) fn group_step() -> BoxedStrategy<GroupStep> {
    let some = || vec(any::<Index>(), 0..5);
    let edit = prop_oneof![
        4 => Just(GroupEdited::Keep),
        1 => body().prop_map(GroupEdited::Replace),
        1 => body().prop_map(GroupEdited::Patch),
    ];
    let members = prop_oneof![
        1 => Just(MembersEdited::Keep),
        4 => (some(), some()).prop_map(|(joins, leaves)| MembersEdited::Delta(joins, leaves)),
        2 => some().prop_map(MembersEdited::All),
    ];
    prop_oneof![
        4 => (body(), some(), any::<bool>())
            .prop_map(|(body, members, merges)| GroupStep::Create(body, members, merges)),
        8 => (any::<Index>(), edit, members, held())
            .prop_map(|(which, edit, members, held)| GroupStep::Change(which, edit, members, held)),
        1 => (any::<Index>(), held()).prop_map(|(which, held)| GroupStep::Delete(which, held)),
    ]
    .boxed()
}

/// A random list of groups.
pub(super) fn group_question() -> BoxedStrategy<GroupQuestion> {
    let name = option::weighted(0.3, select(NAMES));
    let external_id = option::weighted(0.3, select(&["x", "y"][..]));
    let member = option::weighted(0.4, any::<Index>());
    let ids = option::weighted(0.2, vec(any::<Index>(), 0..4));
    let filter = option::weighted(0.3, select(FILTERS));
    let typed = option::weighted(0.3, select(SEARCHES));
    (name, external_id, member, ids, filter, typed, 1_usize..4)
        .prop_map(|(name, external_id, member, ids, filter, typed, limit)| GroupQuestion {
            name,
            external_id,
            member,
            ids,
            filter,
            typed,
            limit,
        })
        .boxed()
}
