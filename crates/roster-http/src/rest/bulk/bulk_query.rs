//! The query of a request with many lines.

use roster_core::{Directory, MatchBy, Mode, OnConflict, Upsert, text::nfc};

use super::csv::Mapping;
use crate::{
    extract::{
        boolean, check_upsert, dry_run, duplicate, invalid, read_all, read_upsert, refused, unknown,
    },
    problem::Problem,
};

/// The parameters of a change by conditions.
const CONDITIONS: [&str; 9] =
    ["confirm", "email", "external_id", "filter", "id", "phone_number", "q", "status", "username"];

/// What the lines of a request do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Each has a user to create.
    Create(Upsert),
    /// Each has the `id` of a user and a JSON Merge Patch.
    Patch,
    /// Each has the `id` of a user to delete.
    Delete,
    /// Each has a group to create, and its members.
    Group(OnConflict),
}

impl LineKind {
    /// Creates, with the default options.
    pub(crate) const CREATE: Self =
        Self::Create(Upsert { on_conflict: OnConflict::Fail, match_by: MatchBy::Unique });
}

/// How the lines of a request are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BulkQuery {
    pub(super) kind: LineKind,
    pub(super) mode: Mode,
    /// Whether new users get the ids of their lines.
    pub(super) keeps_ids: bool,
    /// Whether the caller may read users: results then name users that the request did not create.
    pub(super) may_read: bool,
}

impl BulkQuery {
    /// Reads the query of a request with lines of this kind. Only columns have a mapping.
    pub(super) fn read(
        query: Option<&str>,
        directory: &Directory,
        kind: LineKind,
        may_read: bool,
        mut mapping: Option<&mut Mapping>,
    ) -> Result<Self, Problem> {
        let mut read = Self { kind, mode: Mode::Write, keeps_ids: false, may_read };
        let takes_conditions = matches!(kind, LineKind::Patch | LineKind::Delete);
        let (_, faults) = read_all(query, |parameter, is_repeated| {
            let (name, value) = (parameter.name.as_ref(), parameter.value());
            if is_repeated && name != "map" {
                return Err(duplicate());
            }
            let is_upsert = match &mut read.kind {
                LineKind::Create(options) => read_upsert(name, &value, options, directory)?,
                LineKind::Group(on_conflict) if name == "on_conflict" => {
                    let mut upsert =
                        Upsert { on_conflict: *on_conflict, match_by: MatchBy::Unique };
                    let is_read = read_upsert(name, &value, &mut upsert, directory)?;
                    *on_conflict = upsert.on_conflict;
                    is_read
                }
                LineKind::Group(_) | LineKind::Patch | LineKind::Delete => false,
            };
            match name {
                "dry_run" => read.mode = dry_run(&value)?,
                _ if is_upsert => {}
                "keep_ids" if matches!(kind, LineKind::Create(_)) => {
                    read.keeps_ids = boolean(&value)?;
                }
                "map" => match &mut mapping {
                    None => {
                        let detail = "only the columns of text/csv are mapped; leave map out";
                        return Err(("conflicting-parameter", detail.to_owned()));
                    }
                    Some(mapping) if value == "guess" => mapping.guesses = true,
                    Some(mapping) if value.contains(':') => {
                        mapping.given.push(nfc(value.into_owned()));
                    }
                    Some(_) => return Err(invalid("give COLUMN:MEMBER, or guess")),
                },
                _ if takes_conditions && CONDITIONS.contains(&name) => {
                    let detail = "the lines name the users; leave conditions out";
                    return Err(("conflicting-parameter", detail.to_owned()));
                }
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        if !faults.is_empty() {
            return Err(refused(faults));
        }
        if let LineKind::Create(options) = read.kind {
            check_upsert(options)?;
        }
        Ok(read)
    }
}
