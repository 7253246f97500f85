//! A batch of up to some hundred lines for the store.
//!
//! A line that cannot be parsed keeps its place among the others, so that results come in the order
//! of lines.

use roster_core::{
    Draft, Failure, Json, Outcome, StoreError, Timestamp, UserId,
    json::{self, JsonFault},
    limits::USER_BYTES_MAX,
    violation::TOLERATED,
};

use super::lines::Line;
use crate::{
    extract::JsonParser,
    problem::{Problem, ProblemCode},
};

/// The maximum number of lines of a batch: half of what the store commits at a time.
const BATCH_LINES_MAX: usize = 256;
/// A batch is full once its lines hold this many bytes.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// Parsed lines, in their order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    slots: Vec<Slot>,
    drafts: Vec<Draft>,
    bytes: usize,
}

/// The slot of one line.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u64,
    /// The error of a line that cannot be parsed. The other lines have a draft.
    unread: Option<Problem>,
}

impl Batch {
    /// Adds the line with this number.
    pub(super) async fn take(&mut self, number: u64, line: &Line, parser: &JsonParser) {
        let unread = match line {
            Line::Whole(text) => {
                self.bytes += text.len();
                match parser.read(text, read_draft).await {
                    Ok(Ok(draft)) => {
                        self.drafts.push(draft);
                        None
                    }
                    Err(problem) => Some(problem),
                    Ok(Err(fault)) => {
                        // The result has the number of the line. The position within the line is
                        // enough here.
                        let detail = fault.detail.replace(" at line 1 column ", " at column ");
                        Some(Problem::saying(ProblemCode::MalformedJson, detail))
                    }
                }
            }
            Line::TooLong => {
                let detail = format!("send at most {USER_BYTES_MAX} bytes a line");
                Some(Problem::saying(ProblemCode::BodyTooLarge, detail))
            }
        };
        self.slots.push(Slot { number, unread });
    }

    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= BATCH_LINES_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of its first line.
    pub(super) fn first(&self) -> Option<u64> {
        self.slots.first().map(|slot| slot.number)
    }

    /// The number of drafts.
    pub(super) fn drafts(&self) -> usize {
        self.drafts.len()
    }

    /// The slots of the lines, and the drafts of the valid ones.
    pub(super) fn into_parts(self) -> (Vec<Slot>, Vec<Draft>) {
        (self.slots, self.drafts)
    }
}

/// The draft of a line.
fn read_draft(text: &[u8]) -> Result<Draft, JsonFault> {
    let tree = json::read(text)?;
    let is_record = is_record(&tree);
    let mut draft = Draft::parse(tree);
    if is_record {
        draft.excuse(TOLERATED);
    }
    Ok(draft)
}

/// Whether a line is the whole record of a stored user, as an export writes it: it has all members
/// that only a service creates. Such a user was accepted before, perhaps with SCIM's tolerant
/// parsing.
fn is_record(tree: &Json) -> bool {
    let text = |name: &str| match tree.member(name) {
        Some(Json::Text(text)) => text.as_str(),
        _ => "",
    };
    let is_time = |name: &str| Timestamp::parse(text(name)).is_some();
    UserId::parse(text("id")).is_some()
        && matches!(tree.member("version"), Some(Json::Int(1..)))
        && is_time("created_at")
        && is_time("updated_at")
}

/// Combines the slots with the results of the drafts.
pub(super) fn joined(
    slots: Vec<Slot>,
    results: Vec<Result<Outcome, Failure>>,
) -> impl Iterator<Item = (u64, Result<Outcome, Problem>)> {
    let mut results = results.into_iter();
    slots.into_iter().map(move |slot| {
        let result = match slot.unread {
            Some(problem) => Err(problem),
            None => results.next().unwrap_or_else(no_result).map_err(Problem::from),
        };
        (slot.number, result)
    })
}

fn no_result() -> Result<Outcome, Failure> {
    Err(Failure::Store(StoreError::Internal("the store gave no result".into())))
}
