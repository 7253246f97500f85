//! The result of a line, and the totals of all lines, as sent to the client.

use roster_core::{Effect, EventKind, Json, Mode, OnConflict, Outcome, UserId, json::write_json};

use super::bulk_query::{BulkQuery, LineKind};
use crate::{problem::Problem, rest::respond::ignores_id};

/// The result of one line.
#[derive(Debug)]
pub(super) enum LineResult {
    /// A user was created.
    Created(Option<Written>),
    /// The user who held the name or address was replaced or patched. In a dry run, and for a
    /// caller that may not read users, it is not named.
    Replaced(Option<Written>),
    /// Another user holds the name or address and was not changed. In a dry run, and for a caller
    /// that may not read users, it is not named.
    Skipped(Option<Written>),
    /// The user was patched, or, for a caller that may not read users, perhaps unchanged.
    Patched(Option<Written>),
    /// The patch changed nothing.
    Unchanged(Written),
    /// The user was deleted.
    Deleted(Option<Written>),
    /// The line was rejected or failed. The user is named if the client did not send its id.
    Failed(Problem, Option<UserId>),
}

/// What a line wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// The user and its version; `None` in a dry run.
    user: Option<(UserId, i64)>,
    /// Whether the line has another id, which was not used.
    ignores_id: bool,
    /// Whether the same import created the user when it was sent before.
    replayed: bool,
}

/// The number of lines by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    created: u64,
    replaced: u64,
    skipped: u64,
    patched: u64,
    unchanged: u64,
    deleted: u64,
    pub(super) failed: u64,
}

impl LineResult {
    /// The result of a line of a request with this query. A line that creates a user may have an
    /// id.
    pub(super) fn of(
        query: BulkQuery,
        sent_id: Option<&str>,
        result: Result<Outcome, Problem>,
    ) -> Self {
        let BulkQuery { kind, mode, may_read, .. } = query;
        let Outcome { effect, stored, replayed, .. } = match result {
            Ok(outcome) => outcome,
            Err(problem) => return Self::Failed(problem.for_caller(may_read), None),
        };
        let ignores_id = ignores_id(sent_id, stored.id);
        let user = Some((stored.id, stored.version));
        let written = Written { user, ignores_id, replayed };
        let shown = may_read.then_some(written);
        // A dry run of creates names no user.
        let told = Written { user: user.filter(|_| mode == Mode::Write), ..written };
        let met = may_read.then_some(told);
        match (kind, effect) {
            (LineKind::Create(_), Effect::Skipped)
            | (LineKind::Group(OnConflict::Skip), Effect::Unchanged) => Self::Skipped(met),
            (
                LineKind::Create(_) | LineKind::Group(_),
                Effect::Changed(EventKind::Created | EventKind::GroupCreated),
            ) => Self::Created(Some(told)),
            (LineKind::Create(_) | LineKind::Group(_), _) => Self::Replaced(met),
            (LineKind::Patch, Effect::Unchanged | Effect::Skipped) if may_read => {
                Self::Unchanged(written)
            }
            (LineKind::Patch, _) => Self::Patched(shown),
            (LineKind::Delete, _) => Self::Deleted(shown),
        }
    }

    /// The status that a request with only this line would have.
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Created(_) => 201,
            Self::Replaced(_) | Self::Patched(_) | Self::Unchanged(_) | Self::Skipped(_) => 200,
            Self::Deleted(_) => 204,
            Self::Failed(problem, _) => problem.code.kind().status,
        }
    }

    /// Why the line was rejected or failed.
    pub(super) const fn problem(&self) -> Option<&Problem> {
        if let Self::Failed(problem, _) = self { Some(problem) } else { None }
    }

    /// Appends the result of the line with this number. `processed` is the number of lines that
    /// have been executed or rejected so far.
    pub(super) fn write(self, number: u64, processed: u64, base_url: &str, out: &mut Vec<u8>) {
        let user = |written: Option<Written>| match written {
            Some(Written { user, ignores_id, replayed }) => {
                let user =
                    user.map(|(id, version)| format!(",\"id\":\"{id}\",\"version\":{version}"));
                let replayed = if replayed { ",\"replayed\":true" } else { "" };
                let ignored = if ignores_id { ",\"ignored\":[\"id\"]" } else { "" };
                format!("{}{ignored}{replayed}", user.unwrap_or_default())
            }
            None => String::new(),
        };
        let status = self.status();
        let start = format!("{{\"line\":{number},\"processed\":{processed},\"status\":{status}");
        out.extend_from_slice(start.as_bytes());
        let rest = match self {
            Self::Created(written)
            | Self::Replaced(written)
            | Self::Patched(written)
            | Self::Deleted(written) => user(written),
            Self::Unchanged(written) => user(Some(written)),
            Self::Skipped(met) => format!(",\"skipped\":true{}", user(met)),
            Self::Failed(problem, id) => {
                let id = id.map(|id| format!(",\"id\":\"{id}\"")).unwrap_or_default();
                out.extend_from_slice(format!("{id},\"problem\":").as_bytes());
                write_json(out, &Json::Object(problem.into_members(base_url, None)));
                String::new()
            }
        };
        out.extend_from_slice(rest.as_bytes());
        out.extend_from_slice(b"}\n");
    }
}

impl Tally {
    /// Counts one more.
    pub(super) fn count(&mut self, result: &LineResult) {
        *match result {
            LineResult::Created(_) => &mut self.created,
            LineResult::Replaced(_) => &mut self.replaced,
            LineResult::Skipped(_) => &mut self.skipped,
            LineResult::Patched(_) => &mut self.patched,
            LineResult::Unchanged(_) => &mut self.unchanged,
            LineResult::Deleted(_) => &mut self.deleted,
            LineResult::Failed(..) => &mut self.failed,
        } += 1;
    }

    /// The number of lines with a result.
    pub(super) const fn lines(self) -> u64 {
        let Self { created, replaced, skipped, patched, unchanged, deleted, failed } = self;
        created + replaced + skipped + patched + unchanged + deleted + failed
    }

    /// The last line of a response, without which it is incomplete.
    pub(super) fn done(self, kind: LineKind) -> String {
        let Self { created, replaced, skipped, patched, unchanged, deleted, failed } = self;
        let lines = self.lines();
        let counts = match kind {
            LineKind::Create(_) | LineKind::Group(_) => {
                format!("\"created\":{created},\"replaced\":{replaced},\"skipped\":{skipped}")
            }
            LineKind::Patch => format!("\"patched\":{patched},\"unchanged\":{unchanged}"),
            LineKind::Delete => format!("\"deleted\":{deleted}"),
        };
        format!("{{\"done\":true,\"lines\":{lines},{counts},\"failed\":{failed}}}\n")
    }
}
