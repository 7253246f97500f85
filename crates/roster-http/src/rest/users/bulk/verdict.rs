//! The result of a line, and the totals of all lines, as sent to the client.

use roster_core::{Json, UserId, json::write_json};

use crate::problem::Problem;

/// The result of one line.
#[derive(Debug)]
pub(super) enum Verdict {
    /// A user was created. In a dry run it has no id.
    Created(Option<UserId>),
    /// The user who held the name or address was replaced.
    Replaced(Option<UserId>),
    /// Another user holds the name or address and was not changed.
    Skipped,
    /// The line was rejected or failed.
    Failed(Problem),
}

/// The number of lines by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) created: u64,
    pub(super) replaced: u64,
    pub(super) skipped: u64,
    pub(super) failed: u64,
}

impl Verdict {
    /// Appends the result of the line with this number.
    pub(super) fn write(self, number: u64, base_url: &str, out: &mut Vec<u8>) {
        let of_user = |status: u16, id: Option<UserId>| match id {
            Some(id) => format!("{{\"line\":{number},\"status\":{status},\"id\":\"{id}\"}}\n"),
            None => format!("{{\"line\":{number},\"status\":{status}}}\n"),
        };
        let text = match self {
            Self::Created(id) => of_user(201, id),
            Self::Replaced(id) => of_user(200, id),
            Self::Skipped => format!("{{\"line\":{number},\"status\":200,\"skipped\":true}}\n"),
            Self::Failed(problem) => {
                let status = problem.code.kind().status;
                let start = format!("{{\"line\":{number},\"status\":{status},\"problem\":");
                out.extend_from_slice(start.as_bytes());
                write_json(out, &Json::Object(problem.into_members(base_url, None)));
                "}\n".to_owned()
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
}

impl Tally {
    /// Counts one more.
    pub(super) fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Created(_) => self.created += 1,
            Verdict::Replaced(_) => self.replaced += 1,
            Verdict::Skipped => self.skipped += 1,
            Verdict::Failed(_) => self.failed += 1,
        }
    }

    /// The number of lines with a result.
    pub(super) const fn lines(self) -> u64 {
        self.created + self.replaced + self.skipped + self.failed
    }

    /// The last line of a response, without which it is incomplete.
    pub(super) fn done(self) -> String {
        let Self { created, replaced, skipped, failed } = self;
        let lines = self.lines();
        format!(
            "{{\"done\":true,\"lines\":{lines},\"created\":{created},\"replaced\":{replaced},\
             \"skipped\":{skipped},\"failed\":{failed}}}\n"
        )
    }
}
