//! A line of an import of groups: the group and its members.

use std::collections::BTreeSet;

use roster_core::{
    BulkWrite, Failure, Json, MemberKind, OnConflict, Refusal, UserId, Violation, ViolationCode,
    group::{GroupDraft, GroupEdit, MembersEdit, StatedKinds},
};

use crate::problem::{Problem, ProblemCode};

/// The name of the list of members in a line.
pub(super) const MEMBERS: &str = "members";
/// The name of the mark of a line with further members of the group of an earlier line.
pub(super) const CONTINUED: &str = "continued";

/// The members that only the service sets.
const SERVER_MADE: [&str; 4] = ["id", "version", "created_at", "updated_at"];

/// The error of a line. A line of a group cannot name a version.
pub(super) fn of_group_line(failure: Failure) -> Problem {
    match failure {
        Failure::Refused(Refusal::PreconditionRequired { cleared }) if cleared.is_empty() => {
            let detail = "this would remove all members; remove them by their ids, or use \
                          on_conflict=merge";
            Problem::saying(ProblemCode::PreconditionRequired, detail)
        }
        other @ (Failure::Refused(_) | Failure::Store(_)) => Problem::of_group(other),
    }
}

/// The write of a line. Without a list of members, those of a group that exists are kept.
pub(super) fn read_group(tree: Json, on_conflict: OnConflict) -> Result<BulkWrite, Violation> {
    let Json::Object(members) = tree else {
        let draft = Box::new(GroupDraft::parse(tree));
        let (members, kinds) = (BTreeSet::new(), StatedKinds::new());
        return Ok(BulkWrite::Group { draft, members, kinds, otherwise: None });
    };
    let (mut record, mut listed, mut is_continued) = (Vec::new(), None, false);
    let mut kinds = StatedKinds::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            (MEMBERS, Json::Null) => {}
            (MEMBERS, list) => listed = Some(read_members(list, &mut kinds)?),
            (CONTINUED, Json::Bool(flag)) => is_continued = flag,
            (CONTINUED, _) => {
                let (code, detail) = (ViolationCode::WrongType, "send true or false");
                return Err(Violation::new("/continued", code, detail));
            }
            (known, _) if SERVER_MADE.contains(&known) => {}
            (_, value) => record.push((name, value)),
        }
    }
    if is_continued && matches!(on_conflict, OnConflict::Fail | OnConflict::Skip) {
        let detail = "members that continue a group need on_conflict=merge or replace";
        return Err(Violation::new("/continued", ViolationCode::InvalidValue, detail));
    }
    let record = Json::Object(record);
    let mut draft = Box::new(GroupDraft::parse(record.clone()));
    if is_continued {
        // A group that its first line did not create would have only some of its members.
        let detail = "no group has this name; see the result of its first line";
        draft.refuse_create(Violation::new("/continued", ViolationCode::InvalidValue, detail));
    }
    let members = listed.clone().unwrap_or_default();
    let added = || MembersEdit::Delta { added: members.clone(), removed: BTreeSet::new() };
    let otherwise = match on_conflict {
        OnConflict::Fail => None,
        OnConflict::Skip => Some((GroupEdit::Keep, MembersEdit::Keep)),
        OnConflict::Replace if !is_continued => {
            let all = listed.map_or(MembersEdit::Keep, MembersEdit::All);
            Some((GroupEdit::Replace(draft.clone()), all))
        }
        OnConflict::Merge | OnConflict::Replace => {
            Some((GroupEdit::Patch(Box::new(record)), added()))
        }
    };
    Ok(BulkWrite::Group { draft, members, kinds, otherwise: otherwise.map(Box::new) })
}

/// The ids of a list of members: texts, or objects with `id` and perhaps `type`, as lists of
/// members have them. The types are added to `kinds`.
fn read_members(list: Json, kinds: &mut StatedKinds) -> Result<BTreeSet<UserId>, Violation> {
    let Json::Array(entries) = list else {
        let detail = format!("send a list of ids, not {}", list.kind());
        return Err(Violation::new("/members", ViolationCode::WrongType, detail));
    };
    let mut ids = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let wrong = |place: &str, code, detail: &str| {
            Violation::new(format!("/members/{index}{place}"), code, detail.to_owned())
        };
        let mut stated = None;
        let (id, place) = match entry {
            Json::Text(id) => (id, ""),
            Json::Object(parts) => {
                for (name, value) in parts {
                    match (name.as_str(), value) {
                        ("id", _) => {}
                        ("type", value) => {
                            let detail = "send user or group";
                            let invalid = || wrong("/type", ViolationCode::InvalidValue, detail);
                            stated = Some(kind(value).ok_or_else(invalid)?);
                        }
                        _ => {
                            let detail = "a member has id and type alone";
                            return Err(wrong("", ViolationCode::UnknownMember, detail));
                        }
                    }
                }
                match entry.member("id") {
                    Some(Json::Text(id)) => (id, "/id"),
                    Some(_) => return Err(wrong("/id", ViolationCode::WrongType, NEEDS_ID)),
                    None => return Err(wrong("/id", ViolationCode::Required, NEEDS_ID)),
                }
            }
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Array(_) => {
                return Err(wrong("", ViolationCode::WrongType, NEEDS_ID));
            }
        };
        let id = UserId::parse(id);
        let id = id.ok_or_else(|| wrong(place, ViolationCode::InvalidValue, NEEDS_ID))?;
        ids.insert(id);
        if let Some(stated) = stated {
            let pointer = format!("/members/{index}/type");
            let before = kinds.insert(id, (stated, pointer));
            if before.is_some_and(|(before, _)| before != stated) {
                let detail = "an earlier entry with this id has another type";
                return Err(wrong("/type", ViolationCode::InvalidValue, detail));
            }
        }
    }
    Ok(ids)
}

/// The kind that `type` states.
fn kind(value: &Json) -> Option<MemberKind> {
    let Json::Text(text) = value else { return None };
    [MemberKind::User, MemberKind::Group].into_iter().find(|kind| kind.as_str() == text)
}

const NEEDS_ID: &str = "give the id of a user or of a group";

#[cfg(test)]
mod tests {
    use roster_core::json;

    use super::*;

    fn fault(line: &str, on_conflict: OnConflict) -> Option<(String, ViolationCode)> {
        let tree = json::read(line.as_bytes()).expect("JSON");
        let fault = read_group(tree, on_conflict).err()?;
        Some((fault.pointer, fault.code))
    }

    #[test]
    fn members_that_cannot_be_read_are_errors() {
        let id = "019b76da-a800-7000-8000-000000000001";
        for (members, pointer, code) in [
            ("\"x\"", "/members", ViolationCode::WrongType),
            ("{}", "/members", ViolationCode::WrongType),
            ("[17]", "/members/0", ViolationCode::WrongType),
            ("[null]", "/members/0", ViolationCode::WrongType),
            ("[\"ada\"]", "/members/0", ViolationCode::InvalidValue),
            ("[{}]", "/members/0/id", ViolationCode::Required),
            ("[{\"value\":\"x\"}]", "/members/0", ViolationCode::UnknownMember),
            ("[{\"id\":1}]", "/members/0/id", ViolationCode::WrongType),
            ("[{\"id\":\"x\"}]", "/members/0/id", ViolationCode::InvalidValue),
            (
                &format!("[{{\"id\":\"{id}\",\"type\":\"x\"}}]"),
                "/members/0/type",
                ViolationCode::InvalidValue,
            ),
            (
                &format!(
                    "[{{\"id\":\"{id}\",\"type\":\"user\"}},{{\"id\":\"{id}\",\"type\":\"group\"}}]"
                ),
                "/members/1/type",
                ViolationCode::InvalidValue,
            ),
        ] {
            let line = format!("{{\"display_name\":\"a\",\"members\":{members}}}");
            assert_eq!(fault(&line, OnConflict::Merge), Some((pointer.to_owned(), code)), "{line}");
        }
        for members in [
            format!("[\"{id}\",{{\"id\":\"{id}\",\"type\":\"user\"}}]"),
            "[]".into(),
            "null".into(),
        ] {
            let line = format!("{{\"display_name\":\"a\",\"members\":{members}}}");
            assert_eq!(fault(&line, OnConflict::Replace), None, "{line}");
        }
    }

    #[test]
    fn further_members_need_a_group_that_may_exist() {
        let line = "{\"display_name\":\"a\",\"members\":[],\"continued\":true}";
        for (on_conflict, is_refused) in [
            (OnConflict::Fail, true),
            (OnConflict::Skip, true),
            (OnConflict::Merge, false),
            (OnConflict::Replace, false),
        ] {
            assert_eq!(fault(line, on_conflict).is_some(), is_refused, "{on_conflict:?}");
        }
    }
}
